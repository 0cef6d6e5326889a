package kcm

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// concurrent is a flag that says how many keys a controller syncs at once.
func concurrent(flag, controller string, d int32) Flag {
	return Flag{Name: flag, Value: Int32(d), Check: workers, Of: controller, Workers: true}
}

// concurrentTo50 is [concurrent] with upstream's bound.
func concurrentTo50(flag, controller string, d int32) Flag {
	f := concurrent(flag, controller, d)
	f.Check = from1To(50)
	return f
}

// controllers are the flags of one controller each, with its name.
var controllers = []Group{
	{"deployment-controller", []Flag{concurrent("concurrent-deployment-syncs", "deployment-controller", 5)}},
	{"replicaset-controller", []Flag{concurrent("concurrent-replicaset-syncs", "replicaset-controller", 5)}},
	{"statefulset-controller", []Flag{concurrent("concurrent-statefulset-syncs", "statefulset-controller", 5)}},
	{"daemonset-controller", []Flag{concurrent("concurrent-daemonset-syncs", "daemonset-controller", 2)}},
	{"job-controller", []Flag{concurrent("concurrent-job-syncs", "job-controller", 5)}},
	{"endpoints-controller", []Flag{
		concurrent("concurrent-endpoint-syncs", "endpoints-controller", 5),
		{Name: "endpoint-updates-batch-period", Value: Duration(0), Of: "endpoints-controller"},
	}},
	{"endpointslice-controller", []Flag{
		concurrentTo50("concurrent-service-endpoint-syncs", "endpointslice-controller", 5),
		{Name: "max-endpoints-per-slice", Value: Int32(100), Check: from1To(1000), Of: "endpointslice-controller"},
		{Name: "endpointslice-updates-batch-period", Value: Duration(0), Of: "endpointslice-controller"},
	}},
	{"garbage-collector-controller", []Flag{
		concurrent("concurrent-gc-syncs", "garbage-collector-controller", 20),
		{Name: "enable-garbage-collector", Value: Bool(true), Sets: "controllers",
			Usage: "false disables garbage-collector-controller, whatever --controllers says"},
	}},
	{"horizontal-pod-autoscaler-controller", []Flag{
		concurrent("concurrent-horizontal-pod-autoscaler-syncs", "horizontal-pod-autoscaler-controller", 5),
		{Name: "horizontal-pod-autoscaler-sync-period", Value: Duration(15 * time.Second),
			Of: "horizontal-pod-autoscaler-controller"},
		{Name: "horizontal-pod-autoscaler-downscale-stabilization", Value: Duration(5 * time.Minute),
			Of: "horizontal-pod-autoscaler-controller"},
		{Name: "horizontal-pod-autoscaler-tolerance", Value: Float64(0.1), Of: "horizontal-pod-autoscaler-controller"},
		{Name: "horizontal-pod-autoscaler-cpu-initialization-period", Value: Duration(5 * time.Minute),
			Of: "horizontal-pod-autoscaler-controller"},
		{Name: "horizontal-pod-autoscaler-initial-readiness-delay", Value: Duration(30 * time.Second),
			Of: "horizontal-pod-autoscaler-controller"},
	}},
	{"namespace-controller", []Flag{
		concurrent("concurrent-namespace-syncs", "namespace-controller", 10),
		{Name: "namespace-sync-period", Value: Duration(5 * time.Minute),
			Why: "a namespace whose content isn't gone yet has a timer of its own"},
	}},
	{"pod-garbage-collector-controller", []Flag{
		{Name: "terminated-pod-gc-threshold", Value: Int32(12500), Of: "pod-garbage-collector-controller"},
	}},
	{"serviceaccount-controller", []Flag{
		{Name: "root-ca-file", Value: Text(""), Of: "root-ca-certificate-publisher-controller",
			Usage: "certificates that root-ca-certificate-publisher-controller puts into every namespace, and " +
				"serviceaccount-token-controller into Secrets for tokens"},
		{Name: "service-account-private-key-file", Value: Text(""), Sets: "signing.serviceAccountKeyFile",
			Usage: "private key in PEM that service accounts' tokens in Secrets are signed with; it turns " +
				"serviceaccount-token-controller on"},
		concurrent("concurrent-serviceaccount-token-syncs", "serviceaccount-token-controller", 5),
	}},
	{"certificatesigningrequest-signing-controller", slices.Concat(
		keyPair("cluster-signing", "signing", "for all signers"),
		keyPair("cluster-signing-kubelet-serving", "signing.kubeletServing", "for kubernetes.io/kubelet-serving"),
		keyPair("cluster-signing-kubelet-client", "signing.kubeletClient",
			"for kubernetes.io/kube-apiserver-client-kubelet"),
		keyPair("cluster-signing-kube-apiserver-client", "signing.kubeAPIServerClient",
			"for kubernetes.io/kube-apiserver-client"),
		keyPair("cluster-signing-legacy-unknown", "signing.legacyUnknown", "for kubernetes.io/legacy-unknown"),
		[]Flag{{Name: "cluster-signing-duration", Value: Duration(365 * 24 * time.Hour), Sets: "signing.duration",
			Usage: "how long signed certificates are good for at most"}},
	)},
	{"node-ipam-controller", []Flag{
		{Name: "service-cluster-ip-range", Value: Text(""), Check: atMostTwo, Of: "node-ipam-controller"},
		{Name: "node-cidr-mask-size", Value: Int32(0), Of: "node-ipam-controller"},
		{Name: "node-cidr-mask-size-ipv4", Value: Int32(0), Of: "node-ipam-controller"},
		{Name: "node-cidr-mask-size-ipv6", Value: Int32(0), Of: "node-ipam-controller"},
	}},
	{"node-lifecycle-controller", []Flag{
		{Name: "node-startup-grace-period", Value: Duration(time.Minute), Of: "node-lifecycle-controller"},
		{Name: "node-monitor-grace-period", Value: Duration(50 * time.Second), Of: "node-lifecycle-controller"},
		{Name: "node-monitor-period", Value: Duration(5 * time.Second), Of: "node-lifecycle-controller"},
		{Name: "node-eviction-rate", Value: Float32(0.1), Of: "node-lifecycle-controller"},
		{Name: "secondary-node-eviction-rate", Value: Float32(0.01), Of: "node-lifecycle-controller"},
		{Name: "large-cluster-size-threshold", Value: Int32(50), Of: "node-lifecycle-controller"},
		{Name: "unhealthy-zone-threshold", Value: Float32(0.55), Of: "node-lifecycle-controller"},
	}},
	{"persistentvolume-attach-detach-controller", []Flag{
		{Name: "disable-attach-detach-reconcile-sync", Value: Bool(false), Of: "persistentvolume-attach-detach-controller"},
		{Name: "attach-detach-reconcile-sync-period", Value: Duration(time.Minute), Check: aSecond,
			Of: "persistentvolume-attach-detach-controller"},
		{Name: "disable-force-detach-on-timeout", Value: Bool(false), Of: "persistentvolume-attach-detach-controller"},
	}},
	{"persistentvolume-binder-controller", []Flag{
		{Name: "pvclaimbinder-sync-period", Value: Duration(15 * time.Second), Of: "persistentvolume-binder-controller"},
		{Name: "pv-recycler-pod-template-filepath-nfs", Value: Text(""), Of: "persistentvolume-binder-controller"},
		{Name: "pv-recycler-minimum-timeout-nfs", Value: Int32(300), Of: "persistentvolume-binder-controller"},
		{Name: "pv-recycler-increment-timeout-nfs", Value: Int32(30), Of: "persistentvolume-binder-controller"},
		{Name: "pv-recycler-pod-template-filepath-hostpath", Value: Text(""), Of: "persistentvolume-binder-controller"},
		{Name: "pv-recycler-minimum-timeout-hostpath", Value: Int32(60), Of: "persistentvolume-binder-controller"},
		{Name: "pv-recycler-timeout-increment-hostpath", Value: Int32(30), Of: "persistentvolume-binder-controller"},
		{Name: "enable-hostpath-provisioner", Value: Bool(false), Of: "persistentvolume-binder-controller"},
		{Name: "enable-dynamic-provisioning", Value: Bool(true), Of: "persistentvolume-binder-controller"},
		{Name: "flex-volume-plugin-dir", Value: Text("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"),
			Of: "persistentvolume-binder-controller"},
	}},
	{"other controllers", []Flag{
		concurrent("concurrent-cron-job-syncs", "cronjob-controller", 5),
		concurrent("concurrent-rc-syncs", "replicationcontroller-controller", 5),
		concurrent("concurrent-disruption-syncs", "disruption-controller", 1),
		concurrent("concurrent-resource-quota-syncs", "resourcequota-controller", 5),
		{Name: "resource-quota-sync-period", Value: Duration(5 * time.Minute), Of: "resourcequota-controller"},
		concurrent("concurrent-ttl-after-finished-syncs", "ttl-after-finished-controller", 5),
		concurrent("concurrent-ephemeralvolume-syncs", "ephemeral-volume-controller", 5),
		concurrent("concurrent-resourceclaim-syncs", "resourceclaim-controller", 50),
		concurrent("concurrent-device-taint-eviction-syncs", "device-taint-eviction-controller", 8),
		concurrent("concurrent-validating-admission-policy-status-syncs", "validatingadmissionpolicy-status-controller", 5),
		concurrentTo50("mirroring-concurrent-service-endpoint-syncs", "endpointslice-mirroring-controller", 5),
		{Name: "mirroring-max-endpoints-per-subset", Value: Int32(1000), Check: from1To(1000),
			Of: "endpointslice-mirroring-controller"},
		{Name: "mirroring-endpointslice-updates-batch-period", Value: Duration(0), Of: "endpointslice-mirroring-controller"},
		{Name: "legacy-service-account-token-clean-up-period", Value: Duration(365 * 24 * time.Hour),
			Of: "legacy-serviceaccount-token-cleaner-controller"},
	}},
}

// keyPair are the flags that name the files of a certificate authority.
func keyPair(prefix, path, of string) []Flag {
	return []Flag{
		{Name: prefix + "-cert-file", Value: Text(""), Sets: path + ".certFile",
			Usage: "certificate in PEM of the authority that signs " + of},
		{Name: prefix + "-key-file", Value: Text(""), Sets: path + ".keyFile",
			Usage: "private key in PEM of the authority that signs " + of},
	}
}

func aSecond(text string) error {
	if d, err := time.ParseDuration(text); err != nil || d < time.Second {
		return errors.New("must be at least 1s")
	}
	return nil
}

func atMostTwo(text string) error {
	if strings.Count(text, ",") > 1 {
		return errors.New("must be one range, or two with a comma between them")
	}
	return nil
}
