package manager

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// currency tells which of the stores that a version reads are current for it. It isn't changed once it is the plan's.
type currency struct {
	stores *stores
	named  map[abi.Resource]*cache.Reader
	all    *reader // of views over all resources; nil: there are none
}

// Current is for the version's plan.
func (x *currency) Current(r abi.Resource) (abi.Resource, bool) {
	if n := x.named[r]; n != nil {
		return r, n.Current()
	}
	if x.all == nil {
		return r, true
	}
	if u, ok := x.stores.monitors.firstUnknown(r); ok {
		return u, false
	}
	return x.all.current(r)
}

// Lost is for the version's plan.
func (x *currency) Lost(r abi.Resource) bool { return x.stores.monitors.isLost(r) }

// Lacking is for the version's plan.
func (x *currency) Lacking() (unlisted []abi.Resource, young abi.Resource, wait time.Duration) {
	if x.all == nil {
		return nil, young, 0
	}
	now := time.Now()
	for _, u := range x.stores.monitors.unlistedFor(x.all) {
		if left := x.stores.patience - now.Sub(u.since); left > wait {
			young, wait = u.Resource, left
		} else if left <= 0 {
			unlisted = append(unlisted, u.Resource)
		}
	}
	return unlisted, young, wait
}

// parts are a reader's of the resources that all views look into, in the place of their stores as one.
type parts map[abi.Resource]*cache.Reader

// current reports whether the store of a resource is current for views over all of them; of [schema.Any] whether all
// are.
func (r *reader) current(of abi.Resource) (abi.Resource, bool) {
	all := r.parts.Load()
	if all == nil {
		return of, false
	}
	if of != schema.Any {
		p := (*all)[of]
		return of, p == nil || p.Current() // one that isn't watched has no objects
	}
	for name, p := range *all {
		if !p.Current() {
			return name, false
		}
	}
	return of, true
}
