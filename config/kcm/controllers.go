package kcm

// Controller is one of kube-controller-manager's controllers (cmd/kube-controller-manager/names, app/*.go).
type Controller struct {
	Name              string
	Alias             string // empty: none
	DisabledByDefault bool
}

// Controllers are all of kube-controller-manager's, whether or not there is a plugin for them here.
var Controllers = []Controller{
	{Name: "bootstrap-signer-controller", Alias: "bootstrapsigner", DisabledByDefault: true},
	{Name: "certificatesigningrequest-approving-controller", Alias: "csrapproving"},
	{Name: "certificatesigningrequest-cleaner-controller", Alias: "csrcleaner"},
	{Name: "certificatesigningrequest-signing-controller", Alias: "csrsigning"},
	{Name: "clusterrole-aggregation-controller", Alias: "clusterrole-aggregation"},
	{Name: "cronjob-controller", Alias: "cronjob"},
	{Name: "daemonset-controller", Alias: "daemonset"},
	{Name: "deployment-controller", Alias: "deployment"},
	{Name: "device-taint-eviction-controller"},
	{Name: "disruption-controller", Alias: "disruption"},
	{Name: "endpoints-controller", Alias: "endpoint"},
	{Name: "endpointslice-controller", Alias: "endpointslice"},
	{Name: "endpointslice-mirroring-controller", Alias: "endpointslicemirroring"},
	{Name: "ephemeral-volume-controller", Alias: "ephemeral-volume"},
	{Name: "garbage-collector-controller", Alias: "garbagecollector"},
	{Name: "horizontal-pod-autoscaler-controller", Alias: "horizontalpodautoscaling"},
	{Name: "job-controller", Alias: "job"},
	{Name: "kube-apiserver-serving-clustertrustbundle-publisher-controller"},
	{Name: "legacy-serviceaccount-token-cleaner-controller", Alias: "legacy-service-account-token-cleaner"},
	{Name: "namespace-controller", Alias: "namespace"},
	{Name: "node-ipam-controller", Alias: "nodeipam"},
	{Name: "node-lifecycle-controller", Alias: "nodelifecycle"},
	{Name: "persistentvolume-attach-detach-controller", Alias: "attachdetach"},
	{Name: "persistentvolume-binder-controller", Alias: "persistentvolume-binder"},
	{Name: "persistentvolume-expander-controller", Alias: "persistentvolume-expander"},
	{Name: "persistentvolume-protection-controller", Alias: "pv-protection"},
	{Name: "persistentvolumeclaim-protection-controller", Alias: "pvc-protection"},
	{Name: "pod-garbage-collector-controller", Alias: "podgc"},
	{Name: "podcertificaterequest-cleaner-controller"},
	{Name: "podgroup-protection-controller"},
	{Name: "replicaset-controller", Alias: "replicaset"},
	{Name: "replicationcontroller-controller", Alias: "replicationcontroller"},
	{Name: "resourceclaim-controller", Alias: "resource-claim-controller"},
	{Name: "resourcepoolstatusrequest-controller"},
	{Name: "resourcequota-controller", Alias: "resourcequota"},
	{Name: "root-ca-certificate-publisher-controller", Alias: "root-ca-cert-publisher"},
	{Name: "selinux-warning-controller", DisabledByDefault: true},
	{Name: "service-cidr-controller"},
	{Name: "serviceaccount-controller", Alias: "serviceaccount"},
	{Name: "serviceaccount-token-controller", Alias: "serviceaccount-token"},
	{Name: "statefulset-controller", Alias: "statefulset"},
	{Name: "storage-version-migrator-controller", Alias: "svm"},
	{Name: "storageversion-garbage-collector-controller", Alias: "storage-version-gc"},
	{Name: "taint-eviction-controller"},
	{Name: "token-cleaner-controller", Alias: "tokencleaner", DisabledByDefault: true},
	{Name: "ttl-after-finished-controller", Alias: "ttl-after-finished"},
	{Name: "ttl-controller", Alias: "ttl"},
	{Name: "validatingadmissionpolicy-status-controller"},
	{Name: "volumeattributesclass-protection-controller"},
}
