package nodettl

import (
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// What nodes are told by their number, and by the step that the cluster was at.
func TestSteps(t *testing.T) {
	Plugin.Manifest() // numbers the views
	for _, c := range []struct {
		state string
		nodes int
		told  string
		step  string // "": as it was
	}{
		{"", 1, "0", ""},
		{"", 95, "0", ""}, // of a manager that has just started the lowest that will do
		{"0", 100, "0", ""},
		{"0", 101, "15", "1"},
		{"1", 100, "15", ""},
		{"1", 90, "15", ""},
		{"1", 92, "15", ""},
		{"1", 89, "0", "0"},
		{"1", 500, "15", ""},
		{"1", 501, "30", "2"},
		{"2", 450, "30", ""},
		{"2", 449, "15", "1"},
		{"2", 1001, "60", "3"},
		{"3", 900, "60", ""},
		{"3", 899, "30", "2"},
		{"3", 2001, "300", "4"},
		{"4", 1800, "300", ""},
		{"4", 1799, "60", "3"},
		{"4", 9999, "300", ""},
		{"0", 5000, "300", "4"}, // many came at once
		{"4", 460, "30", "2"},   // and went
		{"4", 0, "0", "0"},
	} {

		asked, patched := "", 0
		views := make([]abi.ViewData, len(Plugin.Controllers[0].Reads))
		views[0].Count = int64(c.nodes)
		perform := func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
			asked = steps[r.Effects[0].Ask.View-1].seconds
			return &abi.PerformResponse{Outcomes: []abi.Outcome{{View: &abi.ViewData{Objects: untold("a", "b")}}}}, nil
		}
		a := sdk.Run(Plugin, &abi.SyncRequest{State: []byte(c.state), Views: views}, &sdk.Settings{}, perform)
		for _, e := range a.Effects[0].Members {
			if string(e.Object) == `{"metadata":{"annotations":{"node.alpha.kubernetes.io/ttl":"`+c.told+`"}}}` {
				patched++
			}
		}
		if asked != c.told || patched != 2 || a.Error != "" || string(a.State) != c.step || a.KeepState != (c.step == "") {
			t.Errorf("%d nodes, state %q: asked for those without %s, told %d of 2 nodes, state %q, error %q, should be %+v",
				c.nodes, c.state, asked, patched, a.State, a.Error, c)
		}
	}
}

// Steps lead from one to the next, and back, whatever number of nodes there is: none is outside of all.
func TestStepsOverlap(t *testing.T) {
	for i := range len(steps) - 1 {
		if a, b := steps[i], steps[i+1]; b.min <= a.min || b.min > a.max || b.max <= a.max {
			t.Errorf("steps %d and %d don't overlap: %+v, %+v", i, i+1, a, b)
		}
		if n, err := strconv.Atoi(steps[i].seconds); err != nil || strconv.Itoa(n) != steps[i].seconds {
			t.Errorf("step %d: %q is no number as it is written", i, steps[i].seconds)
		}
	}
}

func untold(names ...string) (all []abi.ObjectData) {
	for _, name := range names {
		o := &node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		all = append(all, abi.ObjectData{Data: resource.Append(nil, o)})
	}
	return all
}
