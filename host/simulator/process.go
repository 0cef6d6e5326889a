package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/guest"
	"github.com/windlass-dev/windlass/host/views"
)

// Controller is a controller that runs in a simulation.
type Controller struct {
	Guest guest.Guest
	Index int32 // in the guest's manifest
	// Tested tells that it is under test: faults are done to it, and its calls are looked at.
	Tested bool
}

func (c *Controller) manifest() *abi.Controller { return &c.Guest.Manifest().Controllers[c.Index] }

// process is the host: caches, and for each controller what the host remembers of it. A crash ends it.
type process struct {
	run    *run
	caches *caches
	slots  []*slot
}

// slot is one controller in a process.
type slot struct {
	*Controller
	plan   *views.Plan
	writer *effects.Writer

	queue    []abi.KeyRef
	due      map[abi.KeyRef]time.Time // synced then, whatever happens before: requeueAfter, replaced by the next sync's unless that fails
	delayed  map[abi.KeyRef]time.Time // of batched wake-ups and failures
	attempts map[abi.KeyRef]int
	states   map[abi.KeyRef]state
}

type state struct {
	uid  string
	blob []byte
}

// start begins a process: caches that are up to date, all keys to be synced.
func (r *run) start() error {
	p := &process{run: r}
	var plans []*views.Plan
	for _, c := range r.world.controllers {
		plan, err := views.Compile(c.manifest())
		if err != nil {
			return err
		}
		plans = append(plans, plan)
	}
	var err error
	if p.caches, err = newCaches(r.cluster, plans); err != nil {
		return err
	}
	for i, c := range r.world.controllers {
		s := &slot{Controller: c, plan: plans[i], due: map[abi.KeyRef]time.Time{}, delayed: map[abi.KeyRef]time.Time{}, attempts: map[abi.KeyRef]int{}, states: map[abi.KeyRef]state{}}
		s.writer, err = effects.New(effects.Options{
			Plugin: c.Guest.Manifest().Name, Controller: c.manifest(), Config: r.cluster.Config(c.manifest().Name), FieldManager: c.manifest().Name,
			Parallel: 1, StaleWait: time.Nanosecond, LiveCheck: time.Hour, // the simulation waits for nothing: it knows what there is to come
			Stores: func(res abi.Resource) effects.Store {
				if st, ok := p.caches.stores[res]; ok {
					return st
				}
				return nil
			},
			Discovery: r.cluster, Recorder: &recorder{r, c.manifest().Name},
			Wake: func(controller int32, key abi.KeyRef) { p.wake(c.Guest, controller, key) },
		})
		if err != nil {
			return err
		}
		s.writer.Lead()
		s.plan.Keys(p.caches, func(k abi.KeyRef) { s.add(k) })
		if k := c.manifest().Key; k.Single {
			s.add(abi.KeyRef{})
		}
		slices.SortFunc(s.queue, compareKeys)
		p.slots = append(p.slots, s)
	}
	r.process = p
	return nil
}

// stop ends the process.
func (p *process) stop() {
	for _, s := range p.slots {
		s.writer.Close()
	}
}

func compareKeys(a, b abi.KeyRef) int { return strings.Compare(a.String(), b.String()) }

// wake has a key of a sibling synced.
func (p *process) wake(g guest.Guest, controller int32, key abi.KeyRef) {
	for _, s := range p.slots {
		if s.Guest == g && s.Index == controller {
			s.add(key)
		}
	}
}

func (s *slot) add(k abi.KeyRef) {
	if !slices.Contains(s.queue, k) {
		s.queue = append(s.queue, k.Clone())
	}
}

func (s *slot) later(k abi.KeyRef, at time.Time) {
	if t, ok := s.delayed[k]; !ok || at.Before(t) {
		s.delayed[k.Clone()] = at
	}
}

