package kcm

import (
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

var generic = []Group{
	{"generic", []Flag{
		{Name: "controllers", Value: List("*"), Sets: "controllers",
			Usage: "controllers to run: \"*\" is all that are on by default, \"foo\" enables foo, \"-foo\" disables it; " +
				"the first " +
				"entry that names a controller decides"},
		{Name: "use-service-account-credentials", Value: Bool(false), Sets: "useServiceAccountCredentials",
			Usage: "write with a service account for each controller, in kube-system"},
		{Name: "kube-api-qps", Value: Float32(20), Sets: "clientConnection.qps",
			Usage: "requests per second that each controller may send on average"},
		{Name: "kube-api-burst", Value: Int32(30), Sets: "clientConnection.burst",
			Usage: "requests that each controller may send at once"},
		{Name: "kube-api-content-type", Value: Text("application/vnd.kubernetes.protobuf"),
			Why: "each resource is read and written in the form that the host's decoder takes: protobuf, or JSON where the " +
				"API server has nothing else"},
		{Name: "min-resync-period", Value: Duration(12 * time.Hour), Sets: "minResyncPeriod", Usage: "how long until each " +
			"key is synced again though nothing has happened to it, from this to twice this, 0 for never"},
		{Name: "controller-start-interval", Value: Duration(0),
			Why: "all controllers start together: they share their caches, and have limits of their own"},
		{Name: "controller-shutdown-timeout", Value: Duration(10 * time.Second), Sets: "shutdownTimeout",
			Usage: "how long to wait at shutdown for the writes of syncs in flight, 0 for as long as they take"},
		{Name: "feature-gates", Value: Other(featureGates),
			Does: "those that upstream reads in controllers that are here are settings " +
				"of their plugins, listed below; others change nothing, and the log says so; unknown ones are refused",
			Usage: "feature gates of kube-controller-manager, `Name=true|false,...`; unknown ones are rejected"},
		{Name: "emulated-version", Value: List(),
			Does:  "gates can be set that were not locked yet in that version; all else is as in v1.37",
			Usage: "version of Kubernetes, such as 1.34, whose feature gates can be set"},
		{Name: "min-compatibility-version", Value: List(),
			Why: "there is one behaviour, that of v1.37 (docs/differences.md has the exceptions)"},

		{Name: "cluster-name", Value: Text("kubernetes"), Why: cloud},
		{Name: "cluster-cidr", Value: Text(""), Of: "node-ipam-controller"},
		{Name: "allocate-node-cidrs", Value: Bool(false), Of: "node-ipam-controller"},
		{Name: "cidr-allocator-type", Value: Text("RangeAllocator"), Check: oneOf("RangeAllocator"),
			Of: "node-ipam-controller"},
		{Name: "cloud-provider", Value: Text(""), Check: oneOf("", "external"), Why: cloud},
		{Name: "cloud-config", Value: Text(""), Why: cloud},
		{Name: "external-cloud-volume-plugin", Value: Text(""), Why: cloud},
		{Name: "allow-untagged-cloud", Value: Bool(false), Why: cloud},
		{Name: "configure-cloud-routes", Value: Bool(true), Why: cloud},
		{Name: "route-reconciliation-period", Value: Duration(10 * time.Second), Why: cloud},
		{Name: "node-sync-period", Value: Duration(0), Why: "upstream ignores it, too"},
	}},
	{"leader election", []Flag{
		{Name: "leader-elect", Value: Bool(true), Sets: "leaderElection.leaderElect",
			Usage: "run controllers only while their Lease is held"},
		{Name: "leader-elect-lease-duration", Value: Duration(15 * time.Second), Sets: "leaderElection.leaseDuration",
			Usage: "how long other processes wait before they take over a Lease that isn't renewed, in whole seconds"},
		{Name: "leader-elect-renew-deadline", Value: Duration(10 * time.Second), Sets: "leaderElection.renewDeadline",
			Usage: "for how long the holder tries to renew it before the controllers stop"},
		{Name: "leader-elect-retry-period", Value: Duration(2 * time.Second), Sets: "leaderElection.retryPeriod",
			Usage: "the time between attempts to acquire or renew the Lease"},
		{Name: "leader-elect-resource-lock", Value: Text("leases"), Check: oneOf("leases"),
			Why: "there is no other kind of lock than Leases"},
		{Name: "leader-elect-resource-name", Value: Text("kube-controller-manager"), Sets: "leaderElection.resourceName",
			Usage: "the Lease's name"},
		{Name: "leader-elect-resource-namespace", Value: Text("kube-system"), Sets: "leaderElection.resourceNamespace",
			Usage: "the Lease's namespace"},
	}},
	{"leader migration", []Flag{
		{Name: "enable-leader-migration", Value: Bool(false), Sets: "leaderElection.groups",
			Usage: "the controllers of --leader-migration-config that are kube-controller-manager's get a Lease of their " +
				"own, those of other components don't run"},
		{Name: "leader-migration-config", Value: Text(""), Sets: "leaderElection.groups",
			Usage: "path of a LeaderMigrationConfiguration; without one, upstream's default, which names only controllers of cloud providers"},
	}},
}

// featureGates returns the value of --feature-gates: by component, "" being kube, lists of Name=true.
func featureGates() pflag.Value {
	return cliflag.NewColonSeparatedMultimapStringStringAllowDefaultEmptyKey(&map[string][]string{})
}
