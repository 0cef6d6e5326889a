package manager

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/controller"
)

// pluginMetric is one metric of a plugin.
type pluginMetric struct {
	// add adds to it; false if the labels aren't those declared. Nil: the plugin doesn't.
	add   func(k controller.Key, u abi.MetricUpdate, value float64) bool
	sum   bool
	stale func(abi.Resource)              // counts a sync that was put off
	ended func(code int, seconds float64) // counts one that has ended; nil, as the others: it isn't that kind of a metric
	end   func(k controller.Key)          // ends a key's own series; nil: there are none
	anew  func()                          // ends all keys' own series; nil: there are none
}

// vector is what all kinds of metrics with labels can do.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}

// plugin registers the metrics that a plugin's manifest declares; no guest can make a series that isn't declared. A metric that the plugin has declared otherwise before begins anew.
func (m *metrics) plugin(name string, declared []abi.Metric) ([]*pluginMetric, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*pluginMetric
	for _, d := range declared {
		if was, ok := m.own[d.Name]; ok && was.plugin == name {
			if reflect.DeepEqual(was.Metric, d) {
				out = append(out, was.metric)
				continue
			}
			m.registry.Unregister(was.c)
			delete(m.own, d.Name)
		}
		p, c := newMetric(d)
		if err := m.registry.Register(c); err != nil {
			return nil, err
		}
		m.own[d.Name] = declaredMetric{d, name, p, c}
		out = append(out, p)
	}
	return out, nil
}

func newMetric(d abi.Metric) (*pluginMetric, prometheus.Collector) {
	names := make([]string, len(d.Labels))
	for i, l := range d.Labels {
		names[i] = l.Name
	}
	var add func(values []string, v float64)
	var c vector
	switch d.Type {
	case abi.MetricCounter:
		x := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, names)
		c, add = x, func(l []string, v float64) {
			if v >= 0 {
				x.WithLabelValues(l...).Add(v)
			}
		}
	case abi.MetricGauge:
		x := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, names)
		c, add = x, func(l []string, v float64) { x.WithLabelValues(l...).Set(v) }
	case abi.MetricStale:
		x := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, []string{"group", "resource"})
		return &pluginMetric{stale: func(r abi.Resource) { x.WithLabelValues(r.Group, r.Name).Inc() }}, x
	case abi.MetricCodes:
		x := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, []string{"code"})
		return &pluginMetric{ended: func(code int, _ float64) { x.WithLabelValues(strconv.Itoa(code)).Inc() }}, x
	case abi.MetricCodeSeconds:
		x := prometheus.NewHistogramVec(histogramOpts(d.Name, d.Help, d.Buckets), []string{"code"})
		return &pluginMetric{ended: func(code int, seconds float64) { x.WithLabelValues(strconv.Itoa(code)).Observe(seconds) }}, x
	case abi.MetricSum:
		x := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, names)
		c, add = x, func(l []string, v float64) { x.WithLabelValues(l...).Add(v) }
	default:
		x := prometheus.NewHistogramVec(histogramOpts(d.Name, d.Help, d.Buckets), names)
		c, add = x, func(l []string, v float64) { x.WithLabelValues(l...).Observe(v) }
	}
	p := &pluginMetric{sum: d.Type == abi.MetricSum, add: func(k controller.Key, u abi.MetricUpdate, value float64) bool {
		values, ok := labelsOf(d.Labels, k, u)
		if ok {
			add(values, value)
		}
		return ok
	}}
	if slices.ContainsFunc(d.Labels, fromKey) {
		p.end = func(k controller.Key) {
			own := prometheus.Labels{}
			for _, l := range d.Labels {
				if fromKey(l) {
					own[l.Name] = keyLabel(l, k)
				}
			}
			c.DeletePartialMatch(own)
		}
		p.anew = func() { c.DeletePartialMatch(prometheus.Labels{}) }
	}
	return p, c
}

func fromKey(l abi.Label) bool { return l.From == abi.LabelKeyNamespace || l.From == abi.LabelKeyName }

func keyLabel(l abi.Label, k controller.Key) string {
	if l.From == abi.LabelKeyNamespace {
		return k.Namespace
	}
	return k.Name
}

// labelsOf gives the values of an update's labels; false if they aren't among those declared.
func labelsOf(declared []abi.Label, k controller.Key, u abi.MetricUpdate) ([]string, bool) {
	if len(u.Labels) != len(declared) {
		return nil, false
	}
	values := make([]string, len(declared))
	for i, l := range declared {
		switch v := u.Labels[i]; {
		case fromKey(l):
			values[i] = keyLabel(l, k)
		case l.From == abi.LabelNamespace:
			values[i] = strings.Clone(u.Namespace) // the controller has seen to it that there is such an object
		case v < 0 || int(v) >= len(l.Values):
			return nil, false
		default:
			values[i] = l.Values[v]
		}
	}
	return values, true
}
