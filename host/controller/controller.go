// Package controller runs one controller of a plugin: its queue, its workers, the sync loop.
package controller

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/awaiting"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/tracing"
	"github.com/windlass-dev/windlass/host/views"
)

// Key is what a controller's queue holds.
type Key = abi.KeyRef

// Options are what a controller is made of, whatever version of its plugin it runs.
type Options struct {
	World views.World
	// Concurrent is how many keys are synced at once; at least 1.
	Concurrent int
	// Resync is after how long every key is looked at again though nothing has happened to it: when the controller runs it
	// draws a period from so much to twice that. 0: never.
	Resync time.Duration
	// Memory is what the states of the plugin's keys and the keys that its syncs wake are held on; nil: no bound.
	Memory *budget.Memory
	// Tracer has spans tell of syncs; nil: nothing is traced.
	Tracer *tracing.Tracer
	// Wall is the wall clock that syncs are told; nil: the system's.
	Wall func() time.Time
}

// Metrics takes what a controller counts.
type Metrics interface {
	syncer.Metrics
	// Synced tells of one sync: how it ended, what it took and what went in and out.
	Synced(s Sync)
	// Resynced tells that a key is looked at again though nothing has happened to it.
	Resynced()
	// Slowed tells that a restless key isn't synced again as soon as it has asked for.
	Slowed()
}

// Sync is what one sync took.
type Sync struct {
	Result        string        // one of package syncer's
	Duration      time.Duration // the whole sync, writes included
	Guest         time.Duration // inside the sandbox, performs excluded
	Fuel          int64
	SnapshotBytes int
	// OutcomeBytes is what its performs were answered with.
	OutcomeBytes int
	MemoryBytes  int64
	Effects      int
	Behind       abi.Resource // of a stale sync: what the cache doesn't show yet
	// the HTTP status that it ended with: 200, that of the write that failed, or 500; 0 of a stale sync
	Code int
}

// Controller is one running controller: the slot that versions of its plugin take turns in. Queue, timers, backoff and
// state are its own, and outlive them.
type Controller struct {
	Options
	name    string
	log     klog.Logger
	queue   workqueue.TypedRateLimitingInterface[Key]
	limiter workqueue.TypedRateLimiter[Key] // the queue's
	ended   <-chan struct{}                 // that workers begin no further sync; set by Run
	stuck   stuck
	young   young
	waits   *waits
	turns   *turns
	states  syncer.States
	awaited awaiting.Room // what syncs wait for

	mu   sync.Mutex
	keys keyRecords

	version    *Version
	trial      *Trial // of the version; nil: it has passed
	shadow     *Shadow
	failures   failures
	quarantine *quarantine // nil: there is none

	period  time.Duration // of its resyncs; 0: there are none
	workers int           // that run
	wanted  int           // that should
	more    func()
}

// New makes a controller with its first version; Run starts it.
func New(o Options, v *Version) *Controller {
	c := &Controller{
		Options: o, name: v.Manifest.Name, version: v, wanted: max(o.Concurrent, 1),
		log: klog.Background().WithValues("controller", v.Manifest.Name),
	}
	c.states.Memory = o.Memory
	c.awaited.Most, c.awaited.Left, c.awaited.Back = c.awayMost, c.lendWorker, c.returnWorker
	c.awaited.Wake = func(k Key) { c.queue.Add(k) }

	if c.Wall == nil {
		c.Wall = time.Now
	}
	c.states.Adopt(v.State)
	name := v.Manifest.Queue
	if name == "" {
		name = v.Manifest.Name
	}

	base, most := 5*time.Millisecond, 1000*time.Second
	if b := v.Manifest.Backoff; b.Base > 0 {
		base = time.Duration(b.Base)
	}

	if b := v.Manifest.Backoff; b.Max > 0 {
		most = time.Duration(b.Max)
	}
	c.turns = newTurns()
	c.waits = newWaits(o.Tracer, c.turns)
	ticks := newTicks(c.waits, func() bool { return c.Syncing() > 0 })
	c.limiter = workqueue.NewTypedMaxOfRateLimiter(newBackoff(base, most),
		&workqueue.TypedBucketRateLimiter[Key]{Limiter: rate.NewLimiter(10, 100)})
	c.queue = workqueue.NewTypedRateLimitingQueueWithConfig(c.limiter,
		workqueue.TypedRateLimitingQueueConfig[Key]{Name: name, DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[Key]{Name: name, Clock: tickless{},
				Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Name: name, Queue: ticks, Clock: ticks})})})
	return c
}

// Name is the controller's canonical name.
func (c *Controller) Name() string { return c.name }

// Wake has the key synced.
func (c *Controller) Wake(k Key) {
	c.foreign(k)
	c.enqueue(k, 0)
}

// wokenMost is how long at most a key that keeps failing rests though a sync of its plugin wakes it.
const wokenMost = time.Second

// WakeAsked has the key synced because a sync of its plugin asks for that, of the key itself or of another. Unlike an
// event it doesn't end a failed key's back-off at once: keys that fail and wake one another would be synced without
// end. A sync that wakes its own key asks for the next one, as with requeueAfter.
func (c *Controller) WakeAsked(k Key, itself bool) {
	switch failed := c.noteAsked(k, itself); {
	case itself:
	case failed == 0:
		c.Wake(k)
	default:
		c.foreign(k)
		c.queue.AddAfter(k, min(5*time.Millisecond<<min(failed, 10), wokenMost))
	}
}

