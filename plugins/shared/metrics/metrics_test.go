package metrics

import (
	"net/url"
	"testing"
	"time"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Whatever is escaped comes back as it was, from a path as from a query, and is one segment.
func FuzzEscape_comes_back(f *testing.F) {
	for _, s := range []string{"", "app=web,tier in (a,b)", "a/b", "..", "100%", "a+b c&d?e#f", "ü\x00\xff",
		"pubsub.googleapis.com|subscription"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse("/apis/x/" + escapeQuery(s) + "/y" + encodeQuery("a", s, "b", "", "c", s))
		if err != nil {
			t.Fatal(err)
		}
		if u.Path != "/apis/x/"+s+"/y" {
			t.Errorf("%q: path %q", s, u.Path)
		}
		if q := u.Query(); q.Get("a") != s || q.Get("c") != s || q.Has("b") {
			t.Errorf("%q: query %q", s, u.RawQuery)
		}
	})
}

func TestDecode(t *testing.T) {
	var p podMetricsList
	err := wire.UnmarshalJSON([]byte(
		`{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[{"metadata":{"name":"a","namespace":"d","labels":{"x":"y"}},
		"timestamp":"2026-01-01T00:00:00Z","window":"1m30.5s","containers":[{"name":"c","usage":{"cpu":"250m","memory":"64Mi"}}]}]}`), unsafe.Pointer(&p), &podMetricsListTable)
	if err != nil {
		t.Fatal(err)
	}

	m := p.Items[0]
	cpu, memory := m.Containers[0].Usage.Get("cpu"), m.Containers[0].Usage.Get("memory")
	if m.Metadata.Name != "a" || m.Duration() != 90500*time.Millisecond ||
		m.Timestamp.String() != "2026-01-01T00:00:00Z" || m.Containers[0].Name != "c" || cpu.MilliValue() != 250 ||
		memory.Value() != 64<<20 {
		t.Errorf("%+v", m)
	}

	var v metricValueList
	err = wire.UnmarshalJSON([]byte(
		`{"items":[{"describedObject":{"kind":"Pod","name":"a"},"metric":{"name":"m","selector":null},"timestamp":"2026-01-01T00:00:00Z","windowSeconds":30,"value":"1500m"},
		{"describedObject":{"name":"b"},"metricName":"m","window":40,"value":"2"},{"metricName":"m","metricLabels":{"q":"a"},"value":3}]}`), unsafe.Pointer(&v), &metricValueListTable)
	if err != nil {
		t.Fatal(err)
	}

	a, b, c := v.Items[0], v.Items[1], v.Items[2]
	if a.DescribedObject.Name != "a" || a.Duration() != 30*time.Second || a.Value.MilliValue() != 1500 ||
		b.Duration() != 40*time.Second || c.Duration() != time.Minute || c.Value.Value() != 3 {
		t.Errorf("%+v", v.Items)
	}
}
