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
	took := sdk.Histogram("took_seconds", "Times.", []float64{1}, abi.Label{Name: "part", Values: []string{"none", "first", "rest"}})
	p := &sdk.Plugin{Name: "p", Metrics: []*sdk.Metric{took}, Controllers: []*sdk.Controller{{Name: "c", Reads: sdk.Views{sdk.Key(corev1.Namespaces)}, Sync: func(c *sdk.Call) error {
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
	a := sdk.Run(p, &abi.SyncRequest{Views: make([]abi.ViewData, 1)}, nil, func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
		return &abi.PerformResponse{Outcomes: []abi.Outcome{{Code: abi.CodeFailed, Reason: "NotFound", Message: "there is none"}}}, nil
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
