package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
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
		if m.awaitReady(ctx, s) && m.current(ctx, proofs, s) {
			s.started.Store(true)
			runs := m.runningGauge(s)
			runs(1)
			s.Run(ctx, m.options.Grace)
			runs(0)
		}
	})
}

// runningGauge returns what sets the metric of which controllers run here. A controller's second queue is no controller
// to upstream.
func (m *manager) runningGauge(s *slot) func(float64) {
	if s.Current().Manifest.PartOf != "" {
		return func(float64) {}
	}
	return m.metrics.Running.WithLabelValues(s.Name(), metrics.Component).Set
}

// awaitReady waits until the slot has all it needs; false when ctx has ended.
func (m *manager) awaitReady(ctx context.Context, s *slot) bool {
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

		err := reading.waitForCaches(until, m)
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
}

// checkHealth fails a controller that can't start for want of a setting, or that is quarantined; it stays healthy while
// single keys fail.
func (s *slot) checkHealth() error {
	reading, missing, _ := s.currentReading()
	if len(missing) > 0 {
		return fmt.Errorf("idle: settings %v are missing: set plugins[%s].settings", missing, s.plugin)
	}
	if len(reading.denied) > 0 {
		return fmt.Errorf("idle: it reads %v, which no rule of plugins[%s].grant lets it list and watch", reading.denied,
			s.plugin)
	}
	if err := s.Quarantined(); err != nil {
		return fmt.Errorf("quarantined: its plugin keeps failing: load another version, or release it: %w", err)
	}
	return nil
}

// errStarting is what readiness says of a controller whose caches aren't filled.
var errStarting = errors.New("waits for its caches")

// starting says what a slot waits for.
func (m *manager) starting(s *slot) error {
	if err := m.unreadable(s); err != nil {
		return fmt.Errorf("%w: %w", errStarting, err)
	}
	return errStarting
}

// unreadable reports which of the resources that a slot reads can't be read at the moment.
func (m *manager) unreadable(s *slot) error {
	reading, _, _ := s.currentReading()
	for _, r := range m.cache.Status() {
		if r.Err != nil && slices.ContainsFunc(reading.needs, func(n views.Need) bool { return n.Resource == r.Resource }) {
			return fmt.Errorf("%s can't be read: %w", r.Resource, r.Err)
		}
	}
	return nil
}

func (s *slot) waiting() error {
	if reading, missing, _ := s.currentReading(); s.started.Load() || len(missing) > 0 || len(reading.denied) > 0 {
		return nil
	}
	return errStarting
}

// reading is what one version of a controller reads.
type reading struct {
	needs  []views.Need
	all    []*reader // of views over all resources
	undo   []func()
	denied []abi.Resource // by the grant: then it reads nothing at all
}

// endReading ends what is read.
func (r *reading) endReading() {
	for _, f := range r.undo {
		f()
	}
	r.undo = nil
}

