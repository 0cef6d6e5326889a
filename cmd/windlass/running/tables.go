package running

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/state"
)

// tableRow returns a line of a table: what there is of a thing in any case, and what wide adds.
func tableRow(wide bool, always []string, more ...string) []string {
	if wide {
		return append(always, more...)
	}
	return always
}

func controllersTable(s *state.Status, wide bool) table {
	most := answer.LineMax
	if wide {
		most = 10 * answer.LineMax
	}

	t := table{none: "No controller runs here.", lines: [][]string{tableRow(wide,
		[]string{"NAME", "STATE", "PLUGIN", "VERSION", "QUEUE", "STUCK", "SYNCS", "ERRORS", "P50", "P99"},
		"DIGEST", "LEADER", "WORKERS", "RESYNC", "SYNCING", "PARKED", "WRITES", "MEMORY", "FUEL", "DIFFERENCES")}}
	t.lines[0] = append(t.lines[0], "MESSAGE")
	versions := map[string]string{}
	for i := range s.Plugins {
		versions[s.Plugins[i].Name] = s.Plugins[i].Version
	}

	for i := range s.Controllers {
		c := &s.Controllers[i]
		l := tableRow(wide, []string{c.Name, c.State, c.Plugin, answer.Line(versions[c.Plugin], 20), fmt.Sprint(c.Queue),
			fmt.Sprint(c.Failing + c.Parked), fmt.Sprint(c.Syncs.Total), fmt.Sprint(c.Syncs.Failed),
			formatDuration(c.Syncs.P50), formatDuration(c.Syncs.P99)},
			shortDigest(c.Digest), leaseHolder(s, c.Name), fmt.Sprint(c.Workers), cmp.Or(c.Resync, "-"), fmt.Sprint(c.Syncing),
			fmt.Sprint(c.Parked), written(c.Writes.Verbs), formatSize(c.Syncs.Memory), fmt.Sprint(c.Syncs.Fuel),
			fmt.Sprint(c.Differences))
		t.lines = append(t.lines, append(l, answer.Line(message(c), most)))
		t.names = append(t.names, c.Name)
	}

	if absent := everyController(s)[len(s.Controllers):]; len(absent) > 0 {
		t.notes = absentLines(absent)
		for _, c := range absent {
			t.names = append(t.names, c.Name)
		}
	}
	t.notes = append(t.notes, refused(s)...)
	return t
}

// everyController returns the controllers that run here, and behind them those that don't: of these there is nothing
// but the state and why.
func everyController(s *state.Status) []state.ControllerStatus {
	every := slices.Clone(s.Controllers)
	for _, a := range s.Absent {
		message := a.Message
		if a.Objects > 0 {
			message += fmt.Sprintf(": %d %s", a.Objects, a.Resource)
		}
		every = append(every, state.ControllerStatus{Name: a.Name, State: a.State, Message: message})
	}
	return every
}

// absentLines are the lines of a table of its own for the controllers that don't run: they have no numbers, and long
// names.
func absentLines(every []state.ControllerStatus) []string {
	lines := [][]string{{"NOT RUNNING", "STATE", "WHY"}}
	for _, c := range every {
		lines = append(lines, []string{c.Name, c.State, answer.Line(c.Message, answer.LineMax)})
	}
	return append([]string{""}, aligned(lines)...)
}

// leaseHolder returns who holds the Lease that a controller runs under.
func leaseHolder(s *state.Status, controller string) string {
	for i := range s.Leaders {
		switch l := &s.Leaders[i]; {
		case !slices.Contains(l.Controllers, controller):
		case l.Here:
			return "here"
		case l.Holder == "":
			return "nobody"
		default:
			return answer.Line(l.Holder, answer.LineMax)
		}
	}
	return "-"
}

