package metrics

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// both are the controllers that both managers have, by the names of both.
var both = builtin.Names()

// side is what one of the managers served when all was done.
type side struct{ metrics, slis map[string]*family }

// Whoever has dashboards and alerts for the native manager finds the same metrics in Windlass: names, types, labels with their values, buckets, and, of what is counted by the piece,
// numbers. What differs is on the list, with its reason, and in docs/differences.md.
func TestSameAsNative(t *testing.T) {
	var native, ours side
	t.Run("work", func(t *testing.T) {
		t.Run("native", func(t *testing.T) {
			t.Parallel()
			native = ofNative(t)
		})
		t.Run("windlass", func(t *testing.T) {
			t.Parallel()
			ours = ofWindlass(t)
		})
	})
	if t.Failed() {
		return
	}
	declared, owner := declared(t)
	all := with(ours.metrics, declared)
	found := lacks(native.metrics, all)
	maps.Copy(found, lacks(native.slis, ours.slis))
	t.Run("families", func(t *testing.T) { compare(t, found, all) })
	t.Run("numbers", func(t *testing.T) { numbers(t, native.metrics, ours.metrics) })
	t.Run("queues", func(t *testing.T) { queues(t, ours.metrics) })
	t.Run("docs", func(t *testing.T) { document(t, native.metrics, ours.metrics, declared, owner) })
}

// compare fails what differs and isn't on the list, and what is on the list and doesn't differ.
func compare(t *testing.T, found map[string]string, ours map[string]*family) {
	t.Helper()
	stale := map[string]bool{}
	for _, d := range differences {
		stale[d.what] = true
	}
next:
	for _, what := range slices.Sorted(maps.Keys(found)) {
		for _, d := range differences {
			if ok, err := path.Match(d.what, what); err != nil {
				t.Fatal(err)
			} else if ok {
				delete(stale, d.what)
				continue next
			}
		}
		t.Errorf("%s: %s", what, found[what])
	}
	told, err := os.ReadFile("../../docs/differences.md")
	must(t, err)
	for _, d := range differences {
		if !strings.Contains(string(told), "`"+d.what+"`") {
			t.Errorf("docs/differences.md says nothing of `%s`", d.what)
		}
		if stale[d.what] && (!d.sometimes || has(ours, d.what)) {
			t.Errorf("`%s` is on the list of differences, and there is no such difference", d.what)
		}
	}
}

// has tells whether there is a family, or one with that value, of those that [lacks] would say are missing.
func has(ours map[string]*family, what string) bool {
	name, label, ok := strings.Cut(strings.TrimSuffix(what, "}"), "{")
	f := ours[name]
	if !ok || f == nil {
		return f != nil
	}
	label, value, _ := strings.Cut(label, "=")
	return f.values[label][value]
}

func ofNative(t *testing.T) side {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	address := free4(t)
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	stop := c.Native(t, both, "--secure-port="+port, "--bind-address=127.0.0.1", "--authentication-kubeconfig="+c.ManagerKubeconfig, "--authorization-kubeconfig="+c.ManagerKubeconfig,
		"--leader-elect=true", "--horizontal-pod-autoscaler-sync-period=1s", "--cert-dir="+t.TempDir())
	work(t, c)
	// Its certificate is one that it has made for itself.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: time.Minute}
	get := func(path string) map[string]*family {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
		must(t, err)
		r.Header.Set("Accept", windlass.Protobuf)
		r.Header.Set("Authorization", "Bearer "+c.RESTConfig().BearerToken)
		a, err := client.Do(r)
		must(t, err)
		defer a.Body.Close()
		if a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, a.Status)
		}
		if path == "/healthz" {
			return nil
		}
		families, err := windlass.Families(a)
		must(t, err)
		return served(families)
	}
	get("/healthz")
	s := side{get("/metrics"), get("/metrics/slis")}
	stop()
	return s
}

func ofWindlass(t *testing.T) side {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	p := windlass.SpawnReplica(t, c, windlass.Replica{Name: "windlass", Fields: `plugins:
- name: horizontalpodautoscaler
  settings: {horizontal-pod-autoscaler-sync-period: 1s}
`}, both...)
	p.AwaitReady(t)
	work(t, c)
	p.Get(t, "/healthz")
	s := side{served(p.Metrics(t, "/metrics")), served(p.Metrics(t, "/metrics/slis"))}
	p.Stop(t)
	return s
}

// numbers compares what each manager counted of the same work, where nothing of it is a matter of time or chance.
func numbers(t *testing.T, native, ours map[string]*family) {
	for _, name := range equal {
		n, o := native[name], ours[name]
		if n == nil || o == nil {
			t.Errorf("%s: natively %v, here %v: the work should have made one", name, n != nil, o != nil)
			continue
		}
		want, got := count(n.series), count(o.series)
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if want[k] != got[k] {
				t.Errorf("%s{%s}: %v, natively %v", name, k, got[k], want[k])
			}
		}
		for _, k := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[k]; !ok && got[k] != 0 {
				t.Errorf("%s{%s}: %v, natively none", name, k, got[k])
			}
		}
	}
}

// count gives the value of each series by its labels, of a histogram how much was observed.
func count(series []*dto.Metric) map[string]float64 {
	all := map[string]float64{}
	for _, s := range series {
		var labels []string
		for _, l := range s.Label {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		slices.Sort(labels)
		all[strings.Join(labels, ",")] = s.Counter.GetValue() + s.Gauge.GetValue() + float64(s.Histogram.GetSampleCount())
	}
	return all
}

// queues have all had something to do.
func queues(t *testing.T, ours map[string]*family) {
	for k, n := range count(ours["workqueue_adds_total"].series) {
		if n == 0 {
			t.Errorf("workqueue_adds_total{%s} is 0", k)
		}
	}
	for k, n := range count(ours["running_managed_controllers"].series) {
		if n != 1 {
			t.Errorf("running_managed_controllers{%s} is %v", k, n)
		}
	}
	if n := len(ours["running_managed_controllers"].series); n != len(both) {
		t.Errorf("%d controllers are said to run, there are %d", n, len(both))
	}
	for k, n := range count(ours["informer_store_resource_version"].series) {
		if n == 0 {
			t.Errorf("informer_store_resource_version{%s} is 0", k)
		}
	}
}

func free4(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("%w", err))
	}
}
