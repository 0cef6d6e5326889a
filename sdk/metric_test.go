package sdk_test

import (
	"math"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// A part of a sync is timed by the performs that were in it.
func TestSince(t *testing.T) {
	took := sdk.Histogram("took_seconds", "Times.", []float64{1},
		abi.Label{Name: "part", Values: []string{"none", "first", "rest"}})
	p := &sdk.Plugin{Name: "p", Metrics: []*sdk.Metric{took},
		Controllers: []*sdk.Controller{{Name: "c", Reads: sdk.Views{sdk.Key(corev1.Namespaces)},
			Sync: func(c *sdk.Call) error {
				ask := func() {
					if _, err := sdk.Get(c, corev1.ConfigMaps, "default", "x"); err == nil {
						t.Error("the object was got that isn't there")
					}
				}
				begin := c.Moment()
				took.Since(c, begin, "none")
				ask()
				took.Since(c, begin, "first")
				then := c.Moment()
				ask()
				ask()
				took.Since(c, then, "rest")
				took.Since(c, then, "undeclared")
				took.Took(c, "rest")
				return nil
			}}}}

	p.Manifest()
	a := sdk.Run(p, &abi.SyncRequest{Views: make([]abi.ViewData, 1)}, nil,
		func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
			return &abi.PerformResponse{Outcomes: []abi.Outcome{{Code: abi.CodeFailed, Reason: "NotFound",
				Message: "there is none"}}}, nil
		})

	want := [][3]int32{{0, 1, 1}, {1, 1, 2}, {2, 2, 4}, {2, 0, 0}}
	if len(a.Metrics) != len(want) {
		t.Fatalf("%d updates, want %d: %+v", len(a.Metrics), len(want), a.Metrics)
	}

	for i, u := range a.Metrics {
		if got := [3]int32{u.Labels[0], u.From, u.To}; got != want[i] || !math.IsNaN(u.Value) {
			t.Errorf("update %d: label, from and to are %v, value %v; want %v and NaN", i, got, u.Value, want[i])
		}
	}
}

// The values of labels from the key and from objects are the host's: a sync gives those of the others, in their order.
func TestLabelsOfObjectsAreNotGiven(t *testing.T) {
	namespaces := sdk.Key(corev1.Namespaces).Fields("status.phase").Named("spaces")
	m := sdk.Counter("changes_total", "Changes.",
		namespaces.Label("phase", "status.phase"),
		abi.Label{Name: "kind", Values: []string{"a", "b"}},
		namespaces.JoinedLabel("place", "metadata.name", ":", "status.phase"),
		abi.Label{Name: "name", From: abi.LabelKeyName})
	p := &sdk.Plugin{Name: "p", Metrics: []*sdk.Metric{m},
		Controllers: []*sdk.Controller{{Name: "c", Reads: sdk.Views{namespaces}, Sync: func(c *sdk.Call) error {
			m.Add(c, 7, "b")
			m.Add(c, 1, "Active", "b")
			m.Add(c, 1)
			return nil
		}}}}
	labels := p.Manifest().Metrics[0].Labels
	if l := labels[0]; l.View != "spaces" || len(l.Paths) != 1 || l.Paths[0] != "status.phase" {
		t.Errorf("%+v", l)
	}
	if l := labels[2]; l.View != "spaces" || len(l.Paths) != 2 || l.Separator != ":" {
		t.Errorf("%+v", l)
	}

	a := sdk.Run(p, &abi.SyncRequest{Views: make([]abi.ViewData, 1)}, nil, nil)
	if len(a.Metrics) != 1 || a.Metrics[0].Value != 7 || len(a.Metrics[0].Labels) != 4 || a.Metrics[0].Labels[1] != 1 {
		t.Errorf("%+v", a.Metrics)
	}
}

// A label of a setting takes the values that the operator has written, and no other.
func TestLabelsOfSettings(t *testing.T) {
	ranges := &sdk.Setting{Name: "ranges", Default: "10.0.0.0/8"}
	m := sdk.Counter("given_total", "Given.", ranges.Label("range"))
	p := &sdk.Plugin{Name: "p", Settings: []*sdk.Setting{{Name: "other"}, ranges}, Metrics: []*sdk.Metric{m},
		Controllers: []*sdk.Controller{{Name: "c", Reads: sdk.Views{sdk.Key(corev1.Namespaces)},
			Sync: func(c *sdk.Call) error {
				m.Add(c, 1, "10.0.0.0/8")
				m.Add(c, 2, "fd00::/48")
				return nil
			}}}}
	if l := p.Manifest().Metrics[0].Labels[0]; l.Setting != "ranges" || l.Name != "range" || l.Values != nil {
		t.Errorf("declared as %+v", l)
	}

	for text, want := range map[string][]float64{"": nil, "10.0.0.0/8": {1}, "fd00::/48, 10.0.0.0/8": {1, 2}} {
		a := sdk.Run(p, &abi.SyncRequest{Views: make([]abi.ViewData, 1)}, &abi.Settings{Values: []string{"", text}}, nil)
		if len(a.Metrics) != len(want) {
			t.Errorf("%q: %+v", text, a.Metrics)
		}
		for i, u := range a.Metrics {
			values := abi.SettingValues(text)
			if u.Value != want[i] || values[u.Labels[0]] != []string{1: "10.0.0.0/8", 2: "fd00::/48"}[int(u.Value)] {
				t.Errorf("%q: update %+v is of %q", text, u, values[u.Labels[0]])
			}
		}
	}
}
