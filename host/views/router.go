package views

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// Router takes the events of one resource to the plans that read it. One pass over old and new finds the changed leaves
// for all of them; each plan is then a test of bits.
type Router struct {
	world    World
	resource abi.Resource
	mu       sync.Mutex // held by changes
	state    atomic.Pointer[routes]
	memos    sync.Pool // *memo
}

type routes struct {
	leaves *schema.Leaves
	all    schema.Bits
	routes []compiled
}

// Route is one plan's place in a router.
type Route struct {
	plan *Plan
	r    *resourcePlan
	own  func(cache.Event) bool
	wake func(abi.KeyRef, time.Duration)
}

// compiled is a route in bits of the router's leaves.
type compiled struct {
	*Route
	tests []tests
	any   schema.Bits // of all tests
}

// NewRouter makes the router of a resource; it is the cache's handler.
func NewRouter(w World, r abi.Resource) *Router {
	x := &Router{world: w, resource: r}
	x.state.Store(&routes{})
	x.memos.New = func() any { return new(memo) }
	return x
}

// Add routes events to the plan's views on the resource, or to those over all resources (need is [schema.Any] then),
// from now on, and gives what takes it away again. own and wake are as for [Plan.Wakes].
func (x *Router) Add(p *Plan, need abi.Resource, own func(cache.Event) bool,
	wake func(abi.KeyRef, time.Duration)) (*Route, error) {
	i := slices.IndexFunc(p.resources, func(r *resourcePlan) bool {
		return r.resource.Resource == need && r.readsResource(x.resource)
	})
	if i < 0 {
		return nil, fmt.Errorf("controller %s has no view on %s", p.controller, x.resource)
	}
	route := &Route{plan: p, r: p.resources[i], own: own, wake: wake}
	x.mu.Lock()
	defer x.mu.Unlock()
	return route, x.replaceRoutes(append(slices.Clone(x.state.Load().routes), compiled{Route: route}))
}

// Remove takes a plan's route away. An event that is on its way may still wake keys.
func (x *Router) Remove(route *Route) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.replaceRoutes(slices.DeleteFunc(slices.Clone(x.state.Load().routes), func(c compiled) bool {
		return c.Route == route
	}))
}

// replaceRoutes puts new routes in place of the old.
func (x *Router) replaceRoutes(all []compiled) error {
	next := &routes{}
	var paths []string
	for _, r := range all {
		paths = append(paths, r.r.paths...)
	}
	paths = distinct(paths)
	for _, r := range all {
		next.routes = append(next.routes, compiled{Route: r.Route, tests: r.r.testsOver(paths),
			any: pathBits(paths, r.r.paths)})
	}
	if len(all) > 0 {
		var err error
		widest := all[0].r.resource.Message
		for _, r := range all {
			if !r.r.overAllResources() {
				widest = r.r.resource.Message
			}
		}
		if next.leaves, err = widest.Leaves(paths); err != nil {
			return fmt.Errorf("%s: %w", x.resource, err)
		}
	}
	next.all = pathBits(paths, paths)
	x.state.Store(next)
	return nil
}

// OnEvent wakes the keys of all plans that the event concerns.
func (x *Router) OnEvent(e cache.Event) {
	now := x.state.Load()
	if len(now.routes) == 0 {
		return
	}

	m := x.memos.Get().(*memo)
	m.beginEvent(e)
	defer func() {
		m.endEvent()
		x.memos.Put(m)
	}()
	changed := now.all
	if e.Old != nil && e.New != nil && e.Old.UID == e.New.UID &&
		now.leaves.Changed(e.Old.Raw, e.New.Raw, &m.changed) == nil {
		changed = m.changed
	}

	for _, r := range now.routes {
		if e.Old != nil {
			r.r.hot.forget(e.Old)
		}
		e, ok := r.r.granted(r.plan.grant, e)
		if !ok || !changed.Intersects(r.any) && e.Old != nil && e.New != nil {
			continue
		}
		s := r.plan.scratch.Get().(*scratch)
		s.memo = m
		r.plan.wakesForChange(s, r.r, r.plan.coveredWorld(x.world), e, changed, r.tests, r.own, r.wake)
		s.memo = nil
		r.plan.scratch.Put(s)
	}
}
