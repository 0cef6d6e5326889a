package podgc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// hasEnded holds for a pod of any phase but those in which it may yet run.
func hasEnded() sdk.Condition {
	return sdk.Not(sdk.In("status.phase", string(corev1.PodPending), string(corev1.PodRunning), string(corev1.PodUnknown)))
}

var (
	// The pods themselves are looked at only where there are more than the threshold.
	ended      = sdk.Select(pods, hasEnded()).Named("ended").Counted(1 << 30).Quiet()
	terminated = sdk.Select(pods, hasEnded()).Named("terminated").Lazy().
			Fields("metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds",
			"metadata.finalizers", "metadata.generation", "status.phase", "status.reason").Quiet()
	unscheduled = sdk.Select(pods, sdk.Exists("metadata.deletionTimestamp"),
		sdk.Not(sdk.Exists("spec.nodeName"))).Named("unscheduled").
		Fields("metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.finalizers",
			"metadata.generation", "status.phase").Quiet()
)

// most is how many terminated pods are deleted in one sync.
const most = 10000

// sync deletes the oldest terminated pods beyond the threshold, and pods that are being deleted before they have a
// node, which no kubelet will ever end.
func sync(c *sdk.Call) error {
	err := syncTerminated(c)
	if e := deletePods(c, unscheduled.List(c), unscheduledPod); err == nil {
		err = e
	}
	return err
}

func syncTerminated(c *sdk.Call) error {
	limit, err := strconv.Atoi(threshold.Get(c))
	if err != nil || limit <= 0 || ended.Count(c) <= limit {
		return err
	}
	all := terminated.List(c)
	slices.SortFunc(all, compareByAge)
	surplus := slices.DeleteFunc(all[:max(0, len(all)-limit)], (*Pod).awaitsFinalizers)
	if len(surplus) <= most {
		return deletePods(c, surplus, terminatedPod)
	}
	if err := deletePods(c, surplus[:most], terminatedPod); err != nil {
		return err
	}
	return c.After(1) // the rest at once
}

// compareByAge has evicted pods first, which no controller counts on, then the oldest.
func compareByAge(a, b *Pod) int {
	if a.evicted() != b.evicted() {
		if a.evicted() {
			return -1
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Namespace, b.Namespace))
}