// deliver takes the next change of a resource into the cache, and wakes whom it concerns.
func (p *process) deliver(r abi.Resource) error {
	e, err := p.caches.next(r)
	if err != nil {
		return err
	}
	for _, s := range p.slots {
		s.plan.Wakes(p.caches, e, s.writer.Own, func(k abi.KeyRef, delay time.Duration) {
			if delay > 0 {
				s.later(k, p.run.cluster.now.Add(delay))
				return
			}
			s.add(k)
		})
		s.writer.Progress(r)
	}
	return nil
}

// deliverAll brings all caches up to date.
func (p *process) deliverAll() error {
	for {
		behind := p.caches.behind()
		if len(behind) == 0 {
			return nil
		}
		if err := p.deliver(behind[0]); err != nil {
			return err
		}
	}
}

// ring wakes the keys whose time has come, and tells when the next one's does.
func (p *process) ring() (next time.Time, failing bool) {
	now := p.run.cluster.now
	failing = true
	for _, s := range p.slots {
		for _, times := range []map[abi.KeyRef]time.Time{s.due, s.delayed} {
			for _, k := range slices.SortedFunc(maps.Keys(times), compareKeys) {
				at := times[k]
				if !at.After(now) {
					delete(times, k)
					s.add(k)
					continue
				}
				if s.attempts[k] < patience {
					failing = false
				}
				if next.IsZero() || at.Before(next) {
					next = at
				}
			}
		}
	}
	return next, failing
}

// patience is after how many failures in a row nobody waits any more for a key to succeed.
const patience = 8

