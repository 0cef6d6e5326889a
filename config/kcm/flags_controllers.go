package kcm

import (
	"errors"
	"strings"
	"time"
)

// concurrent is a flag that says how many keys a controller syncs at once.
func concurrent(flag, plugin string, d int32) Flag {
	return Flag{Name: flag, Value: Int32(d), Check: workers, Sets: "plugins[" + plugin + "].workers", Usage: "keys that are synced at once"}
}

// setting is a flag that is the setting of that name of a plugin.
func setting(name, plugin string, v Value, usage string) Flag {
	return Flag{Name: name, Value: v, Sets: "plugins[" + plugin + "].settings[" + name + "]", Usage: usage}
}

// controllers are the flags of one controller each, with its name.
var controllers = []Group{
	{"deployment-controller", []Flag{concurrent("concurrent-deployment-syncs", "deployment", 5)}},
	{"replicaset-controller", []Flag{concurrent("concurrent-replicaset-syncs", "replicaset", 5)}},
	{"statefulset-controller", []Flag{concurrent("concurrent-statefulset-syncs", "statefulset", 5)}},
	{"daemonset-controller", []Flag{concurrent("concurrent-daemonset-syncs", "daemonset", 2)}},
	{"job-controller", []Flag{concurrent("concurrent-job-syncs", "job", 5)}},
	{"endpoints-controller", []Flag{
		concurrent("concurrent-endpoint-syncs", "endpoints", 5),
		setting("endpoint-updates-batch-period", "endpoints", Duration(0), "how long changes of pods are collected before they are written"),
	}},
	{"endpointslice-controller", []Flag{
		concurrent("concurrent-service-endpoint-syncs", "endpointslice", 5),
		setting("max-endpoints-per-slice", "endpointslice", Int32(100), "the most endpoints in a slice, at most 1000"),
		setting("endpointslice-updates-batch-period", "endpointslice", Duration(0), "how long changes of pods are collected before they are written"),
	}},
	{"garbage-collector-controller", []Flag{
		concurrent("concurrent-gc-syncs", "garbagecollector", 20),
		{Name: "enable-garbage-collector", Value: Bool(true), Sets: "controllers", Usage: "false puts -garbage-collector-controller before the controllers"},
	}},
	{"horizontal-pod-autoscaler-controller", []Flag{
		concurrent("concurrent-horizontal-pod-autoscaler-syncs", "horizontalpodautoscaler", 5),
		setting("horizontal-pod-autoscaler-sync-period", "horizontalpodautoscaler", Duration(15*time.Second), "how often each autoscaler looks at its metrics"),
		setting("horizontal-pod-autoscaler-downscale-stabilization", "horizontalpodautoscaler", Duration(5*time.Minute), "how long a recommendation keeps lower ones from being followed"),
		setting("horizontal-pod-autoscaler-tolerance", "horizontalpodautoscaler", Float64(0.1), "how far from 1 the ratio of the measured to the wanted may be without scaling"),
		setting("horizontal-pod-autoscaler-cpu-initialization-period", "horizontalpodautoscaler", Duration(5*time.Minute), "how long after its start a pod's CPU samples may be skipped"),
		setting("horizontal-pod-autoscaler-initial-readiness-delay", "horizontalpodautoscaler", Duration(30*time.Second), "how long after its start a pod counts as becoming ready for the first time"),
	}},
	{"namespace-controller", []Flag{
		concurrent("concurrent-namespace-syncs", "namespace", 10),
		{Name: "namespace-sync-period", Value: Duration(5 * time.Minute), Why: "a namespace whose content isn't gone yet has a timer of its own"},
	}},
	{"pod-garbage-collector-controller", []Flag{
		setting("terminated-pod-gc-threshold", "podgc", Int32(12500), "how many terminated pods there may be before the oldest are deleted; 0 or less: as many as there are"),
	}},
	{"serviceaccount-controller", []Flag{
		{Name: "root-ca-file", Value: Text(""), Sets: "plugins[rootca].settings[root-ca-file]", Usage: "certificates that root-ca-certificate-publisher-controller puts into every namespace"},
		{Name: "service-account-private-key-file", Value: Text(""), Why: notBuilt("serviceaccount-token-controller")},
		{Name: "concurrent-serviceaccount-token-syncs", Value: Int32(5), Why: notBuilt("serviceaccount-token-controller")},
	}},
	{"certificatesigningrequest-signing-controller", signing(
		"cluster-signing-cert-file", "cluster-signing-key-file",
		"cluster-signing-kubelet-serving-cert-file", "cluster-signing-kubelet-serving-key-file",
		"cluster-signing-kubelet-client-cert-file", "cluster-signing-kubelet-client-key-file",
		"cluster-signing-kube-apiserver-client-cert-file", "cluster-signing-kube-apiserver-client-key-file",
		"cluster-signing-legacy-unknown-cert-file", "cluster-signing-legacy-unknown-key-file",
	)},
	{"node-ipam-controller", []Flag{
		{Name: "service-cluster-ip-range", Value: Text(""), Check: atMostTwo, Why: notBuilt("node-ipam-controller")},
		{Name: "node-cidr-mask-size", Value: Int32(0), Why: notBuilt("node-ipam-controller")},
		{Name: "node-cidr-mask-size-ipv4", Value: Int32(0), Why: notBuilt("node-ipam-controller")},
		{Name: "node-cidr-mask-size-ipv6", Value: Int32(0), Why: notBuilt("node-ipam-controller")},
	}},
	{"node-lifecycle-controller", []Flag{
		{Name: "node-startup-grace-period", Value: Duration(time.Minute), Why: notBuilt("node-lifecycle-controller")},
		{Name: "node-monitor-grace-period", Value: Duration(50 * time.Second), Why: notBuilt("node-lifecycle-controller")},
		{Name: "node-monitor-period", Value: Duration(5 * time.Second), Why: notBuilt("node-lifecycle-controller")},
		{Name: "node-eviction-rate", Value: Float32(0.1), Why: notBuilt("node-lifecycle-controller")},
		{Name: "secondary-node-eviction-rate", Value: Float32(0.01), Why: notBuilt("node-lifecycle-controller")},
		{Name: "large-cluster-size-threshold", Value: Int32(50), Why: notBuilt("node-lifecycle-controller")},
		{Name: "unhealthy-zone-threshold", Value: Float32(0.55), Why: notBuilt("node-lifecycle-controller")},
	}},
	{"persistentvolume-attach-detach-controller", []Flag{
		{Name: "disable-attach-detach-reconcile-sync", Value: Bool(false), Why: notBuilt("persistentvolume-attach-detach-controller")},
		{Name: "attach-detach-reconcile-sync-period", Value: Duration(time.Minute), Check: aSecond, Why: notBuilt("persistentvolume-attach-detach-controller")},
		{Name: "disable-force-detach-on-timeout", Value: Bool(false), Why: notBuilt("persistentvolume-attach-detach-controller")},
	}},
	{"persistentvolume-binder-controller", []Flag{
		{Name: "pvclaimbinder-sync-period", Value: Duration(15 * time.Second), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "pv-recycler-pod-template-filepath-nfs", Value: Text(""), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "pv-recycler-minimum-timeout-nfs", Value: Int32(300), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "pv-recycler-increment-timeout-nfs", Value: Int32(30), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "pv-recycler-pod-template-filepath-hostpath", Value: Text(""), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "pv-recycler-minimum-timeout-hostpath", Value: Int32(60), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "pv-recycler-timeout-increment-hostpath", Value: Int32(30), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "enable-hostpath-provisioner", Value: Bool(false), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "enable-dynamic-provisioning", Value: Bool(true), Why: notBuilt("persistentvolume-binder-controller")},
		{Name: "flex-volume-plugin-dir", Value: Text("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"), Why: notBuilt("persistentvolume-binder-controller")},
	}},
	{"other controllers", []Flag{
		unbuilt("concurrent-cron-job-syncs", "cronjob-controller", 5),
		unbuilt("concurrent-rc-syncs", "replicationcontroller-controller", 5),
		unbuilt("concurrent-disruption-syncs", "disruption-controller", 1),
		unbuilt("concurrent-resource-quota-syncs", "resourcequota-controller", 5),
		{Name: "resource-quota-sync-period", Value: Duration(5 * time.Minute), Why: notBuilt("resourcequota-controller")},
		unbuilt("concurrent-ttl-after-finished-syncs", "ttl-after-finished-controller", 5),
		unbuilt("concurrent-ephemeralvolume-syncs", "ephemeral-volume-controller", 5),
		unbuilt("concurrent-resourceclaim-syncs", "resourceclaim-controller", 50),
		unbuilt("concurrent-device-taint-eviction-syncs", "device-taint-eviction-controller", 8),
		unbuilt("concurrent-validating-admission-policy-status-syncs", "validatingadmissionpolicy-status-controller", 5),
		unbuilt("mirroring-concurrent-service-endpoint-syncs", "endpointslice-mirroring-controller", 5),
		unbuilt("mirroring-max-endpoints-per-subset", "endpointslice-mirroring-controller", 1000),
		{Name: "mirroring-endpointslice-updates-batch-period", Value: Duration(0), Why: notBuilt("endpointslice-mirroring-controller")},
		{Name: "legacy-service-account-token-clean-up-period", Value: Duration(365 * 24 * time.Hour), Why: notBuilt("legacy-serviceaccount-token-cleaner-controller")},
	}},
}

// unbuilt is a number of a controller that isn't built, which upstream wants to be at least 1.
func unbuilt(flag, controller string, d int32) Flag {
	return Flag{Name: flag, Value: Int32(d), Check: workers, Why: notBuilt(controller)}
}

func signing(files ...string) (all []Flag) {
	for _, f := range files {
		all = append(all, Flag{Name: f, Value: Text(""), Why: notBuilt("certificatesigningrequest-signing-controller")})
	}
	return append(all, Flag{Name: "cluster-signing-duration", Value: Duration(365 * 24 * time.Hour), Why: notBuilt("certificatesigningrequest-signing-controller")})
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
