package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/metrics"
)

// slot is one controller that runs here, whatever version of its plugin it is on.
type slot struct {
	*controller.Controller
	plugin  string
	started atomic.Bool
	stop    context.CancelFunc // nil until it is started
	ended   chan struct{}
	// differences are those of the shadow, if it has had one.
	differences controller.Differences

	mu      sync.Mutex
	reading *reading // of the current version
	missing []string // its required settings
	changed chan struct{}
}

// setReading makes a version's reads and missing settings the slot's.
func (s *slot) setReading(r *reading, missing []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading, s.missing = r, missing
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *slot) currentReading() (*reading, []string, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading == nil {
		return &reading{}, s.missing, s.changed // its version is being loaded
	}
	return s.reading, s.missing, s.changed
}

// startSlot runs a slot until the manager stops, the slot is stopped or its Lease is lost. Where another process has
// that, it does nothing.
func (m *manager) startSlot(s *slot) {
	work, proofs, begin, end := m.leaders.slotTerm(m, s)
	if work == nil {
		return
	}
	ctx, cancel := context.WithCancel(work)
	s.stop, s.ended = cancel, make(chan struct{})
	begin()
	m.slots.Go(func() {
		defer end()
		defer close(s.ended)
		defer cancel()
		if s.awaitPredecessor(ctx, m.leaving) && s.awaitReady(ctx, m.stores) && s.catchUp(ctx, proofs, m.stores) {
			s.started.Store(true)
			runs := s.runningGauge(m.metrics)
			runs(1)
			s.Run(ctx, m.options.Grace)
			runs(0)
		}
	})
}

// runningGauge returns what sets the metric of which controllers run here. A controller's second queue is no controller
// to upstream.
func (s *slot) runningGauge(m *metrics.Metrics) func(float64) {
	if s.Current().Manifest.PartOf != "" {
		return func(float64) {}
	}
	return m.Running.WithLabelValues(s.Name(), metrics.Component).Set
}

// awaitReady waits until the slot has all it needs; false when ctx has ended.
func (s *slot) awaitReady(ctx context.Context, x *stores) bool {
	for ctx.Err() == nil {
		reading, missing, changed := s.currentReading()
		if len(missing) > 0 {
			klog.InfoS("Controller is idle: settings are missing", "controller", s.Name(), "plugin", s.plugin, "settings",
				missing)
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}

		if len(reading.denied) > 0 {
			klog.InfoS("Controller is idle: the grant doesn't let it list and watch what it reads", "controller", s.Name(),
				"plugin", s.plugin, "resources", reading.denied)
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}

		until, cancel := context.WithCancel(ctx)
		go func() {
			select {
			case <-changed: // another version waits for something else
				cancel()
			case <-until.Done():
			}
		}()

		err := reading.waitForCaches(until, x)
		cancel()
		if err == nil {
			return true
		}
	}
	return false
}

// stopAndWait stops a slot and waits for its syncs in flight.
func (s *slot) stopAndWait() {
	if s.stop != nil {
		s.stop()
		<-s.ended
	}
	s.Forget()
}

// checkHealth fails a controller that can't start for want of a setting, or that is quarantined; it stays healthy while
// single keys fail, and one that is built in also while all do: a restart, to which that would lead, mends nothing.
func (s *slot) checkHealth() error {
	reading, missing, _ := s.currentReading()
	if len(missing) > 0 {
		return fmt.Errorf("idle: settings %v are missing: set plugins[%s].settings", missing, s.plugin)
	}
	if len(reading.denied) > 0 {
		return fmt.Errorf("idle: it reads %v, which no rule of plugins[%s].grant lets it list and watch", reading.denied,
			s.plugin)
	}
	probe, why := s.Quarantined()
	switch {
	case why == nil:
		return nil
	case probe.IsZero():
		return fmt.Errorf("quarantined: load another version, or run windlass release %s: %w", s.Name(), why)
	}
	return fmt.Errorf("quarantined: one key is tried now and then, and it comes back when that goes well; or load another version, or run windlass release %s: %w", s.Name(), why)
}

// errStarting is what readiness says of a controller whose caches aren't filled.
var errStarting = errors.New("waits for its caches")

// errPredecessor is what it says of one that was turned off and on again while its writes hang.
var errPredecessor = errors.New("waits until its syncs have ended that were in flight when it was turned off")

// starting says what a slot waits for.
func (s *slot) starting(x *stores, turnedOff *leaving) error {
	if turnedOff.has(s.Name()) {
		return errPredecessor
	}
	reading, _, _ := s.currentReading()
	if err := reading.unreadable(x); err != nil {
		return fmt.Errorf("%w: %w", errStarting, err)
	}
	if names := reading.unlistedYet(); len(names) > 0 {
		return fmt.Errorf("%w: the API server hasn't listed %s yet", errStarting, strings.Join(names, ", "))
	}
	return errStarting
}

// lacksOnlyUnserved reports whether a slot waits for nothing but what the API server doesn't serve. Somebody may define
// that later; until then there is nothing for the controller to do, and the process is ready all the same.
func (s *slot) lacksOnlyUnserved(x *stores) bool {
	reading, _, _ := s.currentReading()
	unserved := 0
	for _, r := range reading.states(x) {
		switch {
		case apierrors.IsNotFound(r.Err):
			unserved++
		case !r.Synced:
			return false
		}
	}
	return unserved > 0
}

func (s *slot) waiting() error {
	if reading, missing, _ := s.currentReading(); s.started.Load() || len(missing) > 0 || len(reading.denied) > 0 {
		return nil
	}
	return errStarting
}

// newSlot makes the slot of a controller that hasn't had one; it doesn't run yet.
func (h *hosted) newSlot(k *config.Configuration, v *controller.Version) *slot {
	m := h.m
	o := controller.Options{World: m.stores, Concurrent: workers(k, v.Manifest, v.Plugin),
		Resync: k.MinResyncPeriod.Duration, Memory: h.limits.memory, Tracer: m.tracer, Wall: m.options.Wall}
	return &slot{Controller: controller.New(o, v), plugin: v.Plugin, changed: make(chan struct{})}
}

func workers(k *config.Configuration, c *abi.Controller, plugin string) int {
	p := k.Plugin(plugin)
	return int(cmp.Or(p.WorkersOf(c.Name), c.Workers))
}