// ready are the keys of a slot that can be synced: the cache shows what their last syncs wrote.
func (s *slot) ready() (keys []abi.KeyRef) {
	for _, k := range s.queue {
		if s.writer.Ready(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// recorder takes events down.
type recorder struct {
	run        *run
	controller string
}

func (r *recorder) Event(o runtime.Object, eventType, reason, message string) {
	ref, _ := o.(*corev1.ObjectReference)
	of := ""
	if ref != nil {
		of = ref.Kind + " " + strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/")
	}
	r.run.cluster.events = append(r.run.cluster.events, Event{r.controller, of, eventType, reason, message})
}

func (r *recorder) Eventf(o runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(o, eventType, reason, fmt.Sprintf(format, args...))
}

func (r *recorder) AnnotatedEventf(o runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	r.Event(o, eventType, reason, fmt.Sprintf(format, args...))
}

// called is one call of a controller under test, kept so that it can be made again.
type called struct {
	step     int
	slot     string
	guest    guest.Guest
	key      abi.KeyRef
	request  []byte
	performs []performed
	answer   []byte
}

type performed struct{ in, out []byte }

// errCrashed ends a sync whose process is gone.
var errCrashed = errors.New("the process has crashed")

// sync syncs a key, as host/controller's worker does.
func (p *process) sync(s *slot, key abi.KeyRef) error {
	r := p.run
	s.queue = slices.DeleteFunc(s.queue, func(k abi.KeyRef) bool { return k == key })
	delete(s.delayed, key)
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	var snapshot views.Snapshot
	if err := s.plan.Snapshot(p.caches, key, &snapshot); err != nil {
		return err
	}
	uid, exists := snapshot.KeyObject()
	m := s.manifest()
	request := &abi.SyncRequest{Controller: s.Index, Key: key, Now: r.cluster.now.UnixNano(), Attempt: int32(s.attempts[key]), Settings: "simulated"}
	if st, ok := s.states[key]; ok && (uid == "" || st.uid == "" || st.uid == uid) {
		request.State = st.blob
	}
	snapshot.Request(request)
	session := s.writer.Begin(key, &snapshot)
	defer session.End()
	c := &called{step: r.step, slot: m.Name, guest: s.Guest, key: key, request: abi.AppendRequest(nil, request)}
	if size := len(c.request); size > abi.MessageMax {
		return fmt.Errorf("the snapshot of %s is %d bytes, the limit is %d: its largest view is %s", key.String(), size, abi.MessageMax, snapshot.Largest())
	}
	r.current, r.refusal = &syncing{slot: s, key: key, snapshot: &snapshot}, nil
	defer func() { r.current = nil }()
	answer, _, err := s.Guest.Sync(c.request, func(in []byte) ([]byte, error) {
		var q abi.PerformRequest
		if err := abi.DecodePerform(in, &q); err != nil {
			return nil, err
		}
		if fresh(q.Effects) {
			if err := p.deliverAll(); err != nil {
				return nil, err
			}
		}
		r.look(s, key, q.Effects)
		outcomes, err := session.Perform(ctx, q.Effects)
		if err != nil {
			r.refusal = err
			return nil, err
		}
		if r.crashed {
			return nil, errCrashed
		}
		out := abi.AppendPerformed(nil, &abi.PerformResponse{Outcomes: outcomes})
		c.performs = append(c.performs, performed{in, out})
		return out, nil
	})
	if r.crashed {
		return errCrashed
	}
	failed := func(err error) error {
		s.attempts[key]++
		s.later(key, r.cluster.now.Add(backoff(s.attempts[key])))
		return err
	}
	if err != nil || r.refusal != nil {
		r.broken(s, key, c, errors.Join(err, r.refusal))
		return failed(errors.Join(err, r.refusal))
	}
	c.answer = answer
	var a abi.SyncResponse
	if err := abi.DecodeResponse(answer, &a); err != nil {
		r.broken(s, key, c, err)
		return failed(err)
	}
	if err := checkState(m, &a); err != nil {
		r.broken(s, key, c, err)
		return failed(err)
	}
	if err := session.Check(a.Effects); err != nil {
		r.broken(s, key, c, err)
		return failed(err)
	}
	if s.Tested {
		r.probe(s, c)
		if strings.Contains(a.Error, notInReads) {
			r.found(Finding{Check: Undeclared, Message: oneLine(a.Error)})
		}
	}
	r.look(s, key, a.Effects)
	s.keepState(key, uid, exists, &a)
	err = session.Finish(ctx, a.Effects)
	if r.crashed {
		return errCrashed
	}
	if a.Error != "" {
		err = errors.Join(errors.New(a.Error), err)
	}
	again := time.Duration(a.RequeueAfter)
	if m.Key.Single && again == 0 {
		again = time.Duration(m.Key.Period)
	}
	if effects.NamespaceTerminating(err) {
		err = nil
	}
	s.again(key, r.cluster.now, again, err != nil)
	if err != nil {
		return failed(err)
	}
	delete(s.attempts, key)
	return nil
}

// again sets the key's timer as the host does: after a sync that has failed an earlier one that is due sooner stays.
func (s *slot) again(key abi.KeyRef, now time.Time, after time.Duration, failed bool) {
	due := now.Add(after)
	if was, ok := s.due[key]; ok && failed && (after == 0 || !due.Before(was)) {
		return
	}
	delete(s.due, key)
	if after > 0 {
		s.due[key.Clone()] = due
	}
}

func checkState(m *abi.Controller, a *abi.SyncResponse) error {
	switch {
	case len(a.State) > abi.StateMax:
		return fmt.Errorf("the answer keeps %d bytes of state, the limit is %d", len(a.State), abi.StateMax)
	case len(a.State) > 0 && !m.State:
		return fmt.Errorf("the answer keeps state, which controller %s doesn't declare: set State", m.Name)
	}
	return nil
}

func (s *slot) keepState(key abi.KeyRef, uid string, exists bool, a *abi.SyncResponse) {
	switch {
	case !exists && s.plan.ObjectKeys():
		delete(s.states, key)
	case a.KeepState:
	case len(a.State) == 0:
		delete(s.states, key)
	default:
		s.states[key.Clone()] = state{uid, append([]byte(nil), a.State...)}
	}
}

// backoff is how long a key waits after so many failures in a row.
func backoff(attempts int) time.Duration {
	return min(5*time.Millisecond<<min(attempts-1, 20), 1000*time.Second)
}

// fresh tells whether a question demands a cache that isn't older.
func fresh(all []abi.Effect) bool {
	return slices.ContainsFunc(all, func(e abi.Effect) bool { return e.Ask != nil && e.Ask.Fresh || fresh(e.Members) })
}
