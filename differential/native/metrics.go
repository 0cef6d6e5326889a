package native

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
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
	r, ok := registries.Load(key)
	if !ok {
		r, _ = registries.LoadOrStore(key, registry(names))
	}
	n.registry = r.(*prometheus.Registry)
	n.begun = n.gather()
}

// registries are those that there are already, by what they are of.
var registries sync.Map

// registry is one of some of the process's metrics: to gather all would take a quarter of a world's time.
func registry(names []string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	process := reflect.ValueOf(legacyregistry.DefaultGatherer).Elem().FieldByName("PromRegistry").Elem().Elem()
	for _, c := range Exposed(process.FieldByName("collectorsByID")).(map[uint64]prometheus.Collector) {
		described := make(chan *prometheus.Desc, 1000)
		c.Describe(described)
		close(described)
		for d := range described {
			text := d.String()
			if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, fmt.Sprintf("fqName: %q", n)) }) {
				r.MustRegister(c)
				break
			}
		}
	}
	return r
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
	if n.registry == nil {
		return m
	}
	all, err := n.registry.Gather()
	if err != nil {
		panic(err) // two metrics of one name: a mistake of the program's
	}
	for _, f := range all {
		for _, x := range f.GetMetric() {
			var labels []string
			for _, l := range x.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			series := Series(f.GetName(), labels)
			switch {
			case x.GetHistogram() != nil:
				m.Observed(series, float64(x.GetHistogram().GetSampleCount()), x.GetHistogram().GetSampleSum())
			case x.GetCounter() != nil:
				m.Counted(series, x.GetCounter().GetValue())
			case x.GetGauge() != nil:
				m.Stands(series, x.GetGauge().GetValue())
			}
		}
	}
	return m
}
