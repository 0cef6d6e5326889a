package metrics

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/controller"
)

// zone is a label whose values are in objects.
var zone = abi.Label{Name: "zone", View: "nodes", Paths: []string{"metadata.labels[zone]"}}

// measured returns what a controller counts in one metric of its plugin, and the series that /metrics shows of it.
func measured(t *testing.T, d abi.Metric) (*Controller, func() map[string]float64) {
	t.Helper()
	r := prometheus.NewRegistry()
	m := New(r)
	own, err := m.Plugin("p", []abi.Metric{d}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.Of("test-controller", own), func() map[string]float64 { return seriesOf(t, r, d.Name) }
}

// seriesOf returns a metric's series, by their labels' values.
func seriesOf(t *testing.T, r *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range all {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetValue())
			}
			values[strings.Join(labels, ",")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// labelsFrom returns what the labels of a metric are where these values are in the objects.
func labelsFrom(values ...string) func(_, _ int32) ([]string, bool) {
	return func(_, _ int32) ([]string, bool) { return values, true }
}

func oneUpdate(value float64) []abi.MetricUpdate {
	return []abi.MetricUpdate{{Labels: []int32{0}, Value: value}}
}

func expectSeries(t *testing.T, when string, got, want map[string]float64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: series are %v, want %v", when, got, want)
	}
}

// A gauge's series ends with the last object that has its value, by its end or by another value. So does a sum's, whose
// share goes along.
func TestGaugesEndWithTheirObjects(t *testing.T) {
	a, b := controller.Key{Name: "a"}, controller.Key{Name: "b"}
	for _, kind := range []string{abi.MetricGauge, abi.MetricSum} {
		c, series := measured(t, abi.Metric{Name: "nodes", Type: kind, Labels: []abi.Label{zone}})
		c.Answered(a, oneUpdate(1), labelsFrom("x"))
		c.Answered(b, oneUpdate(1), labelsFrom("x"))
		c.Answered(a, nil, labelsFrom("x"))
		both := map[string]float64{"x": 1}
		if kind == abi.MetricSum {
			both["x"] = 2
		}
		expectSeries(t, kind+" of both", series(), both)

		c.Answered(a, oneUpdate(1), labelsFrom("y"))
		expectSeries(t, kind+", a has moved", series(), map[string]float64{"x": 1, "y": 1})
		c.Answered(b, nil, labelsFrom("z"))
		expectSeries(t, kind+", b has moved and says nothing", series(), map[string]float64{"y": 1})
		c.Gone(a)
		expectSeries(t, kind+", a is gone", series(), map[string]float64{})

		c.Answered(a, oneUpdate(1), labelsFrom("x"))
		c.Anew()
		expectSeries(t, kind+", another process goes on", series(), map[string]float64{})
		if n := len(c.summands) + len(c.own[0].series.owned) + len(c.own[0].series.all); n != 0 {
			t.Errorf("%s: %d things are kept of nothing", kind, n)
		}
	}
}

// A series by its key's name belongs to that controller's key: the end of another controller's key of that name is no
// reason to end it.
func TestSeriesBelongToTheirController(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	own, err := m.Plugin("p", []abi.Metric{
		{Name: "missing", Type: abi.MetricGauge, Labels: []abi.Label{{Name: "name", From: abi.LabelKeyName}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sets, pods := m.Of("sets", own), m.Of("pods", own)
	sets.Answered(controller.Key{Name: "web"}, oneUpdate(3), noLabels)
	pods.Gone(controller.Key{Name: "web"})
	pods.Anew()
	expectSeries(t, "the pod is gone", seriesOf(t, r, "missing"), map[string]float64{"web": 3})
	sets.Gone(controller.Key{Name: "web"})
	expectSeries(t, "the set is gone", seriesOf(t, r, "missing"), map[string]float64{})
}

// A counter's series goes on counting where objects of its value come and go, as upstream's does.
func TestCountersOutliveTheirObjects(t *testing.T) {
	c, series := measured(t, abi.Metric{Name: "jobs_total", Type: abi.MetricCounter, Labels: []abi.Label{zone}})
	for i := range 3 {
		k := controller.Key{Name: fmt.Sprint(i)}
		c.Answered(k, oneUpdate(1), labelsFrom("x"))
		c.Gone(k)
	}
	expectSeries(t, "one after another", series(), map[string]float64{"x": 3})
	if s := c.own[0].series; s.idle.Len() != 1 || len(s.owned) != 0 {
		t.Errorf("%d series are nobody's, %d keys are kept", s.idle.Len(), len(s.owned))
	}
	c.Answered(controller.Key{Name: "a"}, oneUpdate(1), labelsFrom("x"))
	if s := c.own[0].series; s.idle.Len() != 0 {
		t.Error("a series is nobody's and somebody's")
	}
	c.Anew()
	expectSeries(t, "after another process's term", series(), map[string]float64{"x": 4})
}

// Nobody fills the memory by writing values into objects: over the bound the objects count as one. Series of no object
// make place first, the oldest of them.
func TestSeriesAreBounded(t *testing.T) {
	for kind, objects := range map[string]int{
		abi.MetricCounter: 100_000, abi.MetricGauge: seriesMost + 10, abi.MetricSum: seriesMost + 10,
	} {
		c, series := measured(t, abi.Metric{Name: "m", Type: kind, Labels: []abi.Label{zone}})
		for i := range objects {
			c.Answered(controller.Key{Name: fmt.Sprint(i)}, oneUpdate(1), labelsFrom(fmt.Sprint("v", i)))
		}
		got := series()
		if len(got) != seriesMost+1 || got["v0"] != 1 || got[fmt.Sprint("v", seriesMost-1)] != 1 {
			t.Errorf("%s: %d series of %d objects, want %d", kind, len(got), objects, seriesMost+1)
		}
		over := float64(objects - seriesMost)
		if kind == abi.MetricGauge {
			over = 1
		}
		if got[abi.Unexpected] != over {
			t.Errorf("%s: what is over the bound is %v, want %v", kind, got[abi.Unexpected], over)
		}
		if !c.own[0].series.full {
			t.Errorf("%s: nobody is told", kind)
		}

		c.Gone(controller.Key{Name: "0"})
		c.Gone(controller.Key{Name: "1"})
		c.Answered(controller.Key{Name: "next"}, oneUpdate(1), labelsFrom("next"))
		if got = series(); len(got) > seriesMost+1 || got["next"] != 1 || got["v0"] != 0 {
			t.Errorf("%s: %d series, of an object that came when there was a place %v, want at most %d, 1",
				kind, len(got), got["next"], seriesMost+1)
		}
		for i := range objects {
			c.Gone(controller.Key{Name: fmt.Sprint(i)})
		}
		if got = series(); kind != abi.MetricCounter && len(got) != 1 {
			t.Errorf("%s: of one object there are %d series", kind, len(got))
		}
	}
}

// One object whose value changes on and on, too, has a bounded number of series.
func TestOneObjectOfManyValues(t *testing.T) {
	c, series := measured(t, abi.Metric{Name: "m_total", Type: abi.MetricCounter, Labels: []abi.Label{zone}})
	for i := range 2 * seriesMost {
		c.Answered(controller.Key{Name: "a"}, oneUpdate(1), labelsFrom(fmt.Sprint("v", i)))
	}
	got, last := series(), fmt.Sprint("v", 2*seriesMost-1)
	if len(got) != seriesMost || got[last] != 1 || got["v0"] != 0 {
		t.Errorf("%d series, of the first value %v, of the last %v; want %d, 0, 1",
			len(got), got["v0"], got[last], seriesMost)
	}
}

// What is written into an object comes to /metrics as one short text in UTF-8.
func TestHostileLabels(t *testing.T) {
	euro := strings.Repeat("€", 100) // 3 bytes each
	for text, label := range map[string]string{
		"":                             "",
		"a\nb\"c\\d\x00":               "a\nb\"c\\d\x00",
		"a\xff\xfeb":                   "a\uFFFDb",
		strings.Repeat("x", 253):       strings.Repeat("x", 253),
		strings.Repeat("x", 254):       strings.Repeat("x", 253),
		euro:                           euro[:252],
		strings.Repeat("x", 252) + "€": strings.Repeat("x", 252),
		strings.Repeat("\xff", 1<<20):  "\uFFFD",
	} {
		c, series := measured(t, abi.Metric{Name: "m", Type: abi.MetricGauge, Labels: []abi.Label{zone}})
		c.Answered(controller.Key{Name: "a"}, oneUpdate(1), labelsFrom(text))
		expectSeries(t, fmt.Sprintf("%.20q", text), series(), map[string]float64{label: 1})
		if !utf8.ValidString(label) || len(label) > labelMax {
			t.Errorf("%q is no label", label)
		}
	}
}

// A metric whose labels a controller hasn't is none of its business, whatever its guest answers; nor does an answer
// with too few or too many labels count.
func TestSeriesOfOthersLabels(t *testing.T) {
	c, series := measured(t, abi.Metric{Name: "m_total", Type: abi.MetricCounter, Labels: []abi.Label{zone}})
	k := controller.Key{Name: "a"}
	c.Answered(k, oneUpdate(1), func(_, _ int32) ([]string, bool) { return nil, false })
	c.Answered(k, oneUpdate(1), noLabels)
	c.Answered(k, []abi.MetricUpdate{{Value: 1}, {Labels: []int32{0, 0}, Value: 1}}, labelsFrom("x"))
	expectSeries(t, "none of them", series(), map[string]float64{})
	c.Answered(k, []abi.MetricUpdate{{Labels: []int32{1 << 30}, Value: 1}}, labelsFrom("x"))
	expectSeries(t, "any place stands for what the host fills in", series(), map[string]float64{"x": 1})
}

// What is shown is what Prometheus reads: a label with a line break and quotes is one label.
func TestHostileLabelsAreEscaped(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
	own, err := m.Plugin("p", []abi.Metric{{Name: "m", Help: "M.", Type: abi.MetricGauge, Labels: []abi.Label{zone}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Of("c", own).Answered(controller.Key{Name: "a"}, oneUpdate(1), labelsFrom("x\"} 7\nforged 1"))
	shown := "# HELP m M.\n# TYPE m gauge\nm{zone=\"x\\\"} 7\\nforged 1\"} 1\n"
	if err := testutil.GatherAndCompare(r, strings.NewReader(shown), "m"); err != nil {
		t.Error(err)
	}
}

// Series and what keys add to sums are held on the plugin's memory, beyond which there are none, and given back.
func TestSeriesAreHeld(t *testing.T) {
	memory := budget.NewMemory("p", 1<<20, budget.NewTotal(1<<40), nil)
	r := prometheus.NewRegistry()
	m := New(r)
	kinds := []abi.Label{{Name: "kind", Values: []string{"a", "b", "c"}}, {Name: "size", Values: []string{"s", "l"}}}
	declared := []abi.Metric{
		{Name: "times", Type: abi.MetricHistogram, Labels: kinds, Buckets: []float64{1, 2, 3}},
		{Name: "missing", Type: abi.MetricGauge, Labels: []abi.Label{{Name: "name", From: abi.LabelKeyName}}},
		{Name: "slices", Type: abi.MetricSum},
	}
	own, err := m.Plugin("p", declared, memory)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Of("sets", own)
	held := func(what string, want int64) {
		t.Helper()
		if n := memory.Held(budget.Series); n != want {
			t.Errorf("%s: %d bytes are held, want %d", what, n, want)
		}
	}
	answer := func(key string, updates ...abi.MetricUpdate) {
		c.Answered(controller.Key{Name: key}, updates, noLabels)
	}

	const plain, bucketed = 500, 500 + 3*24
	for range 2 {
		answer("x", abi.MetricUpdate{Metric: 0, Labels: []int32{2, 1}, Value: 1},
			abi.MetricUpdate{Metric: 0, Labels: []int32{1, 1}, Value: 1})
		held("two series of declared values, and the sum that is there from the start", 2*bucketed+plain)
	}
	answer("x", abi.MetricUpdate{Metric: 1, Labels: []int32{0}, Value: 1})
	held("one by the key", 2*bucketed+2*plain)
	answer("y", abi.MetricUpdate{Metric: 2, Value: 3}, abi.MetricUpdate{Metric: 2, Value: 4})
	held("a sum of two", 2*bucketed+2*plain+2*summandSize)
	answer("y", abi.MetricUpdate{Metric: 2, Value: 3})
	held("a sum of one", 2*bucketed+2*plain+summandSize)
	answer("y", abi.MetricUpdate{Metric: 2})
	c.Gone(controller.Key{Name: "x"})
	held("without what the keys have said", 2*bucketed+plain)

	memory.Set(memory.Sum() + plain)
	answer("x", abi.MetricUpdate{Metric: 1, Labels: []int32{0}, Value: 1})
	answer("y", abi.MetricUpdate{Metric: 1, Labels: []int32{0}, Value: 2}, abi.MetricUpdate{Metric: 2, Value: 3},
		abi.MetricUpdate{Metric: 0, Labels: []int32{0, 0}, Value: 1})
	expectSeries(t, "there is room for one", seriesOf(t, r, "missing"), map[string]float64{"x": 1})
	held("with room for one", 2*bucketed+2*plain)

	declared[0].Buckets = nil
	if _, err := m.Plugin("p", declared, memory); err != nil {
		t.Fatal(err)
	}
	held("declared otherwise", 2*plain)
}

// A key that isn't an object speaks of objects by their rows. What it says of a gauge is all there is: a series that it
// has no object for any more ends; of what it doesn't speak nothing does. A counter's series stay.
func TestSeriesOfRows(t *testing.T) {
	zones := []string{"x", "y"}
	rows := func(_, row int32) ([]string, bool) {
		if row < 0 || int(row) >= len(zones) {
			return nil, false
		}
		return zones[row : row+1], true
	}
	update := func(values ...float64) (all []abi.MetricUpdate) {
		for i, v := range values {
			all = append(all, abi.MetricUpdate{Labels: []int32{0}, Value: v, Row: int32(i)})
		}
		return all
	}

	for kind, want := range map[string][4]map[string]float64{
		abi.MetricGauge:   {{"x": 1, "y": 2}, {"x": 1, "y": 2}, {"x": 5}, {"x": 5}},
		abi.MetricSum:     {{"x": 1, "y": 2}, {"x": 1, "y": 2}, {"x": 5}, {"x": 0}},
		abi.MetricCounter: {{"x": 1, "y": 2}, {"x": 1, "y": 2}, {"x": 6, "y": 2}, {"x": 6, "y": 2}},
	} {
		t.Run(kind, func(t *testing.T) {
			c, series := measured(t, abi.Metric{Name: "m", Type: kind, Labels: []abi.Label{zone}})
			for i, x := range []struct {
				when    string
				updates []abi.MetricUpdate
			}{
				{"two rows", update(1, 2)}, {"nothing said", nil}, {"one row", update(5)},
				{"a row that there isn't", []abi.MetricUpdate{{Labels: []int32{0}, Value: 7, Row: 9}}},
			} {
				c.Answered(controller.Key{}, x.updates, rows)
				expectSeries(t, x.when, series(), want[i])
			}
		})
	}
}
