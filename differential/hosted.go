package differential

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/plugin"
	"github.com/windlass-dev/windlass/differential/world"
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

// trace is what a controller has come to after each step of a world.
type trace struct {
	steps []traced
	syncs int
	same  int // steps after which one of upstream's controller has come to what the plugin has
}

// traced is what it has come to after one.
type traced struct {
	deed   string
	began  time.Time
	before *api.Cluster // as the step began
	after  *api.Cluster
	// resynced is what it has come to when all keys have been synced once more.
	resynced *api.Cluster
	sent     []string          // all writes, as situations of rules have them
	writes   []string          // what has changed something, but for statuses
	errors   []string          // that its syncs have ended with
	names    map[string]string // that stand for those which were made up so far
	trouble  []string          // what is wrong with the controllers themselves
}

// compareHosted plays a world under the host and compares what it comes to with what upstream's controller does.
func (s *Subject) compareHosted(t *testing.T, server *api.Server, x *script, known func(*Difference) bool) (
	d *Difference, syncs int, err error) {
	var ours *trace
	synctest.Test(t, func(*testing.T) { ours, err = s.traceHosted(server, x) })
	if err != nil {
		return nil, 0, err
	}

	syncs = len(ours.steps)
	var plays []*trace
	first := -1 // the step that no play has come to like the plugin
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
		if theirs.same <= first {
			continue
		}
		first = theirs.same
		if d = s.differsHosted(x, theirs, ours); d == nil || known(d) {
			return nil, syncs, nil
		}
	}
	if d.verdict == "" {
		err = s.judgeHosted(d, plays, first)
	}
	return d, syncs, err
}

