package controller

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/awaiting"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/syncer"
)

// worker syncs one key after another.
type worker struct {
	c      *Controller
	syncer syncer.Syncer
	awaits *awaiting.Sync
	log    func(level int32, text string)
	refuse func([]abi.Effect) error

	base, counted context.Context // what syncs are given, and the context of theirs that counts what they wait for

	// Of the sync that runs:
	version   *Version
	turn      syncer.Turn
	recording *record.Recording
	veil      *record.Veil
	excused   bool // it failed, and doesn't count against a version on trial
}

func newWorker(c *Controller) *worker {
	w := &worker{c: c, syncer: syncer.Syncer{World: c.World, States: &c.states}, awaits: c.awaited.Sync()}
	w.log, w.refuse = w.logGuest, w.refuseWakes
	return w
}

// logGuest logs what the plugin says.
func (w *worker) logGuest(_ int32, text string) {
	v := w.version
	w.c.log.Info(printable.Line(w.veil.Text(text), abi.LogMax), "plugin", v.Plugin, "digest", shortDigest(v.Digest), "key",
		w.turn.Key.String())
}

// refuseWakes refuses keys to wake that have a secret in their names, or for which the plugin's memory doesn't suffice.
func (w *worker) refuseWakes(all []abi.Effect) error {
	if err := w.c.Memory.Room(wokenSize(all)); err != nil {
		return err
	}
	if w.veil == nil {
		return nil
	}
	return w.refuseSecrets(all, "")
}

// wokenSize is what the keys take that effects wake.
func wokenSize(all []abi.Effect) (size int64) {
	for i := range all {
		if e := &all[i]; e.Kind == abi.EffectWake && e.Wake != nil {
			size += keySize(e.Wake.Key)
		} else if len(e.Members) > 0 {
			size += wokenSize(e.Members)
		}
	}
	return size
}

// refuseSecrets refuses to wake keys that have a secret in their names: keys stand in the log, in metrics, in
// recordings and in what "windlass get keys" shows.
func (w *worker) refuseSecrets(all []abi.Effect, prefix string) error {
	for i := range all {
		e := &all[i]
		if len(e.Members) > 0 {
			if err := w.refuseSecrets(e.Members, prefix+strconv.Itoa(i)+"."); err != nil {
				return err
			}
		}
		if e.Kind != abi.EffectWake || e.Wake == nil {
			continue
		}

		k := &e.Wake.Key
		for _, part := range []string{k.Namespace, k.Name, k.Resource} {
			if w.veil.Text(part) != part {
				v := w.version
				return &effects.RefusedError{Plugin: v.Plugin, Controller: v.Manifest.Name, Key: w.turn.Key,
					Effect: prefix + strconv.Itoa(i), Verb: "wake",
					Err: errors.New("the key's name has a secret in it, and names of keys are logged")}
			}
		}
	}
	return nil
}

// syncNext syncs one key; false when the queue has ended.
func (w *worker) syncNext(ctx context.Context) bool {
	c := w.c
	key, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(key)
	if q := c.waitQuarantined(ctx); q != nil {
		defer c.probeAgain(q)
	}
	if c.stopping() {
		return true // its successor, or the next process, syncs the key
	}

	v := c.acquireVersion()
	defer v.release()
	d, echoed := c.due(v, key)
	if d.why != "" {
		c.hold(v, key, d)
		return true
	}

	c.holdEvents(key)
	defer c.resumeKey(v, key)
	defer w.awaits.End()
	w.settle(ctx, v, key, w.syncKey(ctx, v, key, echoed))
	return true
}

// synced is how the sync of a key has ended.
type synced struct {
	syncer.Outcome
	Sync
	err, failed error // without secrets; the latter as [syncer.Outcome.Failed]
}

