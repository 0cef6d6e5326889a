package manager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/discovery"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// stores are what the versions of all controllers read: the cache, with the routes of its events to plans. Versions may
// begin and end to read while others do.
type stores struct {
	cache     *cache.Cache
	discovery *discovery.Client
	metrics   *metrics.Metrics
	monitors  *monitors
	patience  time.Duration     // with resources that can't be listed
	prober    *effects.Currency // tells why they can't be

	mu      sync.Mutex
	routers map[abi.Resource]*router
}

func newStores(r *rest.Config, m *metrics.Metrics, patience time.Duration) (x *stores, err error) {
	x = &stores{metrics: m, routers: map[abi.Resource]*router{}, patience: cmp.Or(patience, settleMax)}
	if x.cache, err = cache.New(cache.Options{Config: r}); err != nil {
		return nil, err
	}
	if x.discovery, err = discovery.New(r); err != nil {
		return nil, err
	}
	if x.prober, err = effects.NewCurrency(r); err != nil {
		return nil, err
	}
	x.monitors = newMonitors(x)
	return x, nil
}

// Store makes the stores the views.World of all plans.
func (x *stores) Store(r abi.Resource) views.Store {
	if r == schema.Any {
		return *x.monitors.joint.Load()
	}
	if s := x.cache.Store(r); s != nil {
		return s
	}
	return nil
}

// reading is what one version of a controller reads.
type reading struct {
	needs  []views.Need
	parts  map[abi.Resource]*cache.Reader // of those that it names
	all    []*reader                      // of views over all resources
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
func (r *reading) waitForCaches(ctx context.Context, x *stores) error {
	for _, part := range r.parts {
		if err := part.Wait(ctx); err != nil {
			return err
		}
	}
	for _, all := range r.all {
		if err := x.monitors.waitForReader(ctx, all); err != nil {
			return err
		}
	}
	return nil
}

// waitForAll waits until the caches have what all of these read.
func (x *stores) waitForAll(ctx context.Context, all map[string]*reading) error {
	for _, r := range all {
		if err := r.waitForCaches(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// states returns how the resources are doing.
func (r *reading) states(x *stores) []cache.ResourceStatus {
	return slices.DeleteFunc(x.cache.Status(), func(s cache.ResourceStatus) bool {
		return !slices.ContainsFunc(r.needs, func(n views.Need) bool { return n.Resource == s.Resource })
	})
}

// unreadable reports which of the resources can't be read at the moment.
func (r *reading) unreadable(x *stores) error {
	for _, s := range r.states(x) {
		if s.Err != nil {
			return fmt.Errorf("%s can't be read: %w", s.Resource, s.Err)
		}
	}
	return nil
}

// unlistedYet names the resources whose caches don't have what is read of them, sorted.
func (r *reading) unlistedYet() (names []string) {
	for name, part := range r.parts {
		if !part.Current() {
			names = append(names, name.String())
		}
	}
	slices.Sort(names)
	return names
}

// beginReading begins what a version reads; its events wake keys of the controller, if there is one: a shadow is woken
// with the live version.
func (x *stores) beginReading(c *controller.Controller, v *controller.Version) (_ *reading, err error) {
	if denied := v.Plan.Denied(); len(denied) > 0 {
		return &reading{denied: denied}, nil
	}
	r, current := &reading{needs: v.Plan.Needs(), parts: map[abi.Resource]*cache.Reader{}}, &currency{stores: x}
	current.named = r.parts
	defer func() {
		if err != nil {
			r.endReading()
		}
	}()

	for _, n := range r.needs {
		var undo []func()
		if n.Resource == schema.Any {
			all := &reader{c: c, v: v, need: n, seen: make(chan struct{})}
			undo, err = x.monitors.addReader(all)
			r.all, current.all = append(r.all, all), all
		} else {
			var res *schema.Resource
			if res, err = x.namedResource(n.Resource); err == nil {
				if res.Kind != "" && res.Namespaced != v.Plan.Namespaced(n.Resource) {
					klog.ErrorS(nil, "The manifest's clusterScoped contradicts the API server, so keys may miss objects and changes: correct View.ClusterScoped, or +kubebuilder:resource:scope of the types",
						"controller", v.Manifest.Name, "resource", n.Resource.String(), "namespaced", res.Namespaced)
				}
				var part *cache.Reader
				part, undo, err = x.subscribe(c, v, res, n, v.Manifest.CachesWhole(n.Resource), func(bool) {})
				r.parts[n.Resource] = part
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
func (x *stores) namedResource(r abi.Resource) (*schema.Resource, error) {
	res, err := schema.Named(r)
	if err != nil || !res.Custom {
		return res, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), learning)
	defer cancel()
	served, err := x.discovery.Resource(ctx, r)
	if err != nil {
		klog.V(1).InfoS("Can't look the resource up in discovery yet", "resource", r.String(), "err", err)
		return res, nil
	}
	return served, x.cache.Learn(served)
}

// subscribe declares to the cache what a need wants of a resource, which may be any of those that its views are over,
// and routes the resource's events to the plan. undo ends it, in its order; it has to be used after an error as well.
// filled is called when the store has become current; late is as in [cache.Want].
func (x *stores) subscribe(c *controller.Controller, v *controller.Version, res *schema.Resource, n views.Need,
	whole bool, filled func(late bool)) (part *cache.Reader, undo []func(), err error) {
	var mask *schema.Mask
	if !whole {
		if mask, err = n.Mask(res); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", res.ID(), err)
		}
	}

	name := res.Resource
	want := cache.Want{Mask: mask, Filter: n.Filter, Indexers: n.Indexers, Current: func(late bool) {
		filled(late)
		if c != nil {
			c.Freed()
		}
	}}
	if part, err = x.cache.Declare(name, want); err != nil {
		return nil, nil, err
	}

	to, err := x.routerFor(name)
	if c == nil || err != nil {
		return part, []func(){part.Release}, err
	}

	route, err := to.Add(v.Plan, n.Resource, v.Writer.Own, func(k abi.KeyRef, delay time.Duration) {
		c.Woken(k, delay, to.event)
	})
	if err != nil {
		return part, []func(){part.Release}, err
	}

	undo = append(undo, func() {
		if err := to.Remove(route); err != nil {
			klog.ErrorS(err, "A stopped version may still receive events", "resource", res.ID(),
				"controller", c.Name())
		}
	})

	remove, err := x.cache.Progress(name, func() { v.Writer.Progress(name) })
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
func (x *stores) routerFor(name abi.Resource) (*router, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	to := x.routers[name]
	if to == nil {
		to = &router{Router: views.NewRouter(x, name), took: x.metrics.Informed.WithLabelValues(metrics.Component, name.Group,
			name.Version, name.Name)}
		if _, err := x.cache.Handle(name, to); err != nil {
			return nil, err
		}
		x.routers[name] = to
	}
	return to, nil
}