// differsHosted returns the first difference from one play of upstream's controller; nil if there is none.
func (s *Subject) differsHosted(x *script, play, ours *trace) *Difference {
	for step := range ours.steps[:min(play.same+1, len(ours.steps))] {
		o := &ours.steps[step]
		if len(o.trouble) == 0 {
			continue
		}
		theirs := o // upstream's may have ended earlier
		if step < len(play.steps) {
			theirs = &play.steps[step]
		}
		d := s.hostedDifference(x, step, theirs, o)
		d.Kind, d.Text = "host", strings.Join(o.trouble, "\n")
		d.verdict, d.why = differs, "upstream's controllers have no such trouble"
		return d
	}
	if play.same == len(ours.steps) {
		return nil
	}
	return s.hostedDifference(x, play.same, &play.steps[play.same], &ours.steps[play.same])
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
// it has done already what that does when it is synced once more.
func (s *Subject) ends(theirs, ours *traced) (string, error) {
	a := s.atEnd(theirs, ours)
	text, err := a.unlike(theirs.resynced, ours.resynced)
	if text != "" || err != nil {
		return text, err
	}
	if text, err = a.unlike(theirs.after, ours.after); text == "" || err != nil {
		return "", err
	}
	if earlier, err := a.unlike(theirs.resynced, ours.after); earlier == "" || err != nil {
		return "", err
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
		x1, y1 = theirs.resynced, ours.resynced
	}
	d := &Difference{Subject: s.Controller, Seed: x.seed, Step: step, Deed: theirs.deed, Kind: "end", Text: text,
		now: theirs.began, late: true, rested: true, objects: func() []runtime.Object { return a.before }, writes: theirs.sent}

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

// traceNative takes upstream's controller through a world, in the present bubble.
func (s *Subject) traceNative(server *api.Server, x *script, salt uint64) (*trace, error) {
	a := &apart{subject: s, script: x, salt: salt}
	n, err := a.native(server)
	if err != nil {
		return nil, err
	}
	defer n.Close()

	us := a.sides[0]
	us.cluster.ByAge = true
	us.cluster.Latency = func(h *http.Request) time.Duration { return latency(h, salt) }
	tr, names := &trace{}, map[string]string{}
	err = a.populate(us)
	for ; err == nil && a.step <= x.steps; a.step++ {
		begun := time.Now()
		if err = a.happen(a.sides[:1]); err != nil || !time.Now().Equal(begun) {
			break // or time has passed in which the controllers would have worked
		}
		st := traced{deed: a.deed, began: begun, before: us.cluster.Clone()}
		us.cluster.Requests = nil
		us.seen, us.errors, us.until = nil, nil, begun.Add(stepTime)
		n.Begin()
		if err = us.settle(); err != nil {
			break
		}
		time.Sleep(time.Until(us.until))
		st.after = us.cluster.Clone()
		for range resyncs {
			us.until = us.until.Add(resyncTime)
			if err = errors.Join(err, s.resync(us)); err == nil {
				time.Sleep(time.Until(us.until))
			}
		}
		if err != nil {
			break
		}
		st.finish(s, us.cluster, us.seen, names)
		st.errors = append(us.errors, strings.Split(n.Note(slices.Sorted(maps.Keys(us.keys))), "\n")...)
		tr.steps = append(tr.steps, st)
	}
	tr.syncs = us.syncs
	if errors.Is(err, errPanic) || errors.Is(err, errRestless) {
		err = nil // there is nothing to compare with what the plugin does from here on
	}
	return tr, err
}

// latency is up to a fiftieth of a second: which of several requests side by side comes first is chance, but the same
// each time.
func latency(h *http.Request, salt uint64) time.Duration {
	x := fnv.New64a()
	fmt.Fprint(x, salt, time.Now().UnixNano(), h.Method, h.URL.Path)
	return time.Duration(x.Sum64() % uint64(20*time.Millisecond))
}

// resync has upstream's controller sync all keys that the plugin has.
func (s *Subject) resync(us *side) error {
	if us.wake == nil || s.Key != nil {
		return us.settle()
	}
	p, err := s.beside(us.cluster)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Load(us.cluster); err != nil {
		return err
	}
	for _, key := range p.Keys() {
		us.wake(key)
	}
	return us.settle()
}

// finish takes down what a step has come to.
func (st *traced) finish(s *Subject, c *api.Cluster, requests []*api.Request, names map[string]string) {
	s.rename(requests, names)
	st.names = maps.Clone(names)
	st.sent = sentBy(requests)
	st.resynced = c.Clone()
	for _, q := range requests {
		if !q.Writes() || q.Err != nil || !q.Changed {
			continue
		}
		if q.Subresource != "status" {
			st.writes = append(st.writes, s.line(q))
		}
	}
}

// hosted is a plugin under the host on its way through a world.
type hosted struct {
	*plugin.Hosted

	cluster *api.Cluster
	r       *world.Rand
	backlog []api.Change
	version uint64
	wrote   chan struct{} // that something may have been
	// calm is from when on no write hangs in the present step: what its end brings is to be done by then.
	calm time.Time
}

// traceHosted takes the plugin through a world, in the present bubble.
func (s *Subject) traceHosted(server *api.Server, x *script) (*trace, error) {
	utilrand.Seed(int64(x.seed)) // of the names that the host makes up
	h := &hosted{cluster: server.NewCluster(), r: world.NewRand(x.seed + 11), wrote: make(chan struct{}, 1)}
	indexes, err := s.hostedIndexes()
	if err != nil {
		return nil, err
	}
	h.Hosted, err = plugin.Host(guesttest.Native(s.Plugin), indexes, s.settings(), h.cluster, h)
	if err != nil {
		return nil, err
	}
	defer h.Close()

	us := &side{subject: s, cluster: h.cluster}
	h.cluster.ByAge = true
	a := &apart{subject: s, script: x, sides: [2]*side{us}}
	if err := a.populate(us); err != nil {
		return nil, err
	}
	tr, names := &trace{}, map[string]string{}
	for ; a.step <= x.steps; a.step++ {
		begun := time.Now()
		if err := a.happen(a.sides[:1]); err != nil {
			return nil, err
		}
		if !time.Now().Equal(begun) {
			break // as with upstream's
		}
		st := traced{deed: a.deed, began: begun, before: h.cluster.Clone()}
		h.cluster.Requests, h.calm = nil, begun.Add(stepTime-resyncs*resyncTime)
		if a.step == 0 {
			if err := h.take(); err != nil {
				return nil, err
			}
			if err := h.deliver(len(h.backlog), true); err != nil {
				return nil, err
			}
			h.Begin()
		}
		if err := h.goOn(begun.Add(stepTime)); err != nil {
			return nil, err
		}
		st.after = h.cluster.Clone()
		for i := range resyncs {
			h.Resync()
			if err := h.goOn(begun.Add(stepTime + time.Duration(i+1)*resyncTime)); err != nil {
				return nil, err
			}
		}
		st.finish(s, h.cluster, h.cluster.Requests, names)
		st.trouble, st.errors = h.Trouble(), h.LastErrors()
		tr.steps = append(tr.steps, st)
	}
	return tr, nil
}

// hostedIndexes are the controllers of a module that upstream's one is compared with.
func (s *Subject) hostedIndexes() ([]int32, error) {
	all, err := s.indexes()
	if err != nil || s.Apart {
		return all, err
	}
	return append(all[:1:1], s.wakers(all)...), nil
}

// goOn shows the controllers what they and others write, some of it late, until a time.
func (h *hosted) goOn(until time.Time) error {
	for time.Now().Before(until) {
		if err := h.take(); err != nil {
			return err
		}
		if len(h.backlog) == 0 {
			select {
			case <-h.wrote:
			case <-time.After(time.Until(until)):
			}
			continue
		}
		time.Sleep(time.Duration(h.r.IntN(30_000_000)))
		if err := h.take(); err != nil {
			return err
		}
		if err := h.deliver(1+h.r.IntN(len(h.backlog)), false); err != nil {
			return err
		}
	}
	return nil
}

func (h *hosted) take() error {
	synctest.Wait()
	more, err := h.cluster.Changes()
	h.backlog = append(h.backlog, more...)
	return err
}

// deliver shows the first changes of the backlog.
func (h *hosted) deliver(n int, initial bool) error {
	for i := range h.backlog[:n] {
		c := &h.backlog[i]
		if err := h.Show(c, initial); err != nil {
			return err
		}
		h.version = max(h.version, c.Version)
	}
	h.backlog = h.backlog[n:]
	h.Reached(h.version)
	return nil
}

// Before has a request take a while, a write perhaps so long that nothing comes of it.
func (h *hosted) Before(ctx context.Context, writes bool) error {
	d := time.Duration(1 + h.r.IntN(20_000_000))
	if writes && h.r.One(60) && time.Now().Before(h.calm) {
		d = time.Duration(h.r.IntN(40)) * time.Second
	}
	return sleep(ctx, d)
}

// After has the answer to a write come late, or never.
func (h *hosted) After(ctx context.Context, writes bool) error {
	select {
	case h.wrote <- struct{}{}:
	default:
	}
	if !writes || !h.r.One(60) || !time.Now().Before(h.calm) {
		return nil
	}
	return sleep(ctx, time.Duration(h.r.IntN(40))*time.Second)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
