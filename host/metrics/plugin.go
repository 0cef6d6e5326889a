package metrics

import (
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/controller"
)

// PluginMetric is one metric of a plugin.
type PluginMetric struct {
	declared abi.Metric
	put      func(values []string, v float64) // adds to it, sets it or observes in it; nil: the plugin doesn't
	series   *series                          // which end with objects; nil: no label comes from any
	size     int64                            // of a series, in bytes
	memory   *budget.Memory                   // the plugin's, which the series are held on
	sum      bool
	only     string                          // the controller whose name the metric's begins with; empty: none of them
	stale    func(abi.Resource)              // counts a sync that was put off
	ended    func(code int, seconds float64) // counts one that has ended; nil, as the others: it isn't of that kind

	mu       sync.Mutex
	known    []uint64 // bits of the series that there are of declared values
	summands int64
	full     bool // so it has been told
}

// vector is what all kinds of metrics with labels can do.
type vector interface {
	prometheus.Collector
	DeleteLabelValues(values ...string) bool
}

// Plugin registers the metrics that a plugin's manifest declares, whose series are held on the plugin's memory; no
// guest can make a series that isn't declared. A metric that the plugin has declared otherwise before begins anew.
// controllers are the names of the plugin's.
func (m *Metrics) Plugin(name string, declared []abi.Metric, memory *budget.Memory, controllers ...string) (
	[]*PluginMetric, error) {

	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*PluginMetric
	for _, d := range declared {
		only := controllerOf(d.Name, controllers)
		if was, ok := m.own[d.Name]; ok && was.plugin == name {
			if reflect.DeepEqual(was.Metric, d) && was.metric.memory == memory && was.metric.only == only {
				out = append(out, was.metric)
				continue
			}
			m.registry.Unregister(was.c)
			delete(m.own, d.Name)
			was.metric.giveBack()
		}
		p, c := newMetric(name, d, memory)
		p.only = only
		if err := m.registry.Register(c); err != nil {
			return nil, err
		}
		p.showEmpty(c)
		m.own[d.Name] = declaredMetric{d, name, p, c}
		out = append(out, p)
	}
	return out, nil
}

// controllerOf returns the controller whose name a metric's begins with, such as replicaset-controller for
// replicaset_controller_syncs_total; empty for none.
func controllerOf(metric string, controllers []string) string {
	for _, c := range controllers {
		if strings.HasPrefix(metric, strings.ReplaceAll(c, "-", "_")+"_") {
			return c
		}
	}
	return ""
}

func newMetric(plugin string, d abi.Metric, memory *budget.Memory) (*PluginMetric, prometheus.Collector) {
	names := make([]string, len(d.Labels))
	for i, l := range d.Labels {
		names[i] = l.Name
	}

	p := &PluginMetric{declared: d, sum: d.Type == abi.MetricSum, memory: memory,
		size: 500 + 24*int64(len(d.Buckets))}
	var c vector
	switch d.Type {
	case abi.MetricCounter:
		x := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, names)
		c, p.put = x, func(l []string, v float64) {
			if v >= 0 {
				x.WithLabelValues(l...).Add(v)
			}
		}
	case abi.MetricGauge:
		x := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, names)
		c, p.put = x, func(l []string, v float64) { x.WithLabelValues(l...).Set(v) }
	case abi.MetricStale:
		x := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, []string{"group", "resource"})
		p.stale = func(r abi.Resource) { x.WithLabelValues(r.Group, r.Name).Inc() }
		return p, x
	case abi.MetricCodes:
		x := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, []string{"code"})
		p.ended = func(code int, _ float64) { x.WithLabelValues(strconv.Itoa(code)).Inc() }
		return p, x
	case abi.MetricCodeSeconds:
		x := prometheus.NewHistogramVec(histogramOpts(d.Name, d.Help, d.Buckets), []string{"code"})
		p.ended = func(code int, seconds float64) { x.WithLabelValues(strconv.Itoa(code)).Observe(seconds) }
		return p, x
	case abi.MetricSum:
		x := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, names)
		c, p.put = x, func(l []string, v float64) { x.WithLabelValues(l...).Add(v) }
	default:
		x := prometheus.NewHistogramVec(histogramOpts(d.Name, d.Help, d.Buckets), names)
		c, p.put = x, func(l []string, v float64) { x.WithLabelValues(l...).Observe(v) }
	}

	p.series = newSeries(plugin, p, c)
	return p, c
}

