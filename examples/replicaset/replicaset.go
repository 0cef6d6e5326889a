// Package replicaset takes the place of the built-in replicaset controller. It does the same, but users say which pods
// a scale-down takes.
package replicaset

import (
	"cmp"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
	"github.com/windlass-dev/windlass/sdk/replicas"
)

const (
	// Order is the annotation of a ReplicaSet, or of its Deployment, which hands it on, that says in which order pods go:
	// one of those below.
	Order = "scaledown.example.com/order"
	// First is the label of pods that go before all others.
	First = "scaledown.example.com/first"
)

// The values of [Order].
const (
	Oldest       = "oldest"
	Newest       = "newest"
	EmptiestNode = "emptiest-node" // pods on nodes with few other pods, so that nodes become empty
)

var (
	sets = replicas.Sets().Fields("metadata.annotations[" + Order + "]").Quiet("metadata.annotations[" + Order + "]")
	pods = replicas.PodsOf(sets).Fields(pod.RankFields...).Quiet(pod.RankFields...)
	// onNodes is asked for the pods of some nodes, whoever they belong to.
	onNodes = sdk.Select(corev1.Pods).Named("pods on nodes").Lazy().AskBy("spec.nodeName").Quiet()
)

// Plugin replaces the built-in plugin of the same name.
var Plugin = &sdk.Plugin{
	Name:        "replicaset",
	Version:     "1.0.0",
	Description: "Keeps as many pods of a template running as a ReplicaSet says, and lets users choose which pods a scale-down takes.",
	Controllers: []*sdk.Controller{{
		Name:        "replicaset-controller",
		Alias:       "replicaset",
		Queue:       "replicaset",
		EventSource: "replicaset-controller",
		Reads:       sdk.Views{sets, pods, onNodes},
		Writes:      replicas.Writes(),
		Workers:     5,
		Sync:        sync,
	}},
}

func sync(c *sdk.Call) error {
	rs, ok := sets.Get(c)
	if !ok {
		return nil
	}
	return replicas.Sync(c, rs, pods.List(c), func(active []*corev1.Pod, n int) []*corev1.Pod {
		pod.Rank(active, nil, c.Now()) // the order of those that are equal in what follows
		slices.SortStableFunc(active, podOrder(c, rs, active))
		return active[:n]
	})
}

// podOrder returns what compares two pods: those that users have labelled go first, then those that serve nobody yet,
// then by the set's annotation.
func podOrder(c *sdk.Call, rs *appsv1.ReplicaSet, active []*corev1.Pod) func(a, b *corev1.Pod) int {
	var chosen func(a, b *corev1.Pod) int
	switch o := rs.Annotations.Get(Order); o {
	case Oldest:
		chosen = func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp) }
	case Newest:
		chosen = func(a, b *corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp) }
	case EmptiestNode:
		load := neighbours(c, active)
		chosen = func(a, b *corev1.Pod) int { return cmp.Compare(load[a.Spec.NodeName], load[b.Spec.NodeName]) }
	default:
		if o != "" {
			c.Event(rs, corev1.EventTypeWarning, "UnknownOrder",
				"Annotation "+Order+" is "+o+": must be "+Oldest+", "+Newest+" or "+EmptiestNode)
		}
		chosen = func(a, b *corev1.Pod) int { return 0 }
	}
	return func(a, b *corev1.Pod) int {
		if x, y := a.Labels.Has(First), b.Labels.Has(First); x != y {
			return before(x)
		}
		if x, y := pod.Ready(a), pod.Ready(b); x != y {
			return before(y)
		}
		return chosen(a, b)
	}
}

func before(first bool) int {
	if first {
		return -1
	}
	return 1
}

// neighbours is how many pods run on each of the pods' nodes.
func neighbours(c *sdk.Call, pods []*corev1.Pod) map[string]int {
	load := map[string]int{}
	for _, p := range pods {
		load[p.Spec.NodeName] = 0
	}
	delete(load, "")
	var nodes []string
	for n := range load {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes) // a map's order is another one each time: what is asked must not be
	for _, p := range onNodes.Ask(c, abi.Ask{Path: "spec.nodeName", Values: nodes}) {
		if pod.Active(p) {
			load[p.Spec.NodeName]++
		}
	}
	return load
}
