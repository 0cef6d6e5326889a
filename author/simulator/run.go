package simulator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// setting is what all runs of an exploration share.
type setting struct {
	world       *World
	crds        []*Object
	controllers []*Controller
	keep        []string
}

// Scenario is what is done to a run.
type Scenario struct {
	// Kind is one of those below.
	Kind string `json:"kind"`
	// Seed picks the order of events; 0 is the undisturbed order.
	Seed int64 `json:"seed,omitempty"`
	// Until is the step up to which the run is out of order; from there on all goes in order. 0: to the end.
	Until int `json:"until,omitempty"`
	// Write is the number, from 1, of the write that a fault is done to.
	Write int `json:"write,omitempty"`
	// Ask is the number, from 1, of the ask for a lazy view that fails.
	Ask int `json:"ask,omitempty"`
	// Foreground has the key objects deleted in the foreground.
	Foreground bool `json:"foreground,omitempty"`
}

// The kinds of scenarios.
const (
	Undisturbed = "undisturbed"
	Shuffled    = "shuffled"
	CrashBefore = "crash before"
	CrashAfter  = "crash after"
	Forbid      = "forbidden"
	Conflict    = "conflict"
	AskFails    = "an ask that fails"
	NoChildren  = "nothing can be created"
	Labelled    = "labelled by others"
	Bystanding  = "bystanders"
	Held        = "a child that stays"
	OtherTime   = "another time"
	Zeroed      = "numbers set to 0"
	Resynced    = "all synced again after each change"
)

func (s Scenario) String() string {
	out := s.Kind
	if s.Write > 0 {
		out += fmt.Sprintf(" write %d", s.Write)
	}
	if s.Ask > 0 {
		out += fmt.Sprintf(", ask %d", s.Ask)
	}
	if s.Seed != 0 {
		out += fmt.Sprintf(", seed %d", s.Seed)
	}
	if s.Foreground {
		out += ", deleted in the foreground"
	}
	return out
}

// run is one run of a scenario.
type run struct {
	ctx      context.Context
	world    *setting
	scenario Scenario
	found    func(Finding)

	cluster *Cluster
	process *process
	rand    *rand.Rand
	shift   time.Duration
	step    int
	log     []string // of each step, what it was
	busy    int      // writes since somebody else last did something
	crashed bool
	current *syncing
	deeds   int       // that are done
	jumped  int       // times in a row that the clock has gone on and nothing has changed
	since   time.Time // when somebody else last did something
	steps   int       // before that
	endless bool      // it has been found to go on and on

	writes      []string // by controllers under test
	asks        []string // for lazy views, by them: for which
	failedAsk   *failedAsk
	made        map[types.UID]origin
	calls       []*called
	marks       map[types.UID]bool // of the objects that others have labelled
	stands      map[types.UID]map[string]any
	statused    map[types.UID]bool // objects whose status controllers under test write
	before      *Object            // of the write that is being done
	inRest      bool               // it is being synced though nothing has happened
	changedLast string             // what the first write since then changed
	// observe is told of each write of controllers under test, calling takes the place of their syncs. Either may be nil.
	observe func(w *write, old, o *Object)
	calling func(s *slot, key abi.KeyRef) error
	syncs   int
}

// origin tells by which sync an object was made.
type origin struct {
	step      int
	at, title string
	resource  string
	owner     types.UID // the key's object
}

// syncing is the sync that runs.
type syncing struct {
	slot     *slot
	key      abi.KeyRef
	snapshot *views.Snapshot
}

func (s *syncing) String() string {
	return "sync " + s.slot.manifest().Name + " " + strings.TrimSpace(s.key.String())
}

// end is what a run ended with.
type end struct {
	settled, deleted State
	statuses         map[string]statusOfKey // of the keys' objects, before they were deleted
	writes, asks     []string
	steps            []string
}

// errStop ends a run whose end doesn't matter any more.
var errStop = errors.New("stop")

func newRun(ctx context.Context, w *setting, s Scenario, found func(Finding)) (*run, error) {
	r := &run{ctx: ctx, world: w, scenario: s, made: map[types.UID]origin{}, marks: map[types.UID]bool{},
		statused: map[types.UID]bool{}, stands: map[types.UID]map[string]any{}}
	r.found = func(f Finding) {
		f.Scenario, f.Step = s, r.step
		if f.At == "" && r.current != nil {
			f.At = r.current.String()
		}
		f.Steps = slices.Clone(r.log)
		found(f)
	}

	now := w.world.Now
	if now.IsZero() {
		now = begin
	}
	if s.Kind == OtherTime {
		r.shift = -10 * 365 * 24 * time.Hour
	}

	utilrand.Seed(1 + s.Seed)
	r.rand = rand.New(rand.NewPCG(uint64(s.Seed), 1))
	var err error
	if r.cluster, err = NewCluster(now.Add(r.shift)); err != nil {
		return nil, err
	}

	for _, crd := range w.crds {
		if err := r.cluster.Define(crd); err != nil {
			return nil, err
		}
	}

	// a plugin that remembers UIDs from run to run isn't helped by it
	r.cluster.uids = int(s.Seed+1)*1_000_000 + s.Write*10_000 + len(s.Kind)*1000
	if err := r.cluster.populate(w.world.Objects, r.shift); err != nil {
		return nil, err
	}
	r.cluster.intercept, r.cluster.wrote = r.intercept, r.noteWrite
	r.since = r.cluster.now
	return r, r.startProcess()
}

