// Package podgc deletes pods that nobody else would ever delete.
//
// Every 20 s it deletes the oldest terminated pods beyond a threshold (12,500 by default) and pods that are being
// deleted and were never scheduled; and at once pods whose nodes are gone for 40 s and pods on nodes that are out of
// service. Those that haven't ended are marked as failed first.
package podgc

import (
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
)

var (
	threshold = &sdk.Setting{Name: "terminated-pod-gc-threshold", Default: "12500",
		Description: "How many terminated pods there may be before the oldest are deleted; 0 or less: as many as there are."}
	quarantine = &sdk.Setting{Name: "node-quarantine", Default: "40s",
		Description: "How long a node is missed before it is looked for at the API server, and its pods are deleted if it is gone."}
)

var (
	of      = abi.Label{Name: "namespace", From: abi.LabelNamespace}
	reasons = abi.Label{Name: "reason", Values: []string{terminatedPod, unscheduledPod, orphanedPod, outOfServicePod}}

	deletions = sdk.Counter("pod_gc_collector_force_delete_pods_total",
		"[ALPHA] Number of pods that are being forcefully deleted since the Pod GC Controller started.", of, reasons)
	failures = sdk.Counter("pod_gc_collector_force_delete_pod_errors_total",
		"[ALPHA] Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.", of,
		reasons)
)

// The values of the metrics' label reason.
const (
	terminatedPod   = "terminated"
	unscheduledPod  = "unscheduled"
	orphanedPod     = "orphaned"
	outOfServicePod = "out-of-service"
)

// period is how often pods are looked at, in nanoseconds.
const period = int64(20 * time.Second)

// Plugin is the podgc module (pkg/controller/podgc). What is to be done for pods on a node that is gone or out of
// service is decided node by node, as soon as it is known; what is to be done for others, on a timer.
var Plugin = &sdk.Plugin{
	Name:        "podgc",
	Version:     "1.0.0",
	Description: "Deletes terminated pods beyond a threshold, pods of nodes that are gone or out of service, and unscheduled pods that are being deleted.",
	Settings:    []*sdk.Setting{threshold, quarantine},
	Metrics:     []*sdk.Metric{deletions, failures},
	Check: func(s *sdk.Settings) error {
		if _, err := strconv.Atoi(threshold.In(s)); err != nil {
			return sdk.Errors(threshold.Name, ": ", threshold.In(s), " is not a whole number")
		}
		if d, err := time.ParseDuration(quarantine.In(s)); err != nil || d <= 0 {
			return sdk.Errors(quarantine.Name, ": ", quarantine.In(s), " is not a time such as 40s")
		}
		return nil
	},
	Controllers: []*sdk.Controller{{
		Name:           "pod-garbage-collector-controller",
		Alias:          "podgc",
		ServiceAccount: "pod-garbage-collector",
		Reads:          sdk.Views{ended, terminated, unscheduled},
		Writes:         sdk.Writes{pods.Verbs("delete"), pods.Sub("status", "patch")},
		By:             sdk.KeyedBy{Single: true, Every: period},
		// a pod that can't be deleted is tried, and counted, in the next round
		Backoff: abi.Backoff{Base: period, Max: period},
		Workers: 1,
		Sync:    sync,
	}, {
		Name:           "pod-garbage-collector-nodes",
		PartOf:         "pod-garbage-collector-controller",
		Queue:          "orphaned_pods_nodes",
		ServiceAccount: "pod-garbage-collector",
		Reads:          sdk.Views{nodes, orphans, stranded},
		Writes:         sdk.Writes{pods.Verbs("delete"), pods.Sub("status", "patch"), nodeKind.Verbs("get")},
		By:             sdk.KeyedBy{Path: "metadata.name"},
		Workers:        5,
		Backoff:        abi.Backoff{Max: int64(20 * time.Second)},
		State:          true,
		Sync:           syncNode,
	}},
}
