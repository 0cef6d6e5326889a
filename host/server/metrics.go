package server

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // rest_client_*
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
	"k8s.io/klog/v2"
)

// metrics are those of serving itself.
type metrics struct {
	requests, reloads *prometheus.CounterVec
	expiry            prometheus.Gauge
}

func newMetrics(r *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "windlass_http_requests_total",
				Help: "Requests to the manager for health, metrics or its state, by the answer's status code."},
			[]string{"code"}),
		reloads: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "windlass_serving_reloads_total",
				Help: "Times that certificates or CAs have changed, by result: ok, failed (the old ones were kept)."},
			[]string{"result"}),
		expiry: prometheus.NewGauge(
			prometheus.GaugeOpts{Name: "windlass_serving_certificate_expiration_timestamp_seconds",
				Help: "When the manager's serving certificate expires, in seconds since 1970."}),
	}
	if r != nil {
		r.MustRegister(m.requests, m.reloads, m.expiry)
	}
	return m
}

// countAnswers counts the answers.
func (m *metrics) countAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &coded{ResponseWriter: w, code: http.StatusOK}
		defer func() { m.requests.WithLabelValues(strconv.Itoa(c.code)).Inc() }()
		next.ServeHTTP(c, r)
	})
}

// coded remembers an answer's code.
type coded struct {
	http.ResponseWriter
	code int
}

// WriteHeader notes the code.
func (c *coded) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (c *coded) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush is for streams.
func (c *coded) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// gathered serves all metrics.
func gathered(r *prometheus.Registry) http.Handler {
	all := prometheus.Gatherers{legacyregistry.DefaultGatherer}
	if r != nil {
		all = append(all, r)
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{
		ErrorLog:      metricsLog{},
		ErrorHandling: promhttp.ContinueOnError, // one bad metric must not hide the others
	})
}

type metricsLog struct{}

func (metricsLog) Println(v ...any) {
	klog.ErrorS(nil, "Can't gather all metrics", "err", fmt.Sprint(v...))
}
