package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Family is one metric that the manager keeps: as windlass_*, or under upstream's name where upstream has it.
type Family struct {
	Name    string
	Help    string
	Type    string // as Prometheus has it: counter, gauge, histogram
	Labels  []string
	Buckets []float64
}

// Families are the manager's metrics, whether or not they have any series yet. What plugins declare is in their
// manifests; the metrics of queues, requests, Go and the process are those of the libraries.
func Families() []Family { return New(prometheus.NewRegistry()).all }

// families makes metrics, and notes which there are.
type families struct {
	registry *prometheus.Registry
	all      []Family
}

func (f *families) counter(name, help string, labels ...string) *prometheus.CounterVec {
	f.all = append(f.all, Family{Name: name, Help: help, Type: "counter", Labels: labels})
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	f.registry.MustRegister(c)
	return c
}

func (f *families) newGauge(name, help string, labels ...string) *prometheus.GaugeVec {
	f.all = append(f.all, Family{Name: name, Help: help, Type: "gauge", Labels: labels})
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	f.registry.MustRegister(g)
	return g
}

func (f *families) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	f.all = append(f.all, Family{Name: name, Help: help, Type: "histogram", Labels: labels, Buckets: buckets})
	h := prometheus.NewHistogramVec(histogramOpts(name, help, buckets), labels)
	f.registry.MustRegister(h)
	return h
}

// histogramOpts are those of a histogram with these upper bounds, and, for who scrapes protobuf, with the native
// buckets that upstream has: each up to a tenth wider than the one before, 160 at most
// (k8s.io/component-base/metrics/internal).
func histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
	}
}

// scraped is a metric whose values are looked up at each scrape, by [collector].
type scraped struct {
	desc *prometheus.Desc
	as   prometheus.ValueType
}

func (f *families) scraped(as prometheus.ValueType, name, help string, labels ...string) scraped {
	kind := "gauge"
	if as == prometheus.CounterValue {
		kind = "counter"
	}
	f.all = append(f.all, Family{Name: name, Help: help, Type: kind, Labels: labels})
	return scraped{prometheus.NewDesc(name, help, labels, nil), as}
}

func (s scraped) give(to chan<- prometheus.Metric, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(s.desc, s.as, value, labels...)
}
