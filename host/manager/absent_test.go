package manager

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
)

// Of a controller that is lost with the built-in plugin whose place a module has taken, it isn't said that nobody has
// built it.
func TestWhyAbsent(t *testing.T) {
	controllers := func(names ...string) *abi.Manifest {
		m := &abi.Manifest{Name: "replicaset"}
		for _, name := range names {
			m.Controllers = append(m.Controllers, abi.Controller{Name: name})
		}
		return m
	}
	const one, two, unbuilt = "replicaset-controller", "replicationcontroller-controller", "node-ipam-controller"
	all := catalogue([]plugins.Found{{Plugin: &plugins.Plugin{Name: "replicaset", Origin: "/plugins/mine.wasm"},
		Manifest: controllers(one), Replaces: controllers(one, two)}},
		[]string{"*", "-" + two, "-" + unbuilt}, nil)

	i := &inspector{leaders: newLeaders(config.LeaderElection{})}
	for name, want := range map[string]string{
		two:     "is turned off by --controllers, and isn't in /plugins/mine.wasm, which has taken the built-in plugin's place",
		unbuilt: "is turned off by --controllers, and isn't built yet",
	} {
		at := slices.IndexFunc(all, func(c catalogued) bool { return c.name == name })
		if why, message := i.whyAbsent(all[at]); why != state.Disabled || message != want {
			t.Errorf("%s: %s, %s", name, why, message)
		}
	}
}