// syncKey syncs a key and counts what that took.
func (w *worker) syncKey(ctx context.Context, v *Version, key Key, echoed bool) synced {
	c := w.c
	start := time.Now()
	w.version = v
	timer, _ := c.untilTimer(key)
	w.turn = syncer.Turn{
		Key: key, Now: c.Wall(), Attempt: c.attempt(key), Timer: timer, Metrics: v.Metrics, Log: w.log,
		Witnesses: w.turn.Witnesses,
	}
	w.recording = v.Recorder.Begin(key, start)
	w.veil = record.NewVeil(v.Secrets)
	w.turn.Refuse = w.refuse
	w.awaits.Begin(key, w.veil != nil)
	traced, root := c.startSpan(w.countedContext(ctx), v, key)

	o := w.sync(traced)
	x := synced{Outcome: o, err: w.veil.Error(o.Err), failed: w.veil.Error(o.Failed)}
	x.Sync = Sync{
		Result: o.Result, Duration: time.Since(start), Guest: o.Stats.Duration, Fuel: o.Stats.Fuel,
		MemoryBytes:   o.Stats.Memory,
		SnapshotBytes: o.SnapshotBytes, OutcomeBytes: o.OutcomeBytes, Effects: o.Effects,
	}
	c.countWrites(key, o.Writes, echoed, x.err, x.Duration)
	if o.Result == syncer.Deferred {
		x.err, x.failed = nil, nil
	}
	if o.Young != nil {
		x.Behind = o.Young.Resource
	} else {
		x.Code = statusCode(x.err)
	}

	w.recording.End(o.Result, x.err)
	finished(root, &x.Sync, x.err)
	v.Metrics.Synced(x.Sync)
	return x
}

// settle draws the conclusions of a key's sync: what it says of the version, and when the key is synced again.
func (w *worker) settle(ctx context.Context, v *Version, key Key, x synced) {
	c := w.c
	// that the operator grants less than the manifest has speaks neither for a version nor against it
	if ctx.Err() == nil && x.Young == nil && !effects.NotGranted(x.err) {
		if !w.excused {
			c.reportTrial(v, x.failed)
		}
		c.countFailure(v, key, x.Sync.Result, x.failed, x.Duration)
	}
	var p *syncer.PanicError
	if errors.As(x.Outcome.Failed, &p) {
		c.log.Error(x.err, "Windlass panicked in a sync", "plugin", v.Plugin, "digest", v.Digest, "key", key.String(),
			"stack", string(p.Stack))
	}

	if x.Young == nil {
		c.noteLacking(v, key, w.syncer.Snapshot())
	}
	c.schedule(ctx, v, key, x)

	if l := c.log.V(4); l.Enabled() {
		s := &x.Sync
		l.Info("Synced", "key", key.String(), "result", s.Result, "duration", s.Duration, "guest", s.Guest, "fuel", s.Fuel,
			"snapshotBytes", s.SnapshotBytes, "outcomeBytes", s.OutcomeBytes, "effects", s.Effects)
	}
}

// schedule has a key synced again, as far as its sync leaves something to do, and notes what it waits for.
func (c *Controller) schedule(ctx context.Context, v *Version, key Key, x synced) {
	result, err := x.Sync.Result, x.err

	switch {
	case x.Young != nil:
		c.parkUntilCurrent(v, key, x.Young)
	case result == syncer.Deferred:
		c.queue.AddAfter(key, x.Deferred)
		c.stuck.markHeld(key, Deferred, result, errDeferred, x.Deferred)
	case err == nil:
		c.finishKey(key)
	case ctx.Err() != nil:
		// The process is ending; a successor syncs the key anew.
	case effects.NamespaceTerminating(err):
		c.finishKey(key)
	case result == syncer.Error && !x.ServerFailed && v.Manifest.Backoff.Retries > 0 &&
		c.queue.NumRequeues(key) >= int(v.Manifest.Backoff.Retries):
		c.logFailure(v, key, err, "Giving up on the key until one of its objects changes or its resync comes", "attempts",
			c.queue.NumRequeues(key)+1)
		c.queue.Forget(key)
		c.stuck.markHeld(key, GivenUp, result, err, 0)
		c.releaseKey(key)
	case apierrors.IsConflict(err):
		// Somebody else was quicker: the key waits for the cache to show it.
		c.log.V(2).Info("Object was changed by another writer in the meantime, will retry", "plugin", v.Plugin,
			"digest", shortDigest(v.Digest), "key", key.String(), "err", err)
		c.stuck.markHeld(key, Failing, result, err, c.requeueRateLimited(key))
	default:
		c.logFailure(v, key, err, "Sync failed, will retry", "result", result)
		state, wait := c.retryFailed(v, key, result, x.failed)
		c.stuck.markHeld(key, state, result, err, wait)
	}
}

