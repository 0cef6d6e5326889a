package kcm

import "slices"

// Controller is one of kube-controller-manager's controllers (cmd/kube-controller-manager/names, app/*.go).
type Controller struct {
	Name              string
	Alias             string // empty: none
	DisabledByDefault bool
	// Objects is the resource that the controller alone acts for, such as "batch/v1/cronjobs": while it doesn't run
	// nothing becomes of them. Empty: it has none of its own, or each cluster has some that need nobody, or knowing
	// takes a right to read Secrets.
	Objects string
}

// Controllers are all of kube-controller-manager's, whether or not there is a plugin for them here.
var Controllers = []Controller{
	{Name: "bootstrap-signer-controller", Alias: "bootstrapsigner", DisabledByDefault: true},
	{Name: "certificatesigningrequest-approving-controller", Alias: "csrapproving",
		Objects: "certificates.k8s.io/v1/certificatesigningrequests"},
	{Name: "certificatesigningrequest-cleaner-controller", Alias: "csrcleaner",
		Objects: "certificates.k8s.io/v1/certificatesigningrequests"},
	{Name: "certificatesigningrequest-signing-controller", Alias: "csrsigning",
		Objects: "certificates.k8s.io/v1/certificatesigningrequests"},
	{Name: "clusterrole-aggregation-controller", Alias: "clusterrole-aggregation"},
	{Name: "cronjob-controller", Alias: "cronjob", Objects: "batch/v1/cronjobs"},
	{Name: "daemonset-controller", Alias: "daemonset", Objects: "apps/v1/daemonsets"},
	{Name: "deployment-controller", Alias: "deployment", Objects: "apps/v1/deployments"},
	{Name: "device-taint-eviction-controller", Objects: "resource.k8s.io/v1/devicetaintrules"},
	{Name: "disruption-controller", Alias: "disruption", Objects: "policy/v1/poddisruptionbudgets"},
	{Name: "endpoints-controller", Alias: "endpoint"},
	{Name: "endpointslice-controller", Alias: "endpointslice"},
	{Name: "endpointslice-mirroring-controller", Alias: "endpointslicemirroring"},
	{Name: "ephemeral-volume-controller", Alias: "ephemeral-volume"},
	{Name: "garbage-collector-controller", Alias: "garbagecollector"},
	{Name: "horizontal-pod-autoscaler-controller", Alias: "horizontalpodautoscaling",
		Objects: "autoscaling/v2/horizontalpodautoscalers"},
	{Name: "job-controller", Alias: "job", Objects: "batch/v1/jobs"},
	{Name: "kube-apiserver-serving-clustertrustbundle-publisher-controller"},
	{Name: "legacy-serviceaccount-token-cleaner-controller", Alias: "legacy-service-account-token-cleaner"},
	{Name: "namespace-controller", Alias: "namespace"},
	{Name: "node-ipam-controller", Alias: "nodeipam"},
	{Name: "node-lifecycle-controller", Alias: "nodelifecycle", Objects: "v1/nodes"},
	{Name: "persistentvolume-attach-detach-controller", Alias: "attachdetach",
		Objects: "storage.k8s.io/v1/volumeattachments"},
	{Name: "persistentvolume-binder-controller", Alias: "persistentvolume-binder", Objects: "v1/persistentvolumeclaims"},
	{Name: "persistentvolume-expander-controller", Alias: "persistentvolume-expander"},
	{Name: "persistentvolume-protection-controller", Alias: "pv-protection", Objects: "v1/persistentvolumes"},
	{Name: "persistentvolumeclaim-protection-controller", Alias: "pvc-protection", Objects: "v1/persistentvolumeclaims"},
	{Name: "pod-garbage-collector-controller", Alias: "podgc"},
	{Name: "podcertificaterequest-cleaner-controller"},
	{Name: "podgroup-protection-controller"},
	{Name: "replicaset-controller", Alias: "replicaset", Objects: "apps/v1/replicasets"},
	{Name: "replicationcontroller-controller", Alias: "replicationcontroller", Objects: "v1/replicationcontrollers"},
	{Name: "resourceclaim-controller", Alias: "resource-claim-controller", Objects: "resource.k8s.io/v1/resourceclaims"},
	{Name: "resourcepoolstatusrequest-controller"},
	{Name: "resourcequota-controller", Alias: "resourcequota", Objects: "v1/resourcequotas"},
	{Name: "root-ca-certificate-publisher-controller", Alias: "root-ca-cert-publisher"},
	{Name: "selinux-warning-controller", DisabledByDefault: true},
	{Name: "service-cidr-controller"},
	{Name: "serviceaccount-controller", Alias: "serviceaccount"},
	{Name: "serviceaccount-token-controller", Alias: "serviceaccount-token"},
	{Name: "statefulset-controller", Alias: "statefulset", Objects: "apps/v1/statefulsets"},
	{Name: "storage-version-migrator-controller", Alias: "svm",
		Objects: "storagemigration.k8s.io/v1/storageversionmigrations"},
	{Name: "storageversion-garbage-collector-controller", Alias: "storage-version-gc"},
	{Name: "taint-eviction-controller", Objects: "v1/nodes"},
	{Name: "token-cleaner-controller", Alias: "tokencleaner", DisabledByDefault: true},
	{Name: "ttl-after-finished-controller", Alias: "ttl-after-finished"},
	{Name: "ttl-controller", Alias: "ttl"},
	{Name: "validatingadmissionpolicy-status-controller"},
	{Name: "volumeattributesclass-protection-controller", Objects: "storage.k8s.io/v1/volumeattributesclasses"},
}

// Aliases are the names by their aliases.
func Aliases() map[string]string {
	all := map[string]string{}
	for _, c := range Controllers {
		if c.Alias != "" {
			all[c.Alias] = c.Name
		}
	}
	return all
}

// ObjectsOf returns the resource that a controller alone acts for: see Controller.Objects.
func ObjectsOf(name string) string {
	for _, c := range Controllers {
		if c.Name == name {
			return c.Objects
		}
	}
	return ""
}

// Objects returns the resources that some controller alone acts for, each once, sorted.
func Objects() (all []string) {
	for _, c := range Controllers {
		if c.Objects != "" {
			all = append(all, c.Objects)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