// showEmpty has the series of a metric without labels be there before anything is observed, as a metric should that
// isn't a vector, and as upstream's are.
func (p *PluginMetric) showEmpty(c prometheus.Collector) {
	if p.put == nil || len(p.declared.Labels) > 0 || !p.holdDeclared(nil) {
		return
	}
	switch x := c.(type) {
	case *prometheus.CounterVec:
		x.WithLabelValues()
	case *prometheus.GaugeVec:
		x.WithLabelValues()
	case *prometheus.HistogramVec:
		x.WithLabelValues()
	}
}

// addUpdate adds to the metric what a key says, and returns the values of the series' labels. objects are the values
// that are in objects. Not ok: the labels aren't among those declared.
func (p *PluginMetric) addUpdate(o owner, u *abi.MetricUpdate, objects []string, value float64) (values []string,
	ok bool) {
	if values, ok = p.labelValues(o.key, u, objects); !ok {
		return nil, false
	}
	if p.series == nil {
		if !p.holdDeclared(u.Labels) {
			return nil, false
		}
		p.put(values, value)
		return values, true
	}
	values = p.series.addValue(o, values, objects, func(values []string) { p.put(values, value) })
	return values, values != nil
}

// byObjects reports whether labels of the metric come from objects.
func (p *PluginMetric) byObjects() bool { return p.series != nil && p.series.objects != nil }

// holdDeclared has the plugin's memory hold the series of these declared values, if it doesn't yet, and reports whether
// there is room.
func (p *PluginMetric) holdDeclared(labels []int32) bool {
	number := 0
	for i, l := range p.declared.Labels {
		if n := len(l.Values); n > 0 { // a label without is a namespace's name, of which there are as many as in the cluster
			number = number*n + int(labels[i])
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if number/64 < len(p.known) && p.known[number/64]&(1<<(number%64)) != 0 {
		return true
	}
	if !p.holdSeries() {
		return false
	}
	for number/64 >= len(p.known) {
		p.known = append(p.known, 0)
	}
	p.known[number/64] |= 1 << (number % 64)
	return true
}

// holdSeries has the plugin's memory hold a series more, and reports whether there is room, which it tells once where
// there is none.
func (p *PluginMetric) holdSeries() bool {
	err := p.memory.Take(budget.Series, p.size)
	if err != nil && !p.full {
		p.full = true
		klog.ErrorS(err, "There is no memory for further series of a metric: they aren't counted", "metric", p.declared.Name)
	}
	return err == nil
}

// summandSize is what it takes to remember what a key has added to a sum, in bytes.
const summandSize = 150

// holdSummand has the plugin's memory hold what a key adds to the sum.
func (p *PluginMetric) holdSummand() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.memory.Take(budget.Series, summandSize)
	if err == nil {
		p.summands++
	}
	return err
}

func (p *PluginMetric) dropSummand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.summands--
	p.memory.Add(budget.Series, -summandSize)
}

// giveBack gives back what the metric's series hold, because it ends. Its lock and that of its series, where it has
// some, guard the plugin's memory.
func (p *PluginMetric) giveBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, b := range p.known {
		n += bits.OnesCount64(b)
	}
	p.known = nil
	if p.series != nil {
		p.series.mu.Lock()
		defer p.series.mu.Unlock()
		n += len(p.series.all)
	}
	p.memory.Add(budget.Series, -int64(n)*p.size-p.summands*summandSize)
	p.memory = nil // whoever still adds to it adds to nothing
}

// labelValues returns the values of an update's labels.
func (p *PluginMetric) labelValues(k controller.Key, u *abi.MetricUpdate, objects []string) ([]string, bool) {
	if len(u.Labels) != len(p.declared.Labels) {
		return nil, false
	}
	values := make([]string, len(u.Labels))
	for i, l := range p.declared.Labels {
		switch v := u.Labels[i]; {
		case l.From == abi.LabelKeyNamespace:
			values[i] = labelText(k.Namespace)
		case l.From == abi.LabelKeyName:
			values[i] = labelText(k.Name)
		case l.From == abi.LabelNamespace:
			values[i] = labelText(u.Namespace) // the controller has seen to it that there is such an object
		case l.View != "":
			if len(objects) == 0 {
				return nil, false
			}
			values[i], objects = labelText(objects[0]), objects[1:]
		case v < 0 || int(v) >= len(l.Values):
			return nil, false
		default:
			values[i] = l.Values[v]
		}
	}
	return values, true
}

// labelMax is how many bytes of a value in the cluster a label may have: as many as the longest name.
const labelMax = 253

// labelText makes a label's value of a text in the cluster, which may be long, and which needn't be the UTF-8 that
// Prometheus demands. The text isn't kept.
func labelText(s string) string {
	s = strings.ToValidUTF8(strings.Clone(s), "\uFFFD")
	if len(s) <= labelMax {
		return s
	}
	end := labelMax
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.Clone(s[:end])
}
