// Package nodettl tells kubelets by an annotation how long they may keep Secrets and ConfigMaps before they read them
// anew: the more nodes a cluster has, the longer.
//
// The time goes up when there are more nodes than it is good for, and down when there are clearly fewer, so that it
// doesn't turn back and forth with each node. All nodes have the same.
package nodettl

import (
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// node is a node of which only its metadata is read.
//
//narrow:resource v1/nodes Node
type node struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

var nodes = resource.Of[node]{Info: nodeInfo}

// step is a range of sizes of a cluster with its time. A cluster leaves it when it has fewer than min nodes, or more
// than max.
type step struct {
	min, max int
	seconds  string
	others   *sdk.View[node, *node] // nodes with another time, or none
}

// Each range overlaps with the next, as it is by upstream's table (pkg/controller/ttl).
var steps = []step{
	{0, 100, "0", nodesWithout("0")},
	{90, 500, "15", nodesWithout("15")},
	{450, 1000, "30", nodesWithout("30")},
	{900, 2000, "60", nodesWithout("60")},
	{1800, 1 << 30, "300", nodesWithout("300")},
}

const annotation = "metadata.annotations[" + corev1.ObjectTTLAnnotationKey + "]"

// size wakes the key when a node comes or goes. What else happens to nodes changes no number.
var size = sdk.Select(nodes).Named("size").Counted(1 << 30)

func nodesWithout(seconds string) *sdk.View[node, *node] {
	return sdk.Select(nodes, sdk.Not(sdk.In(annotation, seconds))).Named("nodes without " + seconds).
		Fields(annotation).Lazy().QuietOn(abi.QuietOwn)
}

// Plugin is the nodettl module (pkg/controller/ttl).
var Plugin = &sdk.Plugin{
	Name:        "nodettl",
	Version:     "1.0.0",
	Description: "Tells kubelets, by the number of nodes, how long they may keep Secrets and ConfigMaps.",
	Controllers: []*sdk.Controller{{
		Name:           "ttl-controller",
		Alias:          "ttl",
		Queue:          "ttlcontroller",
		ServiceAccount: "ttl-controller",
		Reads:          reads(),
		Writes:         sdk.Writes{nodes.Verbs("patch")},
		By:             sdk.KeyedBy{Single: true},
		State:          true,
		Sync:           sync,
	}},
}

func reads() sdk.Views {
	all := sdk.Views{size}
	for i := range steps {
		all = append(all, steps[i].others)
	}
	return all
}

// sync has all nodes have the time of the cluster's step, which is its state: where ranges overlap, the number of nodes
// alone doesn't say which it is.
func sync(c *sdk.Call) error {
	was, _ := strconv.Atoi(string(c.State()))
	now := next(was, size.Count(c))
	if now != was {
		c.SetState(strconv.AppendInt(nil, int64(now), 10))
	}

	want := &steps[now]
	seconds, _ := strconv.Atoi(want.seconds)
	var patches []sdk.Effect
	for _, n := range want.others.List(c) {
		text := n.Annotations.Get(corev1.ObjectTTLAnnotationKey)
		if has, err := strconv.Atoi(text); err == nil && has == seconds { // such as +15
			continue
		}
		patches = append(patches, sdk.Patch(n, abi.StrategicPatch,
			[]byte(`{"metadata":{"annotations":{"`+corev1.ObjectTTLAnnotationKey+`":"`+want.seconds+`"}}}`),
			sdk.Tolerate(abi.TolerateNotFound)))
	}
	if len(patches) > 0 {
		c.Add(sdk.Parallel(patches...)) // one that is refused keeps no other node waiting
	}
	return nil
}

// next returns the step of a cluster of so many nodes that was at another one.
func next(at, nodes int) int {
	for nodes > steps[at].max {
		at++
	}
	for nodes < steps[at].min {
		at--
	}
	return at
}
