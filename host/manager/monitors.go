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

// monitors keep views over all resources true to what the API server serves: resources that appear are watched, those
// that vanish no longer. One that can't be listed holds up nobody but the keys that look into its store.
type monitors struct {
	stores *stores
	errors atomic.Int64 // resources that couldn't be listed in time, and looks that failed
	used   atomic.Bool  // there has been a reader

	joint atomic.Pointer[views.Store]           // all stores as one, made anew when a resource comes or goes
	lost  atomic.Pointer[map[abi.Resource]bool] // those that aren't served, while their objects are kept
	// unknown are group versions of which discovery has told nothing yet.
	unknown atomic.Pointer[[]unlisted]
	reasons atomic.Pointer[map[abi.Resource]string] // why resources can't be listed, as far as that was asked

	mu      sync.Mutex // held by changes
	readers map[*reader]struct{}
	watched map[abi.Resource]*watched
	defined map[abi.Resource]bool // whose events are heard
	again   chan struct{}
	now     chan struct{}
}

// reader is a version of a controller with views over all resources.
type reader struct {
	c     *controller.Controller
	v     *controller.Version
	need  views.Need
	seen  chan struct{}         // closed once discovery has been looked at since it came
	parts atomic.Pointer[parts] // what it reads of the resources that are looked into
}

// watched is a resource with each reader's part in it.
type watched struct {
	*schema.Resource
	parts map[*reader]*cache.Reader
	undo  map[*reader][]func()
	lost  bool // it isn't served
	// defined says that there has been a definition of it: when that is gone, its objects are.
	defined bool
	old     bool // another version is to take its place
}

func (w *watched) endReader(r *reader) {
	for _, f := range w.undo[r] {
		f()
	}
	delete(w.undo, r)
	delete(w.parts, r)
}

// isCurrent reports whether the store is current for all readers.
func (w *watched) isCurrent() bool {
	for _, p := range w.parts {
		if !p.Current() {
			return false
		}
	}
	return true
}

// What upstream's garbage collector takes for these: how often it looks for new resources, and how long it waits for
// the first lists.
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

func newMonitors(s *stores) *monitors {
	x := &monitors{
		stores: s, readers: map[*reader]struct{}{}, watched: map[abi.Resource]*watched{}, defined: map[abi.Resource]bool{},
		again: make(chan struct{}, 1), now: make(chan struct{}, 1),
	}
	x.joinStores()
	x.unknown.Store(&[]unlisted{})
	x.reasons.Store(&map[abi.Resource]string{})
	return x
}

// addReader begins what a reader reads of each resource, and returns what ends it.
func (x *monitors) addReader(r *reader) (undo []func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.used.Store(true)
	x.readers[r] = struct{}{}
	undo = []func(){func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, w := range x.watched {
			w.endReader(r)
		}
		delete(x.readers, r)
	}}
	for _, w := range x.watched {
		if err := x.subscribe(w, r); err != nil {
			return undo, err
		}
	}
	x.joinStores()
	select {
	case x.now <- struct{}{}:
	default: // it is asked for already
	}
	return undo, nil
}

func (x *monitors) subscribe(w *watched, r *reader) error {
	if !r.v.Plan.Reads(w.Resource.Resource) {
		return nil // the grant doesn't have it
	}
	part, undo, err := x.stores.subscribe(r.c, r.v, w.Resource, r.need, false, func(late bool) {
		x.replaceFilled(w)
		if late && r.c != nil {
			r.v.Plan.KeysFrom(x.stores, w.Resource.Resource, func(k abi.KeyRef) { r.c.Wake(k) })
		}
	})
	w.undo[r] = undo
	if err == nil {
		w.parts[r] = part
	}
	return err
}

// replaceFilled has a resource take the place of another version of it as soon as its store can.
func (x *monitors) replaceFilled(w *watched) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.replaces(w.Resource.Resource, w) {
		x.requestLook()
	}
}

// requestLook asks for another look.
func (x *monitors) requestLook() {
	select {
	case x.again <- struct{}{}:
	default: // it is asked for already
	}
}