// finishKey notes that nothing is left to do for a key.
func (c *Controller) finishKey(key Key) {
	c.queue.Forget(key)
	c.stuck.markDone(key)
	c.releaseKey(key)
}

// countedContext returns the context of the worker's syncs.
func (w *worker) countedContext(ctx context.Context) context.Context {
	if w.base != ctx {
		w.base, w.counted = ctx, w.awaits.Context(ctx)
	}
	return w.counted
}

// logFailure logs why a sync failed, unless its plugin has logged all that it may: what the error says is its own
// choice.
func (c *Controller) logFailure(v *Version, key Key, err error, text, name string, value any) {
	if v.Logs == nil || v.Logs.Allow(len(err.Error())) {
		c.log.Error(err, text, "plugin", v.Plugin, "digest", shortDigest(v.Digest), "key", key.String(), name, value)
	}
}

// retryFailed holds a failed key back, and reports its state from now on, and how long; one that wrote before its
// sandbox failed is held back longer each time, for it would write again.
func (c *Controller) retryFailed(v *Version, key Key, result string, failed error) (state string, wait time.Duration) {
	if v.BuiltIn && failed != nil && !effects.NotGranted(failed) {
		return SetAside, c.setAside(key)
	}
	if n := c.trapsOf(key); result == syncer.Performed && n > 0 {
		wait = min(time.Second<<min(n-1, 8), 5*time.Minute)
		c.queue.AddAfter(key, wait)
		return Failing, wait
	}
	return Failing, c.requeueRateLimited(key)
}

func (c *Controller) trapsOf(key Key) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys.read(key).traps
}

// requeueRateLimited is the queue's AddRateLimited, which doesn't tell how long. A timer of the key's that comes first
// is its next attempt: one is enough.
func (c *Controller) requeueRateLimited(key Key) time.Duration {
	wait := c.limiter.When(key)
	if due, ok := c.untilTimer(key); ok && due <= wait {
		return due
	}
	c.queue.AddAfter(key, wait)
	return wait
}

var errDeferred = errors.New("the plugin has used up budget.deletesPerMinute: the key is synced again when more " +
	"deletes are allowed")

// sync syncs the key, and has the shadow, if there is one, do so after it.
func (w *worker) sync(ctx context.Context) syncer.Outcome {
	c, v, key := w.c, w.version, w.turn.Key
	var twin, rival *double
	if w.syncer.Prepare(ctx, &v.Target, &w.turn) == nil {
		twin, rival = c.shadowed(ctx, &w.turn), c.rivalled(ctx, v, &w.turn)
	}
	w.turn.Witnesses = w.witnesses(twin, rival)

	o := w.syncer.Sync(ctx)
	w.version = nil
	w.excused = rival != nil && rival.excuses(ctx, &o)
	c.trapped(key, &o)
	asked := c.askedAgain(key, &o)
	if o.Accepted {
		again := v.Next(c.calmedDelay(v, key, asked, o.Writes))
		c.setTimer(key, again, !o.Done())
	}
	if twin != nil {
		twin.syncShadow(ctx, c, v, &o, w.veil) // after the live writes, which don't wait for it
	}
	return o
}

// witnesses are those who look on.
func (w *worker) witnesses(doubles ...*double) []syncer.Witness {
	all := w.turn.Witnesses[:0]
	if w.recording != nil {
		all = append(all, w.recording)
	}
	if w.veil != nil {
		all = append(all, w.veil)
	}
	for _, d := range doubles {
		if d != nil {
			all = append(all, d)
		}
	}
	return all
}

// trapped counts the syncs in a row that wrote before their sandbox failed.
func (c *Controller) trapped(key Key, o *syncer.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.keys.open(key)
	switch {
	case o.Result == syncer.Performed:
		r.traps++
	case o.Accepted:
		r.traps = 0
	}
	c.keys.close(key, r)
}

// statusCode returns the HTTP status that a sync ended with: 200, that of the write that failed, or 500.
func statusCode(err error) int {
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
