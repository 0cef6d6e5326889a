package windlass

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Served is what a manager serves.
type Served struct {
	Address string
	Client  *http.Client // an administrator's, whom the manager knows without asking the API server
}

func newServed(t testing.TB, c *cluster.Cluster, address string) Served {
	t.Helper()
	client, err := c.HTTP()
	if err != nil {
		t.Fatal(err)
	}
	return Served{address, client}
}

// URL is that of a path.
func (s *Served) URL(path string) string { return "https://" + s.Address + path }

// Get returns what is served at a path, and fails the test if that isn't with 200.
func (s *Served) Get(t testing.TB, path string) []byte {
	t.Helper()
	code, b := s.Do(t, http.MethodGet, path)
	if code != http.StatusOK {
		t.Fatalf("%s: %d\n%.1000s", path, code, b)
	}
	return b
}

// Do asks, and returns the code and what is answered.
func (s *Served) Do(t testing.TB, method, path string) (code int, body []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, s.URL(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, b
}

// Protobuf is what a scraper accepts that takes native histograms.
const Protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

// Metrics returns the metrics that are served at a path, by name.
func (s *Served) Metrics(t testing.TB, path string) map[string]*dto.MetricFamily {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept", Protobuf)
	r, err := s.Client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	families, err := Families(r)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// Families reads the answer to a scrape.
func Families(r *http.Response) (map[string]*dto.MetricFamily, error) {
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.Request.URL.Path, r.Status)
	}
	all := map[string]*dto.MetricFamily{}
	for d := expfmt.NewDecoder(r.Body, expfmt.ResponseFormat(r.Header)); ; {
		f := &dto.MetricFamily{}
		switch err := d.Decode(f); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", r.Request.URL.Path, err)
		}
		all[f.GetName()] = f
	}
}

// Count sums a metric's series that have all the labels, given as name, value, name, value.
func (s *Served) Count(t testing.TB, metric string, labels ...string) float64 {
	t.Helper()
	sum, ok := s.counted(t, metric, labels)
	if !ok {
		t.Fatalf("there is no metric %s", metric)
	}
	return sum
}

// Counted is [Served.Count] of a metric that need not be there yet.
func (s *Served) Counted(t testing.TB, metric string, labels ...string) float64 {
	t.Helper()
	sum, _ := s.counted(t, metric, labels)
	return sum
}

// AwaitCount waits until a metric that only grows is as wanted: what a sync counts is served when the sync is over,
// moments after its last write is seen in the cluster.
func (s *Served) AwaitCount(t testing.TB, want float64, metric string, labels ...string) {
	t.Helper()
	cluster.Eventually(t, time.Minute, fmt.Sprintf("%s%v is %v", metric, labels, want), func() (bool, string) {
		n := s.Counted(t, metric, labels...)
		return n == want, fmt.Sprint(n)
	})
}

func (s *Served) counted(t testing.TB, metric string, labels []string) (sum float64, ok bool) {
	t.Helper()
	f, ok := s.Metrics(t, "/metrics")[metric]
	if !ok {
		return 0, false
	}
	for _, x := range f.Metric {
		if !hasLabels(x.Label, labels) {
			continue
		}
		switch {
		case x.Counter != nil:
			sum += x.Counter.GetValue()
		case x.Gauge != nil:
			sum += x.Gauge.GetValue()
		case x.Histogram != nil:
			sum += float64(x.Histogram.GetSampleCount())
		}
	}
	return sum, true
}
