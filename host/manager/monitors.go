package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// monitors keep views over all resources true to what the API server serves: resources that appear are watched, those that vanish no longer. One that can't be
// listed blocks nobody.
type monitors struct {
	m      *manager
	errors atomic.Int64 // resources that couldn't be listed in time, and looks that failed
	used   atomic.Bool  // there has been a reader

	joint atomic.Pointer[views.Store] // all stores as one, made anew when a resource comes or goes
	begun chan struct{}               // closed once all resources were settled, or waited for long enough

	mu      sync.Mutex // held by changes
	readers map[*reader]struct{}
	watched map[abi.Resource]*watched
	defined map[abi.Resource]bool // whose events are heard
	again   chan struct{}
}

// reader is a version of a controller with views over all resources.
type reader struct {
	c    *controller.Controller
	v    *controller.Version
	need views.Need
}

// watched is a resource with what ends each reader's part in it.
type watched struct {
	*schema.Resource
	undo map[*reader][]func()
}

func (w *watched) end(r *reader) {
	for _, f := range w.undo[r] {
		f()
	}
	delete(w.undo, r)
}

// What upstream's garbage collector takes for these: how often it looks for new resources, and how long it waits for the first lists.
const (
	rediscover = 30 * time.Second
	settleMax  = 30 * time.Second
)

// soon is when to look again after a resource's definition has changed: it takes the API server a moment to serve it.
var soon = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// Events are of no interest to anybody who looks at all resources, and many; upstream ignores them as well.
var ignored = []abi.Resource{{Version: "v1", Name: "events"}, {Group: "events.k8s.io", Version: "v1", Name: "events"}}

// definitions are the resources whose objects say which others there are.
var definitions = []abi.Resource{
	{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions"},
	{Group: "apiregistration.k8s.io", Version: "v1", Name: "apiservices"},
}

func newMonitors(m *manager) *monitors {
	x := &monitors{m: m, begun: make(chan struct{}), readers: map[*reader]struct{}{}, watched: map[abi.Resource]*watched{}, defined: map[abi.Resource]bool{}, again: make(chan struct{}, 1)}
	x.join(nil)
	return x
}

// add begins what a reader reads of each resource, and gives what ends it.
func (x *monitors) add(to reader) (undo []func(), err error) {
	r := &to
	x.mu.Lock()
	defer x.mu.Unlock()
	x.used.Store(true)
	x.readers[r] = struct{}{}
	undo = []func(){func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, w := range x.watched {
			w.end(r)
		}
		delete(x.readers, r)
	}}
	for _, w := range x.watched {
		if err := x.subscribe(w, r); err != nil {
			return undo, err
		}
	}
	x.look()
	return undo, nil
}

func (x *monitors) subscribe(w *watched, r *reader) error {
	if !r.v.Plan.Reads(w.Resource.Resource) {
		return nil // the grant doesn't have it
	}
	undo, err := x.m.subscribe(r.c, r.v, w.Resource, r.need, false)
	w.undo[r] = undo
	return err
}

// look asks for another look.
func (x *monitors) look() {
	select {
	case x.again <- struct{}{}:
	default: // it is asked for already
	}
}

// run looks for resources until ctx ends.
func (x *monitors) run(ctx context.Context) {
	quick := soon
	for begun := false; ; {
		x.mu.Lock()
		idle := len(x.readers) == 0
		x.mu.Unlock()
		if idle {
			select {
			case <-ctx.Done():
				return
			case <-x.again:
				continue
			}
		}
		if err := x.refresh(ctx); err != nil && ctx.Err() == nil {
			x.errors.Add(1)
			klog.ErrorS(err, "Can't find out which resources there are, will retry")
		} else if !begun {
			begun = true
			x.settle(ctx)
			close(x.begun)
		}
		wait := rediscover
		if len(quick) > 0 {
			wait, quick = quick[0], quick[1:]
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-x.again:
			timer.Stop()
			quick = soon
			select {
			case <-ctx.Done():
				return
			case <-time.After(soon[0]): // definitions often come in numbers
			}
		case <-timer.C:
		}
	}
}

// refresh watches what has appeared and forgets what has vanished. Of a group that doesn't answer nothing has vanished.
func (x *monitors) refresh(ctx context.Context) error {
	d, err := x.m.discovery.All(ctx)
	if err != nil {
		return err
	}
	served := map[abi.Resource]bool{}
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for i := range d.Resources {
		a := &d.Resources[i]
		r, ok := abi.ParseResource(a.Resource)
		if !ok || slices.Contains(ignored, r) || !slices.Contains(a.Verbs, "list") || !slices.Contains(a.Verbs, "watch") || !slices.Contains(a.Verbs, "delete") {
			continue
		}
		served[r] = true
		if x.watched[r] != nil {
			continue
		}
		if err := x.watch(r, a); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r, err))
			continue
		}
		klog.V(1).InfoS("Watching resource for views over all resources", "resource", a.Resource)
	}
	for r, w := range x.watched {
		group := r.Version
		if r.Group != "" {
			group = r.Group + "/" + r.Version
		}
		if served[r] || slices.ContainsFunc(d.Failures, func(f abi.DiscoveryFailure) bool { return f.GroupVersion == group }) {
			continue
		}
		klog.V(1).InfoS("Resource isn't served any more", "resource", r.String())
		for to := range w.undo {
			w.end(to)
		}
		delete(x.watched, r)
	}
	joint := views.Joint{}
	for r := range x.watched {
		joint = append(joint, x.m.cache.Store(r))
	}
	x.join(joint)
	return errors.Join(errs...)
}

func (x *monitors) join(stores views.Joint) {
	var s views.Store = stores
	x.joint.Store(&s)
}

// watch has all readers told of a resource.
func (x *monitors) watch(r abi.Resource, a *abi.APIResource) error {
	res, err := schema.For(r)
	if err != nil {
		res = schema.Custom(r, a.Kind, a.Namespaced)
		if err := x.m.cache.Learn(res); err != nil {
			return err
		}
	}
	w := &watched{res, map[*reader][]func(){}}
	for to := range x.readers {
		if err := x.subscribe(w, to); err != nil {
			for to := range w.undo {
				w.end(to)
			}
			return err
		}
	}
	if slices.Contains(definitions, r) && !x.defined[r] {
		if _, err := x.m.cache.Handle(r, redefined{x}); err != nil {
			return err
		}
		x.defined[r] = true
	}
	x.watched[r] = w
	return nil
}

// redefined asks for another look when a definition comes, changes or goes.
type redefined struct{ *monitors }

// OnEvent is for the cache.
func (x redefined) OnEvent(e cache.Event) {
	if !e.Initial {
		x.look()
	}
}

// failed is how often something went wrong; false if nobody has views over all resources.
func (x *monitors) failed() (int64, bool) { return x.errors.Load(), x.used.Load() }

// settle waits until each resource was listed or can't be, as long as upstream does at most.
func (x *monitors) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	x.mu.Lock()
	var all []abi.Resource
	for r, w := range x.watched {
		if len(w.undo) > 0 {
			all = append(all, r)
		}
	}
	x.mu.Unlock()
	for _, r := range all {
		if err := x.m.cache.Settled(ctx, r); err != nil {
			x.errors.Add(1)
			klog.InfoS("Going on without a resource", "resource", r.String(), "err", err)
		}
	}
}

// wait waits for the first lists.
func (x *monitors) wait(ctx context.Context) error {
	select {
	case <-x.begun:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
