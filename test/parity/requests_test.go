package parity

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
)

// requests are what a side's manager has asked of the API server, by account, verb and resource: writes and single
// reads, with how many there were in each namespace. Lists and watches are those of the caches, and events are
// told by themselves.
func (s *side) requests(t testing.TB) map[string]map[string]int {
	t.Helper()
	all := map[string]map[string]int{}
	for _, e := range s.cluster.Audit(t, cluster.Filter{Since: s.manager.since}) {
		account, ok := strings.CutPrefix(e.User, "system:serviceaccount:kube-system:")
		if !ok || e.Verb == "list" || e.Verb == "watch" || e.Resource == "events" {
			continue
		}

		what := fmt.Sprintf("%s: %s %s", account, e.Verb, e.Resource)
		if strings.Contains(e.URI, "dryRun=") {
			what += dryRun
		}

		if e.Code >= 400 {
			what += refused
		}
		if all[what] == nil {
			all[what] = map[string]int{}
		}

		in := e.Namespace
		if in == "" {
			in = e.Name
		}

		if strings.HasPrefix(in, probes) {
			in = "probes"
		}
		all[what][in]++
	}
	return all
}

// What the kind of requests that failed ends with, and before that of those that were tried alone.
const (
	refused = ", refused"
	dryRun  = ", dry run"
)

func sumCounts(m map[string]int) (n int) {
	for _, x := range m {
		n += x
	}
	return n
}

// timed are the writes, by account where it matters, whose number is a matter of timing: in how many steps a roll-out
// goes and how many changes one look sees. Statuses are, too, but that of pods, which is written once; and so is how
// often a namespace that waits for something is swept.
var timed = []string{
	": update replicasets", ": update endpoints", ": update endpointslices",
	// Natively a patch may be repeated, or not be needed any more, when a cache is late.
	"job-controller: patch pods", "generic-garbage-collector: patch configmaps",
}

// allowed is how many requests of a kind Windlass may make where the native manager makes n. Writes whose number is
// given by what there is to do are no more than natively; others may be a fifth more, and what was tried in vain, half.
func allowed(kind string, n int) int {
	verb, resource, _ := strings.Cut(kind[strings.Index(kind, ": ")+2:], " ")
	status := strings.HasSuffix(resource, "/status") && resource != "pods/status"
	is := func(suffix string) bool { return strings.HasSuffix(kind, suffix) }
	switch {
	case strings.HasSuffix(kind, refused):
		return n + n/2 + 2
	case status, verb == "deletecollection", !slices.Contains(cluster.Writes, verb), slices.ContainsFunc(timed, is):
		return n + n/5 + 2
	}
	return n
}

func TestAllowed(t *testing.T) {
	for kind, want := range map[string]int{
		"a: create pods": 10, "a: delete pods": 10, "a: patch pods": 10, "a: update namespaces/finalize": 10,
		"a: patch pods/status": 10, "a: update jobs/status": 14, "a: update endpoints": 14, "a: get pods": 14,
		"job-controller: patch pods": 14, "a: deletecollection pods": 14, "a: create pods, refused": 17,
		"a: create pods, dry run": 10, "a: update endpointslices/x": 10,
	} {
		if got := allowed(kind, 10); got != want {
			t.Errorf("%s: %d, want %d", kind, got, want)
		}
	}
}

// compareRequests takes down what takes Windlass more requests than a script says that it takes, or, where all scripts
// of the group are played, than the native manager: of each kind more than are allowed; and of all writes, and of all
// reads.
func compareRequests(t *testing.T, b *book, group string, lives []*life.Life, native, ours *side) {
	all := allParts(lives)
	theirs, mine := native.requests(t), ours.requests(t)
	for _, p := range b.selected(all) {
		for what, most := range p.script.Most {
			if n := mine[what][p.namespace()]; n > most {
				b.addDifference([]*part{p}, "requests "+p.name()+" "+what, "%s: %s: %d requests, %d are enough", p.name(), what, n,
					most)
			}
		}
	}
	if !b.coversAll(all) {
		return
	}

	pace := clocked(t, b, all, group, native, ours)
	keys := maps.Clone(theirs)
	maps.Copy(keys, mine)
	writes, reads := [2]int{}, [2]int{}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		n, o := sumCounts(theirs[k]), sumCounts(mine[k])
		if strings.HasPrefix(k, autoscaler+": get ") {
			n = int(math.Ceil(float64(n) * pace))
		}
		verb := strings.Fields(k)[1]
		of := &writes
		if !slices.Contains(cluster.Writes, verb) {
			of = &reads
		}
		if row := moreMeant(lives, k); row != "" {
			t.Logf("%s: %d, native %d: %s", k, o, n, row)
			continue
		}
		of[0], of[1] = of[0]+n, of[1]+o
		if o <= allowed(k, n) {
			continue
		}
		var where []string
		for _, in := range slices.Sorted(maps.Keys(mine[k])) {
			if a, b := mine[k][in], theirs[k][in]; a != b {
				where = append(where, fmt.Sprintf("%s: %d, native %d", in, a, b))
			}
		}
		b.addDifference(all, group+" requests "+k, "%s: %d, the native manager needed %d\n%s", k, o, n,
			strings.Join(where, "\n"))
	}
	t.Logf("writes: %d, native %d; reads: %d, native %d", writes[1], writes[0], reads[1], reads[0])
	if writes[1] > writes[0] || reads[1] > reads[0] {
		b.addDifference(all, group+" requests", "%d writes and %d reads, the native manager needed %d and %d",
			writes[1], reads[1], writes[0], reads[0])
	}
}

// autoscaler is the account of a controller that works by the clock, for as long as it runs.
const autoscaler = "horizontal-pod-autoscaler"

// clocked returns how often Windlass has reconciled an autoscaler for each time that the native manager has, and takes
// down where that is more than once in each period. How many periods there were is a matter of how long the others'
// scripts took, and one that comes late on a busy machine isn't made up for, so what a reconciliation asks for is
// compared and not what was asked for in all.
func clocked(t *testing.T, b *book, all []*part, group string, native, ours *side) (pace float64) {
	t.Helper()
	var times [2]float64
	for i, s := range []*side{native, ours} {
		var err error
		times[i], err = s.ownMetric(t, "horizontal_pod_autoscaler_controller_reconciliations_total", nil)
		must(t, err)
	}
	if times[0] == 0 || times[1] == 0 {
		return 1 // without autoscalers
	}

	made := ours.cluster.Audit(t, cluster.Filter{
		Verbs: []string{"create"}, Resources: []string{"horizontalpodautoscalers"}, Codes: []int{http.StatusCreated},
	})
	periods := 1 + time.Since(ours.manager.since).Seconds() // each life has them last a second
	t.Logf("%v reconciliations of %d autoscalers in %.0f periods, native %v", times[1], len(made), periods, times[0])
	if most := periods * float64(len(made)); times[1] > most {
		b.addDifference(all, group+" reconciliations", "%v reconciliations of %d autoscalers in %.0f periods", times[1],
			len(made),
			periods)
	}
	return times[1] / times[0]
}

// moreMeant is the row of docs/differences.md that a life names for more requests of a kind, if one does.
func moreMeant(lives []*life.Life, kind string) string {
	for _, l := range lives {
		for _, d := range l.Requests {
			if matchesPattern(d.What, kind) {
				return d.Row
			}
		}
	}
	return ""
}