// waitForCaches waits until the caches have all of it.
func (r *reading) waitForCaches(ctx context.Context, m *manager) error {
	for _, n := range r.needs {
		if n.Resource == schema.Any {
			continue
		}
		if err := m.cache.Wait(ctx, n.Resource); err != nil {
			return err
		}
	}
	for _, x := range r.all {
		if err := m.monitors.waitForReader(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// beginReading begins what a version reads; its events wake keys of the controller, if there is one: a shadow is woken
// with the live version.
func (m *manager) beginReading(c *controller.Controller, v *controller.Version) (_ *reading, err error) {
	if denied := v.Plan.Denied(); len(denied) > 0 {
		return &reading{denied: denied}, nil
	}
	r, current := &reading{needs: v.Plan.Needs()}, &currency{m: m, named: map[abi.Resource]*cache.Reader{}}
	defer func() {
		if err != nil {
			r.endReading()
		}
	}()

	for _, n := range r.needs {
		var undo []func()
		if n.Resource == schema.Any {
			all := &reader{c: c, v: v, need: n, seen: make(chan struct{})}
			undo, err = m.monitors.addReader(all)
			r.all, current.all = append(r.all, all), all
		} else {
			var res *schema.Resource
			if res, err = m.namedResource(n.Resource); err == nil {
				if res.Kind != "" && res.Namespaced != v.Plan.Namespaced(n.Resource) {
					klog.ErrorS(nil, "The manifest's clusterScoped is wrong of a resource, so keys may miss objects and changes: say it in the views (View.ClusterScoped), or generate the types anew with +kubebuilder:resource:scope=Cluster",
						"controller", v.Manifest.Name, "resource", n.Resource.String(), "namespaced", res.Namespaced)
				}
				var part *cache.Reader
				part, undo, err = m.subscribe(c, v, res, n, v.Manifest.CachesWhole(n.Resource), func() {})
				current.named[n.Resource] = part
			}
		}
		r.undo = append(r.undo, undo...)
		if err != nil {
			return nil, fmt.Errorf("controller %s: %w", v.Manifest.Name, err)
		}
	}

	v.Plan.SetCurrency(current)
	return r, nil
}

// learning bounds how long the API server is asked what a resource is.
const learning = 2 * time.Second

// namedResource returns a resource that a version reads. Of one that isn't built in the API server tells the kind;
// until it serves that, the controller is idle.
func (m *manager) namedResource(r abi.Resource) (*schema.Resource, error) {
	res, err := schema.Named(r)
	if err != nil || !res.Custom {
		return res, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), learning)
	defer cancel()
	served, err := m.discovery.Resource(ctx, r)
	if err != nil {
		klog.V(1).InfoS("What a resource is can't be told yet", "resource", r.String(), "err", err)
		return res, nil
	}
	return served, m.cache.Learn(served)
}

// subscribe declares to the cache what a need wants of a resource, which may be any of those that its views are over,
// and routes the resource's events to the plan. undo ends it, in its order; it has to be used after an error as well.
// filled is called when the store has become current.
func (m *manager) subscribe(c *controller.Controller, v *controller.Version, res *schema.Resource, n views.Need,
	whole bool, filled func()) (part *cache.Reader, undo []func(), err error) {
	var mask *schema.Mask
	if !whole {
		if mask, err = n.Mask(res); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", res.ID(), err)
		}
	}

	name := res.Resource
	want := cache.Want{Mask: mask, Filter: n.Filter, Indexers: n.Indexers, Current: func() {
		filled()
		if c != nil {
			c.Freed()
		}
	}}
	if part, err = m.cache.Declare(name, want); err != nil {
		return nil, nil, err
	}

	x, err := m.routerFor(name)
	if c == nil || err != nil {
		return part, []func(){part.Release}, err
	}

	route, err := x.Add(v.Plan, n.Resource, v.Writer.Own, func(k abi.KeyRef, delay time.Duration) {
		c.Woken(k, delay, x.event)
	})
	if err != nil {
		return part, []func(){part.Release}, err
	}

	undo = append(undo, func() {
		if err := x.Remove(route); err != nil {
			klog.ErrorS(err, "Events may still be taken to a version that has stopped reading", "resource", res.ID(),
				"controller", c.Name())
		}
	})

	remove, err := m.cache.Progress(name, func() { v.Writer.Progress(name) })
	if err == nil {
		undo = append(undo, remove)
	}
	return part, append(undo, part.Release), err
}

// router takes a resource's events to the plans that read it; events come one after another.
type router struct {
	*views.Router
	event cache.Event // the one that is being handled
	took  prometheus.Observer
}

// OnEvent keeps the event where the plans' wake functions find it.
func (r *router) OnEvent(e cache.Event) {
	began := time.Now()
	r.event = e
	r.Router.OnEvent(e)
	r.event = cache.Event{}
	r.took.Observe(time.Since(began).Seconds())
}

// routerFor returns the router of a resource, which hears of its events from the first time on.
func (m *manager) routerFor(name abi.Resource) (*router, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.routers[name]
	if x == nil {
		x = &router{Router: views.NewRouter(m, name), took: m.metrics.Informed.WithLabelValues(metrics.Component, name.Group,
			name.Version, name.Name)}
		if _, err := m.cache.Handle(name, x); err != nil {
			return nil, err
		}
		m.routers[name] = x
	}
	return x, nil
}