// message is the most that there is to say of a controller.
func message(c *state.ControllerStatus) string {
	switch {
	case c.Message != "":
		return c.Message
	case c.Oldest != nil:
		return c.Oldest.Key + ": " + c.Oldest.Error
	case c.Hastiest != nil:
		return c.Hastiest.Key + ": " + c.Hastiest.Error
	case c.Differences > 0:
		return fmt.Sprintf("%d differences of its shadow", c.Differences)
	}
	return ""
}

// refused are notes of what isn't applied.
func refused(s *state.Status) (notes []string) {
	if s.Refused != "" {
		notes = append(notes, "", "Not applied: "+answer.Line(s.Refused, 10*answer.LineMax))
	}
	return notes
}

func pluginsTable(s *state.Status, wide bool) table {
	t := table{none: "No plugin runs here.", lines: [][]string{tableRow(wide,
		[]string{"NAME", "VERSION", "DIGEST", "AGE", "ORIGIN"}, "CONTROLLERS", "INSTANCES", "BUSY", "HELD", "BUDGET")}}
	t.lines[0] = append(t.lines[0], "STATE")
	for i := range s.Plugins {
		p := &s.Plugins[i]
		var states []string
		if p.Trial {
			states = append(states, "on trial, before it "+shortDigest(p.Before))
		}
		if p.Shadow != "" {
			states = append(states, "shadow "+shortDigest(p.Shadow))
		}
		if n := p.Next; n != nil {
			states = append(states, "next "+shortDigest(n.Digest)+" waits for its caches: "+answer.Line(n.Why, 2*answer.LineMax))
		}
		if p.Broken != "" {
			states = append(states, "its file can't be used: "+answer.Line(p.Broken, 2*answer.LineMax))
		}
		for _, f := range p.Failed {
			states = append(states, "failed: "+answer.Line(f, 2*answer.LineMax))
		}
		l := tableRow(wide, []string{p.Name, answer.Line(p.Version, 20), shortDigest(p.Digest), formatAge(s, p.Since),
			answer.Line(p.Origin, 10*answer.LineMax)}, strings.Join(p.Controllers, ","), fmt.Sprint(p.Instances),
			fmt.Sprint(p.Busy), formatSize(p.Memory.Held), formatSize(p.Memory.Limit))
		t.lines = append(t.lines, append(l, strings.Join(states, "; ")))
		t.names = append(t.names, p.Name)
	}

	for _, name := range slices.Sorted(maps.Keys(s.Missing)) {
		t.notes = append(t.notes, "", "No image for "+name+": "+answer.Line(s.Missing[name], 10*answer.LineMax))
	}
	for _, why := range s.LeftOut {
		t.notes = append(t.notes, "", "Left out: "+answer.Line(why, 10*answer.LineMax))
	}
	t.notes = append(t.notes, refused(s)...)
	return t
}

func swapsTable(s *state.Status, wide bool) table {
	most := answer.LineMax
	if wide {
		most = 10 * answer.LineMax
	}
	t := table{none: "No plugin's version was replaced since the process began.",
		lines: [][]string{{"AGE", "PLUGIN", "FROM", "TO", "RESULT", "WHY"}}}
	for _, x := range s.Swaps {
		t.lines = append(t.lines, []string{formatAge(s, x.Time), x.Plugin, version(x.FromVersion, x.From),
			version(x.ToVersion, x.To), x.Result, answer.Line(x.Why, most)})
	}
	return t
}

func version(v, digest string) string {
	if digest == "" {
		return "-"
	}
	return strings.TrimSpace(answer.Line(v, 20) + " " + shortDigest(digest))
}