// run looks for resources until ctx ends.
func (x *monitors) run(ctx context.Context) {
	quick := soon
	for {
		x.mu.Lock()
		idle := len(x.readers) == 0
		x.mu.Unlock()
		if idle {
			select {
			case <-ctx.Done():
				return
			case <-x.again:
			case <-x.now:
			}
			continue
		}

		if err := x.refresh(ctx); err != nil && ctx.Err() == nil {
			x.errors.Add(1)
			klog.ErrorS(err, "Discovery failed, will retry")
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
		case <-x.now:
			timer.Stop()
		case <-x.again:
			timer.Stop()
			quick = soon
			select {
			case <-ctx.Done():
				return
			case <-x.now:
			case <-time.After(soon[0]): // definitions often come in numbers
			}
		case <-timer.C:
		}
	}
}

var errNothing = errors.New("the API server says that it serves nothing that can be listed and watched")

// refresh watches what has appeared and forgets what has vanished.
func (x *monitors) refresh(ctx context.Context) error {
	d, err := x.stores.discovery.All(ctx)
	if err != nil {
		return err
	}

	served := map[abi.Resource]*abi.APIResource{}
	for i := range d.Resources {
		a := &d.Resources[i]
		r, ok := abi.ParseResource(a.Resource)
		if !ok || slices.Contains(ignored, r) || !slices.Contains(a.Verbs, "list") || !slices.Contains(a.Verbs, "watch") ||
			!slices.Contains(a.Verbs, "delete") {
			continue
		}
		served[r] = a
	}
	if len(served) == 0 {
		return errNothing
	}

	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for r, a := range served {
		if w := x.watched[r]; w != nil {
			w.lost, w.old = false, false
			continue
		}
		if err := x.watchResource(r, a); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r, err))
			continue
		}
		klog.V(1).InfoS("Watching resource for views over all resources", "resource", a.Resource)
	}

	x.noteUnknown(x.stores.discovery.Unknown())
	x.noteDefined()
	for r, w := range x.watched {
		if served[r] == nil && !groupFailed(d, r) {
			x.vanished(r, w)
		}
	}

	x.joinStores()
	for r := range x.readers {
		select {
		case <-r.seen:
		default:
			close(r.seen)
		}
		if r.c != nil {
			r.c.Freed() // what a key waits for may be lost no longer, or for good
		}
	}
	return errors.Join(errs...)
}

// groupFailed reports whether a resource's group couldn't be asked: of it nothing has vanished.
func groupFailed(d *abi.Discovery, r abi.Resource) bool {
	group := r.Version
	if r.Group != "" {
		group = r.Group + "/" + r.Version
	}
	return slices.ContainsFunc(d.Failures, func(f abi.DiscoveryFailure) bool { return f.GroupVersion == group })
}

// vanished deals with a resource that discovery doesn't show any more, at least not in that version. Its store serves
// until that of another version is current, which then tells what has gone; where there is no other version its
// objects, if there are any, are kept: whoever needs to know of them waits until they can be asked for.
func (x *monitors) vanished(r abi.Resource, w *watched) {
	for other, by := range x.watched {
		if other == r || other.Group != r.Group || other.Name != r.Name || by.lost {
			continue
		}
		if !by.isCurrent() {
			w.old = true
			return
		}
		if err := x.stores.cache.Supersede(r, other); err != nil {
			klog.ErrorS(err, "Can't report an unserved resource's objects as deleted", "resource", r.String())
		}
		x.forgetResource(r, w)
		return
	}

	if store := x.stores.cache.Store(r); store != nil && store.Len() > 0 && !x.undefined(r, w) {
		if !w.lost {
			klog.InfoS("Resource isn't served: its cached objects are kept until it is served again, and keys that depend on it wait",
				"resource", r.String(), "objects", store.Len())
		}
		w.lost = true
		for _, p := range w.parts {
			p.Expire()
		}
		return
	}

	if err := x.stores.cache.End(r); err != nil {
		klog.ErrorS(err, "Can't report an unserved resource's objects as deleted", "resource", r.String())
	}
	x.forgetResource(r, w)
}

