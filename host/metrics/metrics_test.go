package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/state"
)

// A sum is over all keys, of what each has said last; what isn't declared makes no series.
func TestPluginMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	own, err := m.Plugin("p", []abi.Metric{
		{Name: "slices", Help: "Slices.", Type: abi.MetricSum,
			Labels: []abi.Label{{Name: "kind", Values: []string{"a", "b"}}}},
		{Name: "changes", Help: "Changes.", Type: abi.MetricCounter},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := m.Of("test-controller", own)

	x, y := controller.Key{Name: "x"}, controller.Key{Name: "y"}
	share := func(label int32, v float64) abi.MetricUpdate {
		return abi.MetricUpdate{Labels: []int32{label}, Value: v}
	}
	b.Answered(x, []abi.MetricUpdate{share(0, 3), share(1, 1), {Metric: 1, Value: 2}}, noLabels)
	b.Answered(y, []abi.MetricUpdate{share(0, 4)}, noLabels)
	b.Answered(y, []abi.MetricUpdate{{Metric: 1, Value: 1}}, noLabels)              // says nothing of the sum
	b.Answered(x, []abi.MetricUpdate{share(1, 5)}, noLabels)                        // instead of 3 and 1
	b.Answered(x, []abi.MetricUpdate{share(7, 9), {Metric: 9, Value: 9}}, noLabels) // no such label, no such metric
	b.Answered(y, []abi.MetricUpdate{{Metric: 1, Value: -1}}, noLabels)             // a counter never falls
	want := `
# HELP changes Changes.
# TYPE changes counter
changes 3
# HELP slices Slices.
# TYPE slices gauge
slices{kind="a"} 4
slices{kind="b"} 0
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "slices", "changes"); err != nil {
		t.Error(err)
	}
	b.Answered(y, []abi.MetricUpdate{share(0, 0)}, noLabels)
	if n := len(b.summands); n != 0 {
		t.Errorf("%d keys are remembered that have no share", n)
	}
	b.Answered(x, []abi.MetricUpdate{share(0, 3), share(1, 1)}, noLabels)
	b.Anew()
	want = "# HELP slices Slices.\n# TYPE slices gauge\nslices{kind=\"a\"} 0\nslices{kind=\"b\"} 0\n"
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "slices"); err != nil {
		t.Errorf("another process goes on: %v", err)
	}
}

// A metric without labels is there from the start, with zeros: whoever watches for it learns that nothing has happened,
// and a rate over it misses no first one. Of one with labels there is a series when there is something to tell.
func TestPlainMetricsBeginWithZeros(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	memory := budget.NewMemory("p", 1<<20, budget.NewTotal(1<<40), nil)
	declared := []abi.Metric{
		{Name: "skew", Help: "Skew.", Type: abi.MetricHistogram, Buckets: []float64{1}},
		{Name: "made", Help: "Made.", Type: abi.MetricCounter},
		{Name: "wanted", Help: "Wanted.", Type: abi.MetricGauge},
		{Name: "slices", Help: "Slices.", Type: abi.MetricSum},
		{Name: "changes", Help: "Changes.", Type: abi.MetricCounter,
			Labels: []abi.Label{{Name: "kind", Values: []string{"a"}}}},
		{Name: "behind", Help: "Stale ones.", Type: abi.MetricStale},
	}
	own, err := m.Plugin("p", declared, memory)
	if err != nil {
		t.Fatal(err)
	}

	want := `
# HELP made Made.
# TYPE made counter
made 0
# HELP skew Skew.
# TYPE skew histogram
skew_bucket{le="1"} 0
skew_bucket{le="+Inf"} 0
skew_sum 0
skew_count 0
# HELP slices Slices.
# TYPE slices gauge
slices 0
# HELP wanted Wanted.
# TYPE wanted gauge
wanted 0
`
	names := []string{"behind", "changes", "made", "skew", "slices", "wanted"}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}

	held := memory.Held(budget.Series)
	b := m.Of("test-controller", own)
	b.Answered(controller.Key{Name: "x"}, []abi.MetricUpdate{{Metric: 0, Value: 2}, {Metric: 1, Value: 2}}, noLabels)
	if got := memory.Held(budget.Series); held == 0 || got != held {
		t.Errorf("the series take %d bytes of the plugin's memory, and %d when something is observed", held, got)
	}
}

// What the host keeps by itself: how syncs ended and what they took, by the status of the write that failed. A sync
// that was put off is none.
func TestHostKeptMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	own, err := m.Plugin("p", []abi.Metric{
		{Name: "ended", Help: "Syncs.", Type: abi.MetricCodes},
		{Name: "took", Help: "Times.", Type: abi.MetricCodeSeconds, Buckets: []float64{1, 2}},
		{Name: "behind", Help: "Stale ones.", Type: abi.MetricStale},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := m.Of("test-controller", own)
	b.Synced(controller.Sync{Result: "ok", Code: 200, Duration: 500 * time.Millisecond})
	b.Synced(controller.Sync{Result: "ok", Code: 200, Duration: 1500 * time.Millisecond})
	b.Synced(controller.Sync{Result: "error", Code: 409, Duration: 3 * time.Second})
	b.Synced(controller.Sync{Result: "stale", Behind: abi.Resource{Group: "apps", Version: "v1", Name: "deployments"}})

	// The guest has no say in them.
	all := []abi.MetricUpdate{{Metric: 0, Value: 5}, {Metric: 1, Value: 5}, {Metric: 2, Value: 5}}
	b.Answered(controller.Key{Name: "x"}, all, noLabels)

	want := `
# HELP behind Stale ones.
# TYPE behind counter
behind{group="apps",resource="deployments"} 1
# HELP ended Syncs.
# TYPE ended counter
ended{code="200"} 2
ended{code="409"} 1
# HELP took Times.
# TYPE took histogram
took_bucket{code="200",le="1"} 1
took_bucket{code="200",le="2"} 2
took_bucket{code="200",le="+Inf"} 2
took_sum{code="200"} 2
took_count{code="200"} 2
took_bucket{code="409",le="1"} 0
took_bucket{code="409",le="2"} 0
took_bucket{code="409",le="+Inf"} 1
took_sum{code="409"} 3
took_count{code="409"} 1
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "behind", "ended", "took"); err != nil {
		t.Error(err)
	}
}

