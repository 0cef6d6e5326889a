package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/differential/api"
)

// In a share of the worlds the host takes part: the plugin works by itself under host/controller, with its queues,
// timers, barriers and back-offs, by the bubble's clock, on a cluster whose API server is slow at times, answers late
// or not at all, and whose changes come late. Upstream's controller goes through the same world in a bubble of its own,
// as often as it takes until it comes to what the plugin has come to after each step.

// stepTime is how long a step of such a world is, before all keys are synced anew. It is no round number: what is
// due at a full minute isn't about to be done when a step ends.
const stepTime = 15*time.Minute + 37123*time.Millisecond

// resyncs is how often all keys are synced then, for what one sync makes the next may have to look at, and resyncTime
// how long a controller has for each time.
const (
	resyncs    = 2
	resyncTime = time.Minute
)

// calmFrom is from when on no write hangs in a step that began at a time: what its end brings is to be done by then.
func calmFrom(begun time.Time) time.Time { return begun.Add(stepTime - resyncs*resyncTime) }

// trace is what a controller has come to after each step of a world.
type trace struct {
	steps []traced
	syncs int
	early error // why upstream's controller has ended before the world did
	same  int   // steps after which one of upstream's controller has come to what the plugin has
}

// traced is what it has come to after one.
type traced struct {
	deed     string
	began    time.Time
	before   *api.Cluster // as the step began
	after    *api.Cluster
	resynced [resyncs]*api.Cluster // when all keys have been synced anew, after each time
	sent     []string              // all writes, as situations of rules have them
	changes  map[string]int        // how often what has changed something, by verb and resource
	writes   []string              // what has changed something, but for statuses
	errors   []string              // that its syncs have ended with
	names    map[string]string     // that stand for those which were made up so far
	trouble  []string              // what is wrong with the controllers themselves
}

// earlyMost is how many plays may end before the world does, the same as far as they come, until it is left at that.
const earlyMost = 3

// compareHosted plays a world under the host and compares what it comes to with what upstream's controller does.
func (s *Subject) compareHosted(t *testing.T, server *api.Server, x *script, known func(*Difference) bool) (
	d *Difference, syncs int, err error) {
	var ours *trace
	synctest.Test(t, func(*testing.T) { ours, err = s.traceHosted(server, x) })
	if err != nil {
		return nil, 0, err
	}

	syncs = len(ours.steps)
	if d = s.troubled(x, ours); d != nil {
		if known(d) {
			d = nil
		}
		return d, syncs, nil
	}
	var plays []*trace
	early := 0
	first := -1 // the step that no play has come to like the plugin
	most := changesMost{}
	for i := range uint64(replays) {
		var theirs *trace
		synctest.Test(t, func(*testing.T) { theirs, err = s.traceNative(server, x, i) })
		if err != nil {
			return nil, 0, err
		}
		syncs += theirs.syncs
		plays = append(plays, theirs)
		if theirs.same, err = s.part(theirs, ours); err != nil {
			return nil, 0, err
		}
		if theirs.early != nil && theirs.same == len(ours.steps) { // it says nothing of the steps that it hasn't come to
			if early++; early == earlyMost {
				t.Logf("SEED=%d: nothing to compare with from step %d on: %v", x.seed, len(theirs.steps), theirs.early)
				return nil, syncs, nil
			}
			continue
		}
		if theirs.same <= first && theirs.same < len(ours.steps) {
			continue
		}
		first = theirs.same
		if theirs.same < len(ours.steps) {
			d = s.hostedDifference(x, theirs.same, &theirs.steps[theirs.same], &ours.steps[theirs.same])
		} else {
			most.add(theirs)
			d = s.writesMore(x, theirs, ours, most)
		}
		if d == nil || known(d) {
			return nil, syncs, nil
		}
	}
	switch {
	case d.Kind == "writes":
		// How long two keys write what the other makes untrue hangs on when each sees it.
		for i := 0; err == nil && d != nil && i < writesAgain; i++ {
			synctest.Test(t, func(*testing.T) { ours, err = s.traceHosted(server, x) })
			if err == nil {
				d = s.writesMore(x, plays[len(plays)-1], ours, most)
			}
		}
	case d.verdict == "":
		err = s.judgeHosted(d, plays, first)
	}
	return d, syncs, err
}

// writesAgain is how often the plugin is played again where it has written more than upstream's controller: it has to
// do so each time.
const writesAgain = 3

// troubled returns the first step in which something is wrong with the plugin's controllers themselves; nil if none is.
func (s *Subject) troubled(x *script, ours *trace) *Difference {
	for step := range ours.steps {
		o := &ours.steps[step]
		if len(o.trouble) == 0 {
			continue
		}
		d := s.hostedDifference(x, step, o, o)
		d.Kind, d.Text = "host", strings.Join(o.trouble, "\n")
		d.verdict, d.why = differs, "upstream's controllers have no such trouble"
		return d
	}
	return nil
}

// changesMost is how often plays of upstream's controller have changed something at most, by step, verb and resource.
type changesMost map[string]int

func (m changesMost) add(play *trace) {
	for step := range play.steps {
		for what, n := range play.steps[step].changes {
			key := fmt.Sprint(step, " ", what)
			m[key] = max(m[key], n)
		}
	}
}