func keysTable(k *state.Keys, wide bool) table {
	most := answer.LineMax
	if wide {
		most = 20 * answer.LineMax
	}

	now := time.Now()
	t := table{none: "No key is stuck, and none has a timer.",
		lines: [][]string{{"CONTROLLER", "KEY", "STATE", "TRIES", "AGE", "NEXT", "WHY"}}}
	for _, x := range slices.Concat(k.Keys, k.Waiting) {
		tries, next, why := "-", "-", x.Error
		if x.Tries > 0 {
			tries = fmt.Sprint(x.Tries)
		}
		switch {
		case !x.Next.IsZero():
			next = duration.HumanDuration(max(x.Next.Sub(now), 0))
		case x.State == controller.GivenUp:
			next = "when it changes"
		}
		if len(x.WaitsFor) > 0 {
			why = strings.TrimSuffix("waits for "+strings.Join(x.WaitsFor, "; ")+": "+x.Error, ": ")
		}
		if x.Result != "" && x.Result != "error" && x.Result != x.State {
			why = x.Result + ": " + why
		}
		t.lines = append(t.lines, []string{x.Controller, keyName(x.Key), x.State, tries,
			duration.HumanDuration(now.Sub(x.Since)), next, answer.Line(why, most)})
	}

	t.notes = limitNote(len(k.Keys)+len(k.Waiting), k.All+k.AllWaiting)
	return t
}

func syncsTable(r *state.Recorded, wide bool) table {
	now := time.Now()
	t := table{none: "No such sync is remembered.", lines: [][]string{{"AGE", "CONTROLLER", "KEY", "RESULT", "TOOK",
		"DID"}}}
	if wide {
		t.lines[0] = append(t.lines[0], "DIGEST")
	}

	t.lines[0] = append(t.lines[0], "ERROR")
	for i := range r.Syncs {
		x := &r.Syncs[i]
		did := "nothing"
		switch {
		case wide && len(x.Did) > 0:
			did = answer.Line(strings.Join(x.Did, "; "), 20*answer.LineMax)
		case len(x.Did) > 1:
			did = fmt.Sprintf("%s and %d more", answer.Line(x.Did[0], answer.LineMax), len(x.Did)-1)
		case len(x.Did) == 1:
			did = answer.Line(x.Did[0], answer.LineMax)
		}
		l := []string{duration.HumanDuration(now.Sub(x.Time)), x.Controller, keyName(x.Key), x.Result,
			formatDuration(x.Seconds), did}
		most := answer.LineMax
		if wide {
			l, most = append(l, shortDigest(x.Digest)), 20*answer.LineMax
		}
		t.lines = append(t.lines, append(l, answer.Line(x.Error, most)))
	}
	t.notes = limitNote(len(r.Syncs), r.All)
	return t
}

// keyName is that of a controller with one key alone where there is no name.
func keyName(k string) string {
	if k == "" {
		return "-"
	}
	return answer.Line(k, 3*answer.LineMax)
}

func limitNote(shown, all int) []string {
	if shown < all {
		return []string{fmt.Sprintf("%d of %d: --limit shows more", shown, all)}
	}
	return nil
}

func differencesTable(all []controller.Difference) table {
	t := table{none: "No shadow has answered differently."}
	for _, d := range all {
		t.none = ""
		t.notes = append(t.notes, fmt.Sprintf("%s %s %s: %s is shadowed by %s, which answers differently:",
			d.Time.Format(time.RFC3339), d.Controller, keyName(d.Key), shortDigest(d.Live), shortDigest(d.Shadow)),
			printable.Text(d.Text))
	}
	return t
}

// formatAge returns an age by the clock of the process that was asked.
func formatAge(s *state.Status, t time.Time) string {
	return duration.HumanDuration(s.Process.Now.Sub(t))
}

// formatDuration returns a time in three digits.
func formatDuration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d == 0:
		return "-"
	case d < time.Millisecond:
		return fmt.Sprintf("%.2fms", seconds*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3gms", seconds*1e3)
	}
	return fmt.Sprintf("%.3gs", seconds)
}

func formatSize(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fMi", float64(bytes)/(1<<20))
}

// written are writes by verb, the most frequent first.
func written(verbs map[string]int64) string {
	if len(verbs) == 0 {
		return "-"
	}
	names := slices.SortedFunc(maps.Keys(verbs), func(a, b string) int {
		if verbs[a] != verbs[b] {
			return int(verbs[b] - verbs[a])
		}
		return strings.Compare(a, b)
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s:%d", n, verbs[n])
	}
	return strings.Join(names, ",")
}