// playScenario runs the scenario from beginning to end.
func (r *run) playScenario() (*end, error) {
	defer func() { r.process.stopProcess() }()
	e := &end{}
	if err := r.runUntilIdle(); err != nil {
		return nil, err
	}

	if err := r.disturbCluster(); err != nil {
		return nil, err
	}
	if err := r.runUntilIdle(); err != nil {
		return nil, err
	}

	for r.deeds < len(r.world.world.Then) && !r.endless {
		if err := r.nextDeed(); err != nil {
			return nil, err
		}
		if err := r.runUntilIdle(); err != nil {
			return nil, err
		}
		if r.scenario.Kind == Resynced {
			if err := r.resyncAll(); err != nil {
				return nil, err
			}
		}
	}

	if !r.endless {
		r.checkForeign()
		e.settled, e.statuses = r.normalState(), r.statuses()
		if err := r.syncAtRest(); err != nil {
			return nil, err
		}
	}

	if err := r.teardown(); err != nil {
		return nil, err
	}
	e.deleted = r.normalState()
	r.leftovers()
	if err := r.teardownNamespaces(); err != nil {
		return nil, err
	}
	if r.endless {
		return nil, errStop // where it ends is chance: there is nothing to compare
	}
	e.writes, e.asks, e.steps = r.writes, r.asks, r.log
	return e, nil
}

// begin begins what follows on something that somebody else does.
func (r *run) begin() { r.busy, r.jumped, r.since, r.steps = 0, 0, r.cluster.now, r.step }

// logStep takes a step down.
func (r *run) logStep(what string) {
	r.step++
	r.log = append(r.log, what)
}

// nextDeed does what somebody does next.
func (r *run) nextDeed() error {
	d := &r.world.world.Then[r.deeds]
	r.deeds++
	r.logStep(d.String())
	r.begin()
	if err := r.cluster.performDeed(d, r.shift); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("then[%d]: %w", r.deeds-1, err)
	}
	return nil
}

// inOrder reports whether the next step is that of the undisturbed order.
func (r *run) inOrder() bool {
	return r.scenario.Seed == 0 || r.scenario.Until > 0 && r.step >= r.scenario.Until
}

// Bounds of a run.
const (
	writesMost = 300 // of controllers under test since somebody else did something, and a few for each object
	stepsMost  = 20_000
	jumpsMost  = 100
	jumpMost   = 24 * time.Hour
)

// runUntilIdle goes on until there is nothing to do, or until it is clear that there always will be.
func (r *run) runUntilIdle() error {
	for {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		did, err := r.runStep()
		if err != nil {
			return err
		}
		if !did {
			return nil
		}
		objects := 0
		for _, of := range r.cluster.objects {
			objects += len(of)
		}
		if r.busy > writesMost+20*objects || r.step-r.steps > stepsMost {
			r.endless = true
			r.reportEndless()
			return nil
		}
	}
}

// reportEndless reports that it goes on and on, with the loop.
func (r *run) reportEndless() {
	tail := r.log[max(0, len(r.log)-200):]
	loop := tail
	for size := 1; size <= len(tail)/2; size++ {
		if slices.Equal(tail[len(tail)-size:], tail[len(tail)-2*size:len(tail)-size]) {
			loop = tail[len(tail)-size:]
			break
		}
	}
	if len(loop) > 12 {
		loop = loop[len(loop)-12:]
	}
	last := ""
	if n := len(r.writes); n > 0 {
		last = r.writes[n-1]
	}
	r.found(Finding{
		Check: Settles, Message: fmt.Sprintf("it goes on writing for ever, last %s: write only what differs from what is there, and compare without times; if it is meant to write again and again, say in the world until when, such as until: 72h", last),
		Detail: "the loop:\n  " + strings.Join(loop, "\n  ") + "\nits last writes:\n  " +
			strings.Join(r.writes[max(0, len(r.writes)-6):], "\n  "),
	})
}

