package native

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Measures are what series stand at: of a histogram how many observations there are and what they add up to.
type Measures map[string]float64

const (
	gauge = " is"
	count = " count"
	sum   = " sum"
)

// Series names a metric's series by its labels, each as name=value.
func Series(metric string, labels []string) string {
	slices.Sort(labels)
	return strings.Join(append([]string{metric}, labels...), " ")
}

// Counted adds to a counter.
func (m Measures) Counted(series string, n float64) { m[series] += n }

// Observed adds to a histogram.
func (m Measures) Observed(series string, times, total float64) {
	m[series+count] += times
	m[series+sum] += total
}

// Stands adds to a gauge.
func (m Measures) Stands(series string, n float64) { m[series+gauge] += n }

// Since returns as lines what has been added to counters and histograms, and what gauges are.
func (m Measures) Since(before Measures) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v := m[name]
		if !strings.HasSuffix(name, gauge) {
			v -= before[name]
		}
		if v != 0 {
			lines = append(lines, fmt.Sprintf("metric %s %v", name, v))
		}
	}
	return lines
}

// Measure has metrics be compared, by their names.
func (n *Native) Measure(names []string) {
	if len(names) == 0 {
		return
	}
	key := strings.Join(names, " ")
	g, ok := gatherers.Load(key)
	if !ok {
		g, _ = gatherers.LoadOrStore(key, newGatherer(names))
	}
	n.gatherer = g.(*gatherer)
	n.begun = n.gather()
}

// gatherers are those that there are already, by what they are of.
var gatherers sync.Map

// gatherer reads some of the process's metrics: to gather all, with the checks of a registry, would take a quarter of a
// world's time.
type gatherer struct {
	collectors []prometheus.Collector
	names      sync.Map // by *prometheus.Desc
}

func newGatherer(names []string) *gatherer {
	g := &gatherer{}
	process := reflect.ValueOf(legacyregistry.DefaultGatherer).Elem().FieldByName("PromRegistry").Elem().Elem()
	for _, c := range Exposed(process.FieldByName("collectorsByID")).(map[uint64]prometheus.Collector) {
		described := make(chan *prometheus.Desc, 1000)
		c.Describe(described)
		close(described)
		for d := range described {
			if slices.Contains(names, nameOf(d)) {
				g.collectors = append(g.collectors, c)
				break
			}
		}
	}
	return g
}

// nameOf returns the name of a metric, which only its description's text has.
func nameOf(d *prometheus.Desc) string {
	_, rest, _ := strings.Cut(d.String(), `fqName: "`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// name returns the name of a metric that the gatherer reads.
func (g *gatherer) name(d *prometheus.Desc) string {
	if name, ok := g.names.Load(d); ok {
		return name.(string)
	}
	name, _ := g.names.LoadOrStore(d, nameOf(d))
	return name.(string)
}

// each calls f with each series of the metrics.
func (g *gatherer) each(f func(name string, x *dto.Metric)) {
	series := make(chan prometheus.Metric, 100)
	go func() {
		defer close(series)
		for _, c := range g.collectors {
			c.Collect(series)
		}
	}()
	for m := range series {
		var x dto.Metric
		if err := m.Write(&x); err != nil {
			panic(err) // a label that isn't UTF-8: a mistake of the program's
		}
		f(g.name(m.Desc()), &x)
	}
}

// Measured returns what upstream's metrics stand at that are compared.
func (n *Native) Measured() Measures {
	m := n.gather()
	for series, v := range n.begun {
		m[series] -= v
	}
	return m
}

func (n *Native) gather() Measures {
	m := Measures{}
	if n.gatherer == nil {
		return m
	}
	n.gatherer.each(func(name string, x *dto.Metric) {
		var labels []string
		for _, l := range x.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		series := Series(name, labels)
		switch {
		case x.GetHistogram() != nil:
			m.Observed(series, float64(x.GetHistogram().GetSampleCount()), x.GetHistogram().GetSampleSum())
		case x.GetCounter() != nil:
			m.Counted(series, x.GetCounter().GetValue())
		case x.GetGauge() != nil:
			m.Stands(series, x.GetGauge().GetValue())
		}
	})
	return m
}
