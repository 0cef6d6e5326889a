package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/tracing"
	"github.com/windlass-dev/windlass/host/views"
)

// worker syncs one key after another with buffers of its own.
type worker struct {
	c        *Controller
	snapshot views.Snapshot
	request  abi.SyncRequest
	answer   abi.SyncResponse
	buffer   []byte // the answer's bytes, copied out of the guest: its strings and objects point into it

	performs []span // of the sync

	recording *record.Recording
	veil      *record.Veil
}

// span is when something began and ended.
type span struct{ from, to time.Time }

// timed is how many performs of a sync are kept for its metrics' times.
const timed = 1024

// seconds are those that an update stands for, by the host's clock.
func (w *worker) seconds(u *abi.MetricUpdate, start time.Time) float64 {
	from, to := int(u.From)-1, int(u.To)-2
	switch {
	case u.From == 0:
		return time.Since(start).Seconds()
	case from < 0 || to < from || to >= len(w.performs):
		return 0
	}
	return w.performs[to].to.Sub(w.performs[from].from).Seconds()
}

// next syncs one key; false when the queue has ended.
func (w *worker) next(ctx context.Context) bool {
	c := w.c
	key, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(key)
	c.held(ctx)
	if c.stopping() {
		return true // its successor, or the next process, syncs the key
	}
	v := c.take()
	defer v.end()
	echoed, ok := c.admit(v, key)
	if !ok {
		return true
	}
	c.hold(key)
	defer c.resume(v, key)
	start := time.Now()
	s := Sync{Result: "ok"}
	w.recording = v.Recorder.Begin(key, start)
	w.veil = record.NewVeil(v.Secrets)
	traced, root := c.traced(ctx, v, key)
	err := w.sync(traced, v, key, &s)
	err, s.failed = w.veil.Error(err), w.veil.Error(s.failed)
	s.Duration = time.Since(start)
	c.wrote(key, s.writes, echoed, err, s.Duration)
	if s.deferred > 0 {
		err, s.Result, s.failed = nil, "deferred", nil
	}
	if err != nil && s.Result == "ok" {
		s.Result = "error"
	}
	y := youngOf(err)
	if y != nil {
		s.Result, s.Behind = "stale", y.Resource
	} else {
		s.Code = code(err)
	}
	w.recording.End(s.Result, err)
	finished(root, &s, err)
	v.Metrics.Synced(s)
	if ctx.Err() == nil && y == nil && !effects.NotGranted(err) { // that the operator grants less than the manifest has speaks neither for a version nor against it
		c.tried(v, s.failed)
		c.judged(v, key, s.failed)
	}
	switch {
	case y != nil:
		c.await(v, key, y)
	case s.deferred > 0:
		c.queue.AddAfter(key, s.deferred)
		c.stuck.held(key, Deferred, s.Result, errDeferred, s.deferred)
	case err == nil:
		c.queue.Forget(key)
		c.stuck.done(key)
	case ctx.Err() != nil:
		// The process is ending; a successor syncs the key anew.
	case effects.NamespaceTerminating(err):
		c.queue.Forget(key)
		c.stuck.done(key)
	case s.Result == "error" && v.Manifest.Backoff.Retries > 0 && c.queue.NumRequeues(key) >= int(v.Manifest.Backoff.Retries):
		c.log.Error(err, "Gave up on key until it changes, or its resync comes", "plugin", v.Plugin, "digest", short(v.Digest), "key", key.String(), "attempts", c.queue.NumRequeues(key)+1)
		c.queue.Forget(key)
		c.stuck.held(key, GivenUp, s.Result, err, 0)
	case apierrors.IsConflict(err):
		// Somebody else was quicker: the key waits for the cache to show it.
		c.log.V(2).Info("Object has changed meanwhile, will retry", "plugin", v.Plugin, "digest", short(v.Digest), "key", key.String(), "err", err)
		c.stuck.held(key, Failing, s.Result, err, c.again(key))
	default:
		c.log.Error(err, "Sync failed, will retry", "plugin", v.Plugin, "digest", short(v.Digest), "key", key.String(), "result", s.Result)
		c.stuck.held(key, Failing, s.Result, err, c.retry(key, s.Result))
	}
	if v := c.log.V(4); v.Enabled() {
		v.Info("Synced", "key", key.String(), "result", s.Result, "duration", s.Duration, "guest", s.Guest, "fuel", s.Fuel, "snapshotBytes", s.SnapshotBytes, "outcomeBytes", s.OutcomeBytes, "effects", s.Effects)
	}
	return true
}