// runStep does one step; false when there is nothing to do.
func (r *run) runStep() (bool, error) {
	p := r.process
	changes := len(r.cluster.changes)
	defer func() {
		if len(r.cluster.changes) != changes {
			r.jumped = 0
		}
	}()

	next, failing := p.wakeDueKeys()
	behind := p.caches.resourcesBehind()
	type candidate struct {
		slot *slot
		key  abi.KeyRef
	}

	var ready []candidate
	for _, s := range p.slots {
		for _, k := range s.readyKeys() {
			ready = append(ready, candidate{s, k})
		}
	}

	chores := r.cluster.pendingChores()
	var due []chore
	for _, c := range chores {
		if !c.due.After(r.cluster.now) {
			due = append(due, c)
		} else if next.IsZero() || c.due.Before(next) {
			next, failing = c.due, false
		} else {
			failing = false
		}
	}

	sync := func(c candidate) (bool, error) { return true, r.syncStep(c.slot, c.key) }
	if r.inOrder() {
		switch {
		case len(behind) > 0:
			return true, r.deliver(behind[0])
		case len(ready) > 0:
			return sync(ready[0])
		case len(due) > 0:
			return true, r.runChore(due[0])
		}
		return r.advanceClock(next, failing)
	}

	// Out of order: a cache may be late for as long as the key's own writes allow; people don't wait either.
	deeds := 0
	if r.deeds < len(r.world.world.Then) && !r.world.world.Then[r.deeds].Settled && r.rand.IntN(4) == 0 &&
		r.cluster.canPerform(&r.world.world.Then[r.deeds]) {
		deeds = 1
	}

	late := behind
	behind = slices.DeleteFunc(slices.Clone(behind), r.staysBehind)
	n := len(behind) + len(ready) + len(due) + deeds
	switch {
	case n == 0 && len(late) > 0:
		return true, r.deliver(late[0])
	case n == 0:
		return r.advanceClock(next, failing)
	}

	// Syncs are as likely as all else together: else caches would hardly ever be behind.
	if len(ready) > 0 && r.rand.IntN(2) == 0 {
		c := ready[r.rand.IntN(len(ready))]
		if err := r.syncStep(c.slot, c.key); err != nil {
			return true, err
		}
		if r.rand.IntN(8) == 0 {
			c.slot.enqueue(c.key) // once more, for no reason
		}
		return true, nil
	}

	switch i := r.rand.IntN(n); {
	case i < len(behind):
		return true, r.deliver(behind[i])
	case i < len(behind)+len(ready):
		return sync(ready[i-len(behind)])
	case i < len(behind)+len(ready)+len(due):
		return true, r.runChore(due[i-len(behind)-len(ready)])
	}
	return true, r.nextDeed()
}

// staysBehind reports whether a resource's cache stays behind for now. In every other run out of order one resource's
// does for some twenty steps, or until nothing else can go on.
func (r *run) staysBehind(res abi.Resource) bool {
	all := schema.Sorted(r.process.caches.stores)
	return r.scenario.Seed%2 == 0 && all[int(r.scenario.Seed/2)%len(all)] == res && r.rand.IntN(20) > 0
}

func (r *run) deliver(res abi.Resource) error {
	r.logStep("the cache of " + res.String() + " shows the next change")
	return r.process.deliver(res)
}

func (r *run) runChore(c chore) error {
	r.logStep(c.what)
	err := c.do()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// advanceClock has the clock go on to when there is something to do.
func (r *run) advanceClock(next time.Time, failing bool) (bool, error) {
	if next.IsZero() || failing {
		return false, nil
	}
	if until := r.world.world.Until; until != nil {
		if next.After(r.since.Add(until.Duration)) {
			return false, nil
		}
	} else if r.jumped >= jumpsMost || next.Sub(r.cluster.now) > jumpMost {
		return false, nil
	}
	r.jumped++
	r.logStep(fmt.Sprintf("the clock goes on by %s", next.Sub(r.cluster.now).Round(time.Millisecond)))
	r.cluster.now = next
	return true, nil
}

// syncStep is a step that syncs a key.
func (r *run) syncStep(s *slot, key abi.KeyRef) error {
	r.logStep("sync " + s.manifest().Name + " " + strings.TrimSpace(key.String()))
	r.syncs++
	if r.calling != nil && s.Tested {
		return r.calling(s, key)
	}
	before := len(r.cluster.changes)
	at := r.step - 1
	err := r.process.syncKey(s, key)
	if errors.Is(err, errCrashed) {
		r.log[at] += " (the process crashes)"
		return r.restart()
	}
	if err != nil {
		r.log[at] += ": " + oneLine(err.Error())
		if errors.Is(err, errStop) {
			return err
		}
	}
	if len(r.cluster.changes) > before {
		r.cluster.now = r.cluster.now.Add(time.Second) // time goes on
	}
	return nil
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}

// restart begins a new process after a crash.
func (r *run) restart() error {
	r.process.stopProcess()
	r.crashed = false
	r.logStep("another process starts, which knows nothing")
	return r.startProcess()
}