// noteDefined notes which resources have a definition.
func (x *monitors) noteDefined() {
	for r, w := range x.watched {
		w.defined = w.defined || x.definition(r) != nil
	}
}

// undefined reports whether a resource's definition is gone, and with it all its objects.
func (x *monitors) undefined(r abi.Resource, w *watched) bool {
	d := x.watched[definitions[0]]
	return w.defined && d != nil && d.isCurrent() && x.definition(r) == nil
}

func (x *monitors) definition(r abi.Resource) *cache.Object {
	return x.stores.cache.Store(definitions[0]).Get("", r.Name+"."+r.Group)
}

func (x *monitors) forgetResource(r abi.Resource, w *watched) {
	klog.V(1).InfoS("Resource isn't served any more", "resource", r.String())
	for to := range w.undo {
		w.endReader(to)
	}
	delete(x.watched, r)
}

// joinStores has views look into the stores of all resources, but those of versions that are about to take another's
// place.
func (x *monitors) joinStores() {
	joint, lost := views.Joint{}, map[abi.Resource]bool{}
	all := map[*reader]parts{}
	for r := range x.readers {
		all[r] = parts{}
	}
	for r, w := range x.watched {
		if w.lost {
			lost[r] = true
		}
		if x.replaces(r, w) {
			continue
		}
		joint = append(joint, views.Part{Store: x.stores.cache.Store(r), Resource: w.Resource})
		for to, p := range w.parts {
			if all[to] != nil && !w.lost {
				all[to][r] = p
			}
		}
	}
	for r, p := range all {
		r.parts.Store(&p)
	}
	var s views.Store = joint
	x.joint.Store(&s)
	x.lost.Store(&lost)
}

// replaces reports whether a resource is another version of one whose store still serves, though it isn't the version
// to watch any more.
func (x *monitors) replaces(r abi.Resource, w *watched) bool {
	for other, was := range x.watched {
		if was.old && other != r && other.Group == r.Group && other.Name == r.Name {
			return !w.old
		}
	}
	return false
}

func (x *monitors) isLost(r abi.Resource) bool { return (*x.lost.Load())[r] }

// watchResource has all readers told of a resource.
func (x *monitors) watchResource(r abi.Resource, a *abi.APIResource) error {
	res, err := schema.For(r)
	if err != nil {
		res = schema.Custom(r, a.Kind, a.Namespaced)
		if err := x.stores.cache.Learn(res); err != nil {
			return err
		}
	}
	w := &watched{Resource: res, parts: map[*reader]*cache.Reader{}, undo: map[*reader][]func(){}}
	for to := range x.readers {
		if err := x.subscribe(w, to); err != nil {
			for to := range w.undo {
				w.endReader(to)
			}
			return err
		}
	}
	if slices.Contains(definitions, r) && !x.defined[r] {
		if _, err := x.stores.cache.Handle(r, redefined{x}); err != nil {
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
		x.requestLook()
	}
}

// errorCount returns how often something went wrong; false if nobody has views over all resources.
func (x *monitors) errorCount() (int64, bool) { return x.errors.Load(), x.used.Load() }

// waitForReader waits until a reader has all there is, as long as upstream's collector does at most: a resource that
// can't be listed by then holds up the keys that look into its store, those alone that can't do without.
func (x *monitors) waitForReader(ctx context.Context, r *reader) error {
	select {
	case <-r.seen:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	patience, cancel := context.WithTimeout(ctx, x.stores.patience)
	defer cancel()
	for name, p := range *r.parts.Load() {
		if err := p.Wait(patience); err != nil && ctx.Err() == nil {
			x.errors.Add(1)
			klog.InfoS("Starting without a resource: keys that depend on it wait", "resource", name.String(), "err", err)
		}
	}
	return context.Cause(ctx)
}

// settled reports whether each resource is listed, or can't be.
func (x *monitors) settled() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.watched) == 0 {
		return false
	}
	for _, s := range x.stores.cache.Status() {
		if x.watched[s.Resource] != nil && !s.Synced && s.Err == nil {
			return false
		}
	}
	return true
}
