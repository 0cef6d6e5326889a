package parity

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/windlass-dev/windlass/test/life"
)

// compareMetrics fails what dashboards and alerts for the native manager would miss in Windlass: whoever has some finds
// the same metrics in Windlass: names, types, labels with their values, buckets, and, of what is counted by the piece,
// numbers. What differs is on the list, with its reason, and in docs/differences.md.
func compareMetrics(t *testing.T, lives []*life.Life, controllers int, native, ours *side) {
	declared, owner := declared(t)
	all := mergeFamilies(ours.metrics, declared)
	found := missingFamilies(native.metrics, all)
	maps.Copy(found, missingFamilies(native.slis, ours.slis))
	t.Run("families", func(t *testing.T) { compareFamilies(t, found, all) })
	t.Run("numbers", func(t *testing.T) { numbers(t, lives, native, ours) })
	t.Run("queues", func(t *testing.T) { checkQueues(t, controllers, ours.metrics) })
	t.Run("durations", func(t *testing.T) { durations(t, ours.metrics) })
	t.Run("docs", func(t *testing.T) { document(t, native.metrics, ours.metrics, declared, owner) })
}

// scrapeMetrics keeps what the side's manager serves.
func (s *side) scrapeMetrics(t testing.TB) {
	t.Helper()
	must(t, s.manager.healthy(t))
	for path, to := range map[string]*map[string]*family{"/metrics": &s.metrics, "/metrics/slis": &s.slis} {
		families, err := s.manager.scrape(t, path)
		must(t, err)
		*to = scrapedFamilies(families)
	}
}

// compareFamilies fails what differs and isn't on the list, and what is on the list and doesn't differ.
func compareFamilies(t *testing.T, found map[string]string, ours map[string]*family) {
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
		if stale[d.what] && (!d.sometimes || hasFamily(ours, d.what)) {
			t.Errorf("`%s` is on the list of differences, and there is no such difference", d.what)
		}
	}
}

// hasFamily reports whether there is a family, or one with that value, of those that [missingFamilies] would say are
// missing.
func hasFamily(ours map[string]*family, what string) bool {
	name, label, ok := strings.Cut(strings.TrimSuffix(what, "}"), "{")
	f := ours[name]
	if !ok || f == nil {
		return f != nil
	}
	label, value, _ := strings.Cut(label, "=")
	return f.values[label][value]
}

// numbers compares what each manager counted of the same work, where nothing of it is a matter of time or chance.
func numbers(t *testing.T, lives []*life.Life, native, ours *side) {
	meant := func(line string) bool {
		for _, b := range readBugs(t) {
			if b.Script == metricsScript && matchesPattern(b.What, line) {
				return true
			}
		}
		return false
	}

	equal := []string{"leader_election_master_status"}
	for _, l := range lives {
		equal = append(equal, l.Metrics...)
	}

	for _, name := range equal {
		n, o := native.metrics[name], ours.metrics[name]
		if n == nil || o == nil {
			t.Errorf("%s: natively %v, here %v: the work should have made one", name, n != nil, o != nil)
			continue
		}
		want, got := seriesValues(n.series), seriesValues(o.series)
		nativePace, pace := 0.0, 0.0 // how many of the number may be a matter of pace
		switch name {
		case "pod_gc_collector_force_delete_pods_total":
			// Pods of other scripts that are on their way out may or may not be met by the native controller's timer.
			elsewhere := func(series string, _ float64) bool { return !strings.Contains(series, "namespace=podgc-") }
			maps.DeleteFunc(want, elsewhere)
			maps.DeleteFunc(got, elsewhere)
			if len(want) == 0 {
				t.Errorf("%s: natively there is nothing of podgc's scripts", name)
			}
		case "job_controller_terminated_pods_tracking_finalizer_total":
			nativePace, pace = native.endedByPodGC(t), ours.endedByPodGC(t)
			for _, of := range []map[string]float64{want, got} {
				if of["event=add"] != of["event=delete"] {
					t.Errorf("%s: %v: not all pods have lost their finalizer", name, of)
				}
			}
		}

		for _, k := range slices.Sorted(maps.Keys(want)) {
			line := fmt.Sprintf("%s{%s}: %v, natively %v", name, k, got[k], want[k])
			if (got[k] < want[k]-nativePace || got[k]-pace > want[k]) && !meant(line) {
				t.Error(line)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[k]; !ok && got[k] != 0 {
				t.Errorf("%s{%s}: %v, natively none", name, k, got[k])
			}
		}
	}
}

// endedByPodGC returns how many pods of Jobs the pod garbage collector has given the phase Failed: pods that were
// deleted before a node took them, and that its timer met before the job controller had taken its finalizer. How many
// there are is a matter of pace. The job controller counts such a pod as one that has ended, if it sees it between that
// and its own patch.
func (s *side) endedByPodGC(t *testing.T) float64 {
	t.Helper()
	requests := s.requests(t)
	ended := 0
	for namespace := range requests["job-controller: create pods"] {
		ended += requests["pod-garbage-collector: patch pods/status"][namespace]
	}
	t.Logf("%s: the pod garbage collector has ended %d pods of Jobs", s.name, ended)
	return float64(ended)
}

// seriesValues returns the value of each series by its labels, of a histogram how much was observed.
func seriesValues(series []*dto.Metric) map[string]float64 {
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

// checkQueues demands that all queues have had something to do.
func checkQueues(t *testing.T, controllers int, ours map[string]*family) {
	for k, n := range seriesValues(ours["workqueue_adds_total"].series) {
		if n == 0 {
			t.Errorf("workqueue_adds_total{%s} is 0", k)
		}
	}
	for k, n := range seriesValues(ours["running_managed_controllers"].series) {
		if n != 1 {
			t.Errorf("running_managed_controllers{%s} is %v", k, n)
		}
	}
	if n := len(ours["running_managed_controllers"].series); n != controllers {
		t.Errorf("%d controllers are said to run, there are %d", n, controllers)
	}
	for k, n := range seriesValues(ours["informer_store_resource_version"].series) {
		if n == 0 {
			t.Errorf("informer_store_resource_version{%s} is 0", k)
		}
	}
}

// durations of the job controller's syncs are observed, of no more than there were.
func durations(t *testing.T, ours map[string]*family) {
	sum := func(name string) (n float64) {
		for _, x := range seriesValues(ours[name].series) {
			n += x
		}
		return n
	}
	took, syncs := sum("job_controller_job_sync_duration_seconds"), sum("job_controller_job_syncs_total")
	if took == 0 || took > syncs {
		t.Errorf("%v durations of %v syncs", took, syncs)
	}
}