// A plugin has two controllers, and upstream counts stale syncs of one of them.
func TestStaleSyncsOfOneController(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	own, err := m.Plugin("replicaset", []abi.Metric{
		{Name: "replicaset_controller_stale_sync_skips_total", Help: "Stale ones.", Type: abi.MetricStale},
		{Name: "stale_syncs_total", Help: "Of both.", Type: abi.MetricStale},
	}, nil, "replicaset-controller", "replicationcontroller-controller")
	if err != nil {
		t.Fatal(err)
	}
	for name, resource := range map[string]string{
		"replicaset-controller": "replicasets", "replicationcontroller-controller": "replicationcontrollers",
	} {
		behind := abi.Resource{Version: "v1", Name: resource}
		m.Of(name, own).Synced(controller.Sync{Result: "stale", Behind: behind})
	}

	want := `
# HELP replicaset_controller_stale_sync_skips_total Stale ones.
# TYPE replicaset_controller_stale_sync_skips_total counter
replicaset_controller_stale_sync_skips_total{group="",resource="replicasets"} 1
# HELP stale_syncs_total Of both.
# TYPE stale_syncs_total counter
stale_syncs_total{group="",resource="replicasets"} 1
stale_syncs_total{group="",resource="replicationcontrollers"} 1
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "stale_syncs_total",
		"replicaset_controller_stale_sync_skips_total"); err != nil {
		t.Error(err)
	}
}

// The last 15 digits of a version are a number that nothing rounds.
func TestVersionDigits(t *testing.T) {
	for version, want := range map[string]float64{
		"7": 7, "123456789012345": 123456789012345, "9123456789012345": 123456789012345,
		"18446744073709551615": 744073709551615,
	} {
		got, ok := versionDigits(version)
		if !ok || got != want {
			t.Errorf("%s: %v %v, want %v", version, got, ok, want)
		}
	}
	for _, version := range []string{"", "x", "-1"} {
		if v, ok := versionDigits(version); ok {
			t.Errorf("%q is %v", version, v)
		}
	}
}

// The series of an object end with it, those of another one of its name in another namespace don't.
func TestSeriesEndWithTheirObject(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	labels := []abi.Label{
		{Name: "namespace", From: abi.LabelKeyNamespace},
		{Name: "name", From: abi.LabelKeyName},
		{Name: "kind", Values: []string{"a", "b"}},
	}
	missing := abi.Metric{Name: "missing", Help: "Missing.", Type: abi.MetricGauge, Labels: labels}
	own, err := m.Plugin("p", []abi.Metric{missing}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := m.Of("test-controller", own)
	for _, namespace := range []string{"here", "there"} {
		for kind := range int32(2) {
			k := controller.Key{Namespace: namespace, Name: "web"}
			b.Answered(k, []abi.MetricUpdate{{Labels: []int32{0, 0, kind}, Value: 1}}, noLabels)
		}
	}

	b.Gone(controller.Key{Namespace: "here", Name: "web"})
	want := `
# HELP missing Missing.
# TYPE missing gauge
missing{kind="a",name="web",namespace="there"} 1
missing{kind="b",name="web",namespace="there"} 1
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "missing"); err != nil {
		t.Error(err)
	}
}

// A sync counts as what it ended as: of those that ran some failed, and others were put off for the budget.
func TestTally(t *testing.T) {
	m := New(prometheus.NewRegistry())
	b := m.Of("c", nil)
	for i, result := range []string{"ok", "error", "trap", "refused", "performed", "stale", "deferred", "panic"} {
		for range 1 << i {
			b.Synced(controller.Sync{Result: result})
		}
	}
	if s := m.SyncsOf("c"); s.Total != 255-32 || s.Failed != 2+4+8+16+128 || s.Stale != 32 || s.Deferred != 64 {
		t.Errorf("%+v", s)
	}
	if s := m.SyncsOf("another"); s != (state.Syncs{}) {
		t.Errorf("of nobody: %+v", s)
	}
}

// noLabels returns what labels from objects have where there are none.
func noLabels(_, _ int32) ([]string, bool) { return nil, true }
