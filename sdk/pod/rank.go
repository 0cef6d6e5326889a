package pod

import (
	"math/bits"
	"slices"
	"strings"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// RankFields are the paths that only [Rank] reads. They matter when there are too many pods and not before, so their
// changes need wake nobody.
var RankFields = []string{"metadata.creationTimestamp", "metadata.annotations[" + corev1.PodDeletionCost + "]",
	"spec.nodeName",
	"spec.initContainers.name", "spec.initContainers.restartPolicy", "status.containerStatuses.restartCount",
	"status.initContainerStatuses.name", "status.initContainerStatuses.restartCount"}

// Rank puts active pods in the order in which a scale-down deletes them (pkg/controller/controller_utils.go,
// ActivePodsWithRanks): first those without a node, pending before unknown before running, not ready, of a low
// pod-deletion-cost, beside many of the related pods on their node, ready only lately, restarted often, young.
//
// How lately and how young is compared by powers of two of the age, and by UID within one, so that pods of about an age
// go in no particular order; with a zero now by the time itself, as jobs do. It reads metadata.uid, status.phase and
// conditions beside [RankFields]; what a controller doesn't declare doesn't count.
func Rank(pods, related []*corev1.Pod, now metav1.Time) { rankByCost(pods, related, now, deletionCost) }

// RankWithoutCost is [Rank] without the pod-deletion-cost.
func RankWithoutCost(pods, related []*corev1.Pod, now metav1.Time) {
	rankByCost(pods, related, now, func(*corev1.Pod) int64 { return 0 })
}

func rankByCost(pods, related []*corev1.Pod, now metav1.Time, cost func(*corev1.Pod) int64) {
	ranked := make([]*victim, len(pods))
	for i, p := range pods {
		ranked[i] = newVictim(p)
		ranked[i].cost = cost(p)
	}
	countNeighbours(ranked, related)
	slices.SortStableFunc(ranked, func(a, b *victim) int { return compare(a, b, now) })
	for i := range ranked {
		pods[i] = ranked[i].pod
	}
}

// victim is a pod with what its place in the order depends on.
type victim struct {
	pod        *corev1.Pod
	phase      int
	ready      bool
	readySince metav1.Time
	cost       int64
	neighbours int
	restarts   int32
	sidecars   int32 // restarts of init containers that go on running
}

func newVictim(p *corev1.Pod) *victim {
	v := &victim{pod: p}
	switch p.Status.Phase {
	case corev1.PodUnknown:
		v.phase = 1
	case corev1.PodRunning:
		v.phase = 2
	}
	if c := ReadyCondition(p); c != nil && c.Status == corev1.ConditionTrue {
		v.ready, v.readySince = true, c.LastTransitionTime
	}
	for i := range p.Status.ContainerStatuses {
		v.restarts = max(v.restarts, p.Status.ContainerStatuses[i].RestartCount)
	}
	for i := range p.Status.InitContainerStatuses {
		if s := &p.Status.InitContainerStatuses[i]; s.RestartCount > v.sidecars && Sidecar(p, s.Name) {
			v.sidecars = s.RestartCount
		}
	}
	return v
}

// countNeighbours gives each victim the number of related active pods on its node.
func countNeighbours(victims []*victim, related []*corev1.Pod) {
	if len(related) == 0 {
		return
	}
	all := append(make([]*victim, 0, len(victims)+len(related)), victims...)
	for _, p := range related {
		if Active(p) {
			all = append(all, &victim{pod: p, neighbours: 1})
		}
	}
	slices.SortStableFunc(all, func(a, b *victim) int { return strings.Compare(a.pod.Spec.NodeName, b.pod.Spec.NodeName) })
	for len(all) > 0 {
		n, on := 0, 0
		for on < len(all) && all[on].pod.Spec.NodeName == all[0].pod.Spec.NodeName {
			n += all[on].neighbours
			on++
		}
		for _, v := range all[:on] {
			v.neighbours = n
		}
		all = all[on:]
	}
}

// Sidecar reports whether the init container of that name goes on running beside the others. It reads
// spec.initContainers.name and restartPolicy.
func Sidecar(p *corev1.Pod, name string) bool {
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

// deletionCost returns the pod's deletion cost; a plus sign, leading zeros and what doesn't fit into 32 bits make none.
func deletionCost(p *corev1.Pod) int64 {
	// strconv would bring its errors along, and these reflection: 40 KB.
	digits := p.Annotations.Get(corev1.PodDeletionCost)
	if digits == "" || digits[0] == '0' {
		return 0
	}
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	n := int64(0)
	for i := range len(digits) {
		d := digits[i] - '0'
		if n = 10*n + int64(d); d > 9 || n > 1<<31 {
			return 0
		}
	}
	switch {
	case negative:
		return -n
	case n == 1<<31:
		return 0
	}
	return n
}

// compare is negative where a goes before b.
func compare(a, b *victim, now metav1.Time) int {
	if x, y := a.pod.Spec.NodeName == "", b.pod.Spec.NodeName == ""; x != y {
		return trueFirst(x)
	}
	if a.phase != b.phase {
		return a.phase - b.phase
	}
	if a.ready != b.ready {
		return trueFirst(b.ready)
	}
	if a.cost != b.cost {
		if a.cost < b.cost {
			return -1
		}
		return 1
	}
	if a.neighbours != b.neighbours {
		return b.neighbours - a.neighbours
	}
	if a.ready && a.readySince != b.readySince {
		return laterFirst(a.readySince, b.readySince, a, b, now)
	}
	if a.restarts != b.restarts {
		return int(b.restarts) - int(a.restarts)
	}
	if a.sidecars != b.sidecars {
		return int(b.sidecars) - int(a.sidecars)
	}
	if s, t := a.pod.CreationTimestamp, b.pod.CreationTimestamp; s != t {
		return laterFirst(s, t, a, b, now)
	}

	return 0
}

func trueFirst(a bool) int {
	if a {
		return -1
	}
	return 1
}

// laterFirst compares two different times, of which an unset one counts as the latest.
func laterFirst(s, t metav1.Time, a, b *victim, now metav1.Time) int {
	if s.IsZero() || t.IsZero() {
		return trueFirst(s.IsZero())
	}
	if now.IsZero() {
		return t.Compare(s)
	}
	if x, y := magnitude(s, now), magnitude(t, now); x != y {
		return x - y
	}
	return strings.Compare(string(a.pod.UID), string(b.pod.UID))
}

// magnitude is the power of two of the nanoseconds since t.
func magnitude(t, now metav1.Time) int {
	age := now.Sub(t)
	if age <= 0 {
		return -1
	}
	return bits.Len64(uint64(age)) - 1
}