// writesMore returns the first step in which the plugin has changed something far more often than any play of
// upstream's controller that came to the same. A few times more may be chance: changes come to each at other times.
// Where keys of the plugin's fail for want of an answer, more is to be done again, and told.
func (s *Subject) writesMore(x *script, play, ours *trace, most changesMost) *Difference {
	for step := range ours.steps[:min(len(play.steps), len(ours.steps))] {
		o := &ours.steps[step]
		if len(o.errors) > 0 {
			continue
		}
		var more, lines []string
		for _, what := range slices.Sorted(maps.Keys(o.changes)) {
			if n, m := o.changes[what], most[fmt.Sprint(step, " ", what)]; n > 2*m+2 {
				lines = append(lines, what)
				more = append(more, fmt.Sprintf("%s: %d times, upstream's %d at most", what, n, m))
			}
		}
		if len(more) > 0 {
			d := s.hostedDifference(x, step, &play.steps[step], o)
			d.Kind, d.Text = "writes", strings.Join(more, "\n")
			d.theirs, d.others = remains{}, remains{lines: lines}
			d.verdict, d.why = differs, "no play of upstream's controller that came to the same changes half as much"
			return d
		}
	}
	return nil
}

// judgeHosted says of a difference at a step what plays of upstream's controller show of it.
func (s *Subject) judgeHosted(d *Difference, plays []*trace, first int) error {
	var there []*traced // what upstream's came to at that step where it had come to the same before
	for _, p := range plays {
		if p.same == first {
			there = append(there, &p.steps[first])
		}
	}
	d.verdict, d.why = differs, fmt.Sprintf("upstream's %d plays come to one end", len(there))
	if len(there) < len(plays)/10 {
		d.verdict, d.why = undecided, fmt.Sprintf("only %d of upstream's %d plays come to that step", len(there), len(plays))
		return nil
	}
	for _, other := range there[1:] {
		text, err := s.ends(there[0], other)
		if err != nil {
			return err
		}
		if text != "" {
			d.verdict, d.why = undecided, fmt.Sprintf("upstream's %d plays come to several ends", len(there))
			break
		}
	}
	return nil
}

// part returns the first step after which two traces have come to other ends. Where what happens in a step is about
// another object for each, for the two have others under names that were made up, nothing is comparable any more.
func (s *Subject) part(theirs, ours *trace) (int, error) {
	strict := *s
	strict.Alike = nil
	for i := range min(len(theirs.steps), len(ours.steps)) {
		x, y := &theirs.steps[i], &ours.steps[i]
		begin, err := strict.atEnd(x, y).unlike(x.before, y.before)
		if begin != "" && i > 0 || err != nil {
			return len(ours.steps), err
		}
		if text, err := s.ends(x, y); text != "" || err != nil {
			return i, err
		}
	}
	return len(ours.steps), nil
}

// ends returns how the clusters differ after a step. The plugin may be woken for more than upstream's controller: then
// it has done already what that does when it is synced anew.
func (s *Subject) ends(theirs, ours *traced) (string, error) {
	a := s.atEnd(theirs, ours)
	text, err := a.unlike(theirs.resynced[resyncs-1], ours.resynced[resyncs-1])
	if text != "" || err != nil {
		return text, err
	}
	if len(ours.errors) > 0 {
		return "", nil // when a key that fails is tried again is chance
	}
	if text, err = a.unlike(theirs.after, ours.after); text == "" || err != nil {
		return "", err
	}
	for _, c := range theirs.resynced {
		if earlier, err := a.unlike(c, ours.after); earlier == "" || err != nil {
			return "", err
		}
	}
	return text, nil
}

// atEnd are both controllers' clusters after a step.
func (s *Subject) atEnd(theirs, ours *traced) *apart {
	return &apart{subject: s, before: objectsOf(ours.before),
		sides: [2]*side{{cluster: theirs.after}, {cluster: ours.after}},
		names: [2]map[string]string{theirs.names, ours.names}}
}

func (s *Subject) hostedDifference(x *script, step int, theirs, ours *traced) *Difference {
	a := s.atEnd(theirs, ours)
	text, err := s.ends(theirs, ours)
	if err != nil {
		panic(err) // the registry's own objects
	}
	x1, y1 := theirs.after, ours.after
	if same, err := a.unlike(x1, y1); same == "" && err == nil {
		x1, y1 = theirs.resynced[resyncs-1], ours.resynced[resyncs-1]
	}
	d := &Difference{Subject: s.Controller, script: x, Step: step, Deed: theirs.deed, Kind: "end", Text: text,
		now: theirs.began, late: true, rested: true, objects: func() []runtime.Object { return a.before },
		writes: theirs.sent}

	if f := s.forever(x); f != nil {
		d.Deed += ", " + f.String()
	}
	d.errors = slices.Concat(theirs.errors, ours.errors)
	if s.Explain != nil {
		d.told = s.Explain(a.before, text)
		d.Text += d.told
	}
	if theirs.deed != ours.deed {
		d.Deed += " (upstream's), " + ours.deed + " (the plugin's)"
	}
	if d.theirs, d.others, err = a.remain(x1, y1); err != nil {
		panic(err)
	}
	if s.Sum != nil {
		for c, r := range map[*api.Cluster]*remains{x1: &d.theirs, y1: &d.others} {
			if r.lines, err = s.Sum(c); err != nil {
				panic(err) // as above
			}
		}
	}

	for _, line := range theirs.writes {
		d.past = append(d.past, "upstream's: "+line)
	}
	for _, line := range theirs.errors {
		d.past = append(d.past, "upstream's error: "+line)
	}
	for _, line := range ours.writes {
		d.past = append(d.past, "the plugin: "+line)
	}
	for _, line := range ours.errors {
		d.past = append(d.past, "the plugin's error: "+line)
	}
	return d
}
