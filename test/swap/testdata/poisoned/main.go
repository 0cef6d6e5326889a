// Plugin poisoned is a version of replicaset that fails on sets by their names: it traps, never ends, or wants what its
// manifest doesn't have.
package main

import (
	"strings"

	"github.com/windlass-dev/windlass/plugins/replicaset"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

func init() {
	replicaset.Plugin.Version = "poisoned"
	c := replicaset.Plugin.Controllers[0]
	sync := c.Sync
	sets := c.Reads[0].(*sdk.View[appsv1.ReplicaSet, *appsv1.ReplicaSet])
	c.Sync = func(call *sdk.Call) error {
		if _, ok := sets.Get(call); !ok {
			return sync(call)
		}
		switch kind, _, _ := strings.Cut(call.Name(), "-"); kind {
		case "trap":
			panic("what it contains")
		case "endless":
			for {
			}
		case "overreach":
			return call.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: call.Namespace(), Name: "x"}})
		}
		return sync(call)
	}
	sdk.Serve(replicaset.Plugin)
}

func main() {}