// Forget gives back all that the controller's keys have been given of the plugin's memory: it has ended, and another
// one takes its place, or none.
func (c *Controller) Forget() {
	c.states.Clear()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys.change(c.release)
}

// askedAgain returns after how long an accepted sync has asked for the next one, by its answer or by waking its own
// key; 0: not at all.
func (c *Controller) askedAgain(k Key, o *syncer.Outcome) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.keys.open(k)
	again := r.again
	r.again = false
	c.keys.close(k, r)
	if again && o.Accepted {
		return 1
	}
	return o.Asked
}

// Woken takes a wake-up that an event of the cache led to.
func (c *Controller) Woken(k Key, delay time.Duration, e cache.Event) {
	if c.noticed(k, delay, e) {
		c.enqueue(k, delay)
	}
}

func (c *Controller) enqueue(k Key, delay time.Duration) {
	if delay > 0 {
		c.queue.AddAfter(k, delay)
		return
	}
	c.turns.clearResync(k)
	c.queue.Add(k)
}

// startWorkers starts the workers, which go on with what work is until ctx ends, and returns the resync period.
func (c *Controller) startWorkers(ctx context.Context, workers *sync.WaitGroup, work context.Context) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = ctx.Done()
	c.more = func() {
		for c.workers < c.wanted && ctx.Err() == nil {
			c.workers++
			workers.Go(func() {
				w := newWorker(c)
				defer w.awaits.Close()
				for !c.surplus() && w.syncNext(work) {
				}
			})
		}
	}
	c.more()
	c.period = resyncPeriod(c.Resync)
	return c.period
}

// Run syncs keys until ctx ends; then it lets the syncs in flight end, whose writes use a context that lives on for
// grace.
func (c *Controller) Run(ctx context.Context, grace time.Duration) {
	v := c.Current()
	c.log.Info("Starting controller", "plugin", v.Plugin, "workers", c.Workers())
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		c.queue.ShutDown()
		time.AfterFunc(grace, cancel)
	})
	defer stop()
	var workers sync.WaitGroup
	workers.Go(func() { <-ctx.Done() }) // there may be more workers until then

	// A single key is there, whether there are objects or not. It comes before a worker may take it: its first sync is
	// one.
	if v.Manifest.Key.Single {
		c.Wake(Key{})
	}
	period := c.startWorkers(ctx, &workers, work)
	workers.Go(func() { c.resync(ctx, period) })

	workers.Wait()
	c.mu.Lock()
	c.more, c.period = nil, 0
	for _, r := range c.keys.of {
		if r.timer != nil {
			r.timer.Stop()
		}
	}
	c.mu.Unlock()
	c.log.Info("Stopped controller")
}

// SetWorkers changes how many keys are synced at once.
func (c *Controller) SetWorkers(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = max(n, 1)
	if c.more != nil {
		c.more()
	}
}

// Workers is how many keys are synced at once.
func (c *Controller) Workers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted
}

// surplus reports whether a worker is to end because there are too many.
func (c *Controller) surplus() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workers <= c.wanted {
		return false
	}
	c.workers--
	return true
}

// Depth is how many keys wait.
func (c *Controller) Depth() int { return c.queue.Len() }

// soonest keeps a key that asks to be synced again at once from taking all of a worker's time.
const soonest = time.Millisecond

// timer wakes a key at a time.
type timer struct {
	*time.Timer
	set, due time.Time
}

// setTimer sets the key's timer to what its sync has asked for, 0 for none. That takes the place of an earlier sync's
// timer; but a sync that has failed may not have come to what the earlier one wanted to look at again, and its back-off
// may be long: then the earlier of both stays.
func (c *Controller) setTimer(k Key, d time.Duration, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d = max(d, 0)
	now := time.Now()
	due := now.Add(d)
	r := c.keys.open(k)
	defer c.keys.close(k, r)
	if t := r.timer; t != nil {
		if failed && (d == 0 || !due.Before(t.due)) {
			return
		}
		t.Stop()
		r.timer = nil
	}

	if d > 0 {
		t := &timer{set: now, due: due}
		t.Timer = time.AfterFunc(max(d, soonest), func() { c.fire(k, t) })
		r.timer = t
	}
}

// fire wakes the key whose timer has gone off.
func (c *Controller) fire(k Key, t *timer) {
	c.noteFired(k, t)
	c.foreign(k)
	c.turns.clearResync(k)
	c.queue.AddAfter(k, 0) // at once; but the queue counts it among those that come after a delay
}

func (c *Controller) noteFired(k Key, t *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.keys.open(k)
	defer c.keys.close(k, r)
	if r.timer == t {
		r.timer = nil
	}
	if r.restless != nil {
		r.restless.fired = true
	}
}

// untilTimer returns how long it is until the key's timer goes off, which is more than nothing, and whether it has one.
func (c *Controller) untilTimer(k Key) (wait time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.keys.read(k).timer
	if t == nil {
		return 0, false
	}
	return max(time.Until(t.due), 1), true
}