// admit tells whether the key may be synced now; one that may not comes back when it may. echoed is whether nothing but its own writes have woken it.
func (c *Controller) admit(v *Version, key Key) (echoed, ok bool) {
	if !v.Writer.Ready(key) {
		// The cache doesn't show this key's last writes yet: the key waits on the store, not in the queue.
		behind := v.Writer.Behind(key)
		v.Metrics.Synced(Sync{Result: "stale", Behind: behind})
		c.waits.held(key, "parked", behind)
		v.Writer.Park(key, func() { c.queue.Add(key) })
		return false, false
	}
	if wait := c.linger(key); wait > 0 {
		c.waits.held(key, "batches", abi.Resource{})
		c.queue.AddAfter(key, wait)
		return false, false
	}
	echoed, wait := c.begin(v, key)
	if wait > 0 {
		c.waits.held(key, "rests", abi.Resource{})
		c.queue.AddAfter(key, wait)
		return false, false
	}
	return echoed, true
}

// retry holds a failed key back, and tells how long; one that wrote before its sandbox failed is held back longer each time, for it would write again.
func (c *Controller) retry(key Key, result string) time.Duration {
	c.mu.Lock()
	n := c.traps[key]
	c.mu.Unlock()
	if result == "performed" && n > 0 {
		wait := min(time.Second<<min(n-1, 8), 5*time.Minute)
		c.queue.AddAfter(key, wait)
		return wait
	}
	return c.again(key)
}

// again is the queue's AddRateLimited, which doesn't tell how long. A timer of the key's that comes first is its next attempt: one is enough.
func (c *Controller) again(key Key) time.Duration {
	wait := c.limiter.When(key)
	if due, ok := c.untilTimer(key); ok && due <= wait {
		return due
	}
	c.queue.AddAfter(key, wait)
	return wait
}

var errDeferred = errors.New("the plugin's budget of deletes is used up: the key has a turn when there are some again")

