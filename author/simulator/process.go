package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/signing"
	"github.com/windlass-dev/windlass/host/syncer"
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
	syncer syncer.Syncer
	states syncer.States

	queue    []abi.KeyRef
	due      syncer.Timers            // synced then, whatever happens before
	delayed  map[abi.KeyRef]time.Time // of batched wake-ups and failures
	attempts map[abi.KeyRef]int
}

// madeUpKeys are what the simulation's processes sign with.
var madeUpKeys = sync.OnceValues(func() (*signing.MadeUp, error) { return signing.NewMadeUp(time.Now()) })

// startProcess begins a process: caches that are up to date, all keys to be synced.
func (r *run) startProcess() error {
	p := &process{run: r}
	signer, err := madeUpKeys()
	if err != nil {
		return err
	}
	var plans []*views.Plan
	for _, c := range r.world.controllers {
		plan, err := views.Compile(c.manifest())
		if err != nil {
			return err
		}
		plans = append(plans, plan)
	}

	if p.caches, err = newCaches(r.cluster, plans); err != nil {
		return err
	}

	for i, c := range r.world.controllers {
		s := &slot{Controller: c, plan: plans[i], due: syncer.Timers{}, delayed: map[abi.KeyRef]time.Time{},
			attempts: map[abi.KeyRef]int{}}
		s.syncer.World, s.syncer.States = p.caches, &s.states
		s.writer, err = effects.New(effects.Options{
			Plugin: c.Guest.Manifest().Name, Controller: c.manifest(), Config: r.cluster.Config(c.manifest().Name),
			FieldManager: c.manifest().Name,
			// the simulation waits for nothing: it knows what there is to come
			Parallel: 1, StaleWait: time.Nanosecond, LiveCheck: time.Hour,
			Seen: s.plan.Seen, Signer: signer,
			Stores: func(res abi.Resource) effects.Store {
				if st, ok := p.caches.stores[res]; ok {
					return st
				}
				return nil
			},
			Discovery: r.cluster, Recorder: &recorder{r, c.manifest().Name},
			Wake: func(_ abi.KeyRef, controller int32, key abi.KeyRef) { p.wakeSibling(c.Guest, controller, key) },
		})
		if err != nil {
			return err
		}
		s.writer.Lead()
		s.plan.Keys(p.caches, func(k abi.KeyRef) { s.enqueue(k) })
		if k := c.manifest().Key; k.Single {
			s.enqueue(abi.KeyRef{})
		}
		slices.SortFunc(s.queue, compareKeys)
		p.slots = append(p.slots, s)
	}

	r.process = p
	return nil
}

// stopProcess ends the process.
func (p *process) stopProcess() {
	for _, s := range p.slots {
		s.writer.Close()
	}
}

func compareKeys(a, b abi.KeyRef) int { return strings.Compare(a.String(), b.String()) }

// wakeSibling has a key of a sibling synced.
func (p *process) wakeSibling(g guest.Guest, controller int32, key abi.KeyRef) {
	for _, s := range p.slots {
		if s.Guest == g && s.Index == controller {
			s.enqueue(key)
		}
	}
}

func (s *slot) enqueue(k abi.KeyRef) {
	if !slices.Contains(s.queue, k) {
		s.queue = append(s.queue, k.Clone())
	}
}

func (s *slot) enqueueAt(k abi.KeyRef, at time.Time) {
	if t, ok := s.delayed[k]; !ok || at.Before(t) {
		s.delayed[k.Clone()] = at
	}
}

// deliver takes the next change of a resource into the cache, and wakes whom it concerns.
func (p *process) deliver(r abi.Resource) error {
	e, err := p.caches.takeChange(r)
	if err != nil {
		return err
	}
	for _, s := range p.slots {
		s.plan.Wakes(p.caches, e, s.writer.Own, func(k abi.KeyRef, delay time.Duration) {
			if delay > 0 {
				s.enqueueAt(k, p.run.cluster.now.Add(delay))
				return
			}
			s.enqueue(k)
		})
		s.writer.Progress(r)
	}
	return nil
}

// deliverAll brings all caches up to date.
func (p *process) deliverAll() error {
	for {
		behind := p.caches.resourcesBehind()
		if len(behind) == 0 {
			return nil
		}
		if err := p.deliver(behind[0]); err != nil {
			return err
		}
	}
}

// wakeDueKeys wakes the keys whose time has come, and reports when the next one's does.
func (p *process) wakeDueKeys() (next time.Time, failing bool) {
	now := p.run.cluster.now
	failing = true
	for _, s := range p.slots {
		for _, times := range []map[abi.KeyRef]time.Time{s.due, s.delayed} {
			for _, k := range slices.SortedFunc(maps.Keys(times), compareKeys) {
				at := times[k]
				if !at.After(now) {
					delete(times, k)
					s.enqueue(k)
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

// readyKeys returns the keys of a slot that can be synced: the cache shows what their last syncs wrote.
func (s *slot) readyKeys() (keys []abi.KeyRef) {
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

func (r *recorder) AnnotatedEventf(o runtime.Object, _ map[string]string, eventType, reason, format string,
	args ...any) {
	r.Event(o, eventType, reason, fmt.Sprintf(format, args...))
}

// called is one call of a controller under test, kept so that it can be made again. As a witness of the sync it learns
// what was said.
type called struct {
	step     int
	slot     string
	guest    guest.Guest
	key      abi.KeyRef
	request  []byte
	performs []record.Perform
	refusal  error // of a perform
	answer   []byte
}

// Request takes the call as the guest gets it.
func (c *called) Request(b []byte) { c.request = bytes.Clone(b) }

// Performed takes what the guest asks for in the middle of the sync, and what it is told.
func (c *called) Performed(in, out []byte, err error) {
	if err != nil {
		c.refusal = err
		return
	}
	c.performs = append(c.performs, record.Perform{In: bytes.Clone(in), Out: bytes.Clone(out)})
}

// Answered takes the guest's answer.
func (c *called) Answered(b []byte) { c.answer = append([]byte{}, b...) }

// errCrashed ends a sync whose process is gone.
var errCrashed = errors.New("the process has crashed")

// syncKey syncs a key. When it is synced again is the simulation's matter, as it is that of host/controller's worker.
func (p *process) syncKey(s *slot, key abi.KeyRef) error {
	r := p.run
	s.queue = slices.DeleteFunc(s.queue, func(k abi.KeyRef) bool { return k == key })
	delete(s.delayed, key)
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()

	m := s.manifest()
	c := &called{step: r.step, slot: m.Name, guest: s.Guest, key: key}
	turn := &syncer.Turn{
		Key: key, Now: r.cluster.now, Attempt: int32(s.attempts[key]), Timer: s.due.Until(key, r.cluster.now),
		Witnesses: []syncer.Witness{c},
		Permit:    func(all []abi.Effect) error { return p.permitEffects(s, key, all) },
		Accepted:  func(a *abi.SyncResponse) { r.accepted(s, c, a) },
	}
	target := &syncer.Target{
		Plugin: s.Guest.Manifest().Name, Settings: "simulated", Manifest: m, Index: s.Index,
		Module: guest.Sandboxed{Guest: s.Guest}, Plan: s.plan, Writer: s.writer,
	}
	if s.syncer.Prepare(ctx, target, turn) == nil {
		r.current = &syncing{slot: s, key: key, snapshot: s.syncer.Snapshot()}
		defer func() { r.current = nil }()
	}
	o := s.syncer.Sync(ctx)
	if r.crashed {
		return errCrashed
	}
	if o.Failed != nil {
		r.reportBroken(s, c, o.Failed)
	}
	if err := r.checkFailedAsk(&o); err != nil {
		return err
	}

	if o.Accepted {
		s.due.Set(key, r.cluster.now, target.Next(o.Asked), !o.Done())
	}
	if !o.Done() {
		s.attempts[key]++
		s.enqueueAt(key, r.cluster.now.Add(backoff(s.attempts[key])))
		return o.Err
	}
	delete(s.attempts, key)
	return nil
}

// permitEffects looks at effects before they are done; the process that has crashed does none.
func (p *process) permitEffects(s *slot, key abi.KeyRef, all []abi.Effect) error {
	if p.run.crashed {
		return errCrashed
	}
	if demandsFresh(all) {
		if err := p.deliverAll(); err != nil {
			return err
		}
	}
	p.run.checkEffects(s, key, all)
	p.run.failAsk(s, all)
	return nil
}

// accepted looks at an answer that has passed all checks, before it is done.
func (r *run) accepted(s *slot, c *called, a *abi.SyncResponse) {
	if !s.Tested || r.crashed {
		return
	}
	r.probeCall(s, c)
	if strings.Contains(a.Error, notInReads) {
		r.found(Finding{Check: Undeclared, Message: oneLine(a.Error)})
	}
}

// backoff is how long a key waits after so many failures in a row.
func backoff(attempts int) time.Duration {
	return min(5*time.Millisecond<<min(attempts-1, 20), 1000*time.Second)
}

// demandsFresh reports whether a question demands a cache that isn't older.
func demandsFresh(all []abi.Effect) bool {
	return slices.ContainsFunc(all, func(e abi.Effect) bool {
		return e.Ask != nil && e.Ask.Fresh || demandsFresh(e.Members)
	})
}