func (w *worker) sync(ctx context.Context, v *Version, key Key, s *Sync) error {
	c, start := w.c, time.Now()
	_, step := tracing.Start(ctx, "snapshot")
	err := v.Plan.Snapshot(c.World, key, &w.snapshot)
	step.End()
	if err != nil {
		return fmt.Errorf("plugin %s: snapshot of %s: %w", v.Plugin, key.String(), err)
	}
	uid, exists := w.snapshot.KeyObject()
	r := &w.request
	*r = abi.SyncRequest{
		Controller: v.Index, Key: key, Now: time.Now().UnixNano(), Attempt: int32(c.queue.NumRequeues(key)),
		Settings: v.Settings, State: c.stateOf(key, uid), Views: r.Views[:0],
	}
	w.snapshot.Request(r)
	size := abi.SizeRequest(r)
	s.SnapshotBytes = size
	if size > abi.MessageMax {
		return fmt.Errorf("plugin %s: the snapshot of %s is %d bytes, the limit is %d: its largest view is %s; read fewer fields or select fewer objects",
			v.Plugin, key.String(), size, abi.MessageMax, w.snapshot.Largest())
	}
	twin := c.shadowed(v, r)
	session := v.Writer.Begin(key, &w.snapshot)
	defer func() {
		s.writes, s.deferred = session.Writes(), session.Deferred()
		if !exists && v.Plan.ObjectKeys() {
			v.Writer.Forget(key) // what it published ends with the object
		}
		session.End()
	}()
	performed := 0
	w.performs = w.performs[:0]
	call := &sandbox.Call{
		Size: size,
		Write: func(b []byte) {
			b = abi.AppendRequest(b[:0], r)
			w.recording.Request(b)
			w.veil.Request(b)
		},
		Perform: func(ctx context.Context, in []byte) (out []byte, err error) {
			began := time.Now()
			defer func() {
				if len(w.performs) < timed {
					w.performs = append(w.performs, span{began, time.Now()})
				}
				w.recording.Performed(in, out, err)
				w.veil.Performed(in, out)
				twin.saw(in, out, err)
				s.OutcomeBytes += len(out)
			}()
			var p abi.PerformRequest
			if err := abi.DecodePerform(in, &p); err != nil {
				return nil, fmt.Errorf("%w: perform: %w", errRefused, err)
			}
			performed += len(p.Effects)
			ctx, step := tracing.Start(ctx, "perform")
			outcomes, err := session.Perform(ctx, p.Effects)
			step.End()
			if err != nil {
				return nil, err
			}
			return abi.AppendPerformed(nil, &abi.PerformResponse{Outcomes: outcomes}), nil
		},
		Log: func(level int32, msg string) {
			c.log.Info(printable.Line(w.veil.Text(msg), abi.LogMax), "plugin", v.Plugin, "digest", short(v.Digest), "key", key.String())
		},
	}
	w.answer = abi.SyncResponse{}
	inside, step := tracing.Start(ctx, "guest")
	stats, err := v.Module.Sync(inside, call, func(b []byte) error {
		w.buffer = append(w.buffer[:0], b...)
		w.recording.Answered(b)
		w.veil.Answered(b)
		if err := abi.DecodeResponse(w.buffer, &w.answer); err != nil {
			return fmt.Errorf("plugin %q: malformed answer of %d bytes: %w: build the plugin with an SDK of ABI v1", v.Plugin, len(b), err)
		}
		return nil
	})
	called(step, &stats, err)
	s.Guest, s.Fuel, s.MemoryBytes, s.Effects = stats.Duration, stats.Fuel, stats.Memory, performed
	if twin != nil {
		defer twin.run(ctx, c, v, &w.answer, w.veil, err) // after the live writes, which don't wait for it
	}
	if err != nil {
		s.Result = "trap"
		if errors.Is(err, errRefused) || effects.Refused(err) {
			s.Result = "refused"
		}
		s.failed = err
		if session.Writes() > 0 && session.Deferred() == 0 {
			s.Result = "performed"
			c.mu.Lock()
			c.traps[key]++
			c.mu.Unlock()
		}
		return err // it names the plugin
	}
	a := &w.answer
	s.Effects += len(a.Effects)
	if len(a.State) > abi.StateMax {
		s.Result = "refused"
		return s.fail(fmt.Errorf("plugin %s: the answer keeps %d bytes of state, the limit is %d", v.Plugin, len(a.State), abi.StateMax))
	}
	if !c.mayKeep(key, len(a.State)) {
		s.Result = "refused"
		return s.fail(fmt.Errorf("plugin %s: the answer keeps %d bytes of state, with which controller %s would keep more than %d: keep less, in fewer keys", v.Plugin, len(a.State), v.Manifest.Name, statesMax))
	}
	if len(a.State) > 0 && !v.Manifest.State {
		s.Result = "refused"
		return s.fail(fmt.Errorf("plugin %s: the answer keeps state, which controller %s doesn't declare", v.Plugin, v.Manifest.Name))
	}
	if err := session.Check(a.Effects); err != nil {
		s.Result = "refused"
		return s.fail(err) // it names the plugin
	}
	c.mu.Lock()
	delete(c.traps, key)
	c.mu.Unlock()
	for i := range a.Metrics {
		if u := &a.Metrics[i]; math.IsNaN(u.Value) {
			u.Value = w.seconds(u, start)
		}
	}
	v.Metrics.Answered(key, within(&w.snapshot, key, a.Metrics), func(metric int32) ([]string, bool) { return v.Labels.Of(&w.snapshot, metric) })
	if v.Plan.ObjectKeys() && !exists {
		v.Metrics.Gone(key)
	}
	c.keepState(v, key, uid, exists, a)
	err = session.Finish(ctx, a.Effects)
	if a.Error != "" {
		err = errors.Join(errors.New(printable.Line(a.Error, abi.LogMax)), err)
	}
	again := c.calmed(v, key, time.Duration(a.RequeueAfter), session.Writes())
	if k := v.Manifest.Key; k.Single && again == 0 {
		again = time.Duration(k.Period)
	}
	c.after(key, again, err != nil && !effects.NamespaceTerminating(err))
	return err
}

// within leaves out the updates whose namespace is neither the key's nor an object's of the snapshot: no guest makes
// series of its own invention.
func within(s *views.Snapshot, key Key, updates []abi.MetricUpdate) []abi.MetricUpdate {
	return slices.DeleteFunc(updates, func(u abi.MetricUpdate) bool {
		return u.Namespace != "" && u.Namespace != key.Namespace && !s.In(u.Namespace)
	})
}

// code is the HTTP status that a sync ended with: 200, that of the write that failed, or 500.
func code(err error) int {
	if err == nil {
		return http.StatusOK
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if c := int(status.Status().Code); c >= 100 && c < 600 {
			return c
		}
	}
	return http.StatusInternalServerError
}
