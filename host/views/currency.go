package views

import (
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// Currency tells which of the stores that a plan's views look into are current, so that what isn't in them isn't in the
// cluster.
type Currency interface {
	// Current reports whether a resource's store is; of [schema.Any], whether those of all resources are, and one that
	// isn't.
	Current(r abi.Resource) (young abi.Resource, ok bool)
	// Lost reports whether the API server doesn't serve a resource whose objects are kept: whether they are still there
	// can't be told.
	Lost(r abi.Resource) bool
	// Lacking returns, of all resources, those that can't be listed and that a lenient view goes on without. If there is
	// another one that isn't current, it is young, and wait is after how long a lenient view goes on without that, too.
	Lacking() (unlisted []abi.Resource, young abi.Resource, wait time.Duration)
}

// SetCurrency has snapshots look only into stores that are current. Without it all are taken for that.
func (p *Plan) SetCurrency(c Currency) { p.currency.Store(&c) }

// Current reports whether a resource's store is current for the plan, and what it shows is served.
func (p *Plan) Current(r abi.Resource) bool {
	c := p.currency.Load()
	if c == nil {
		return true
	}
	_, ok := (*c).Current(r)
	return ok && !(*c).Lost(r)
}

// Young is why a key can't be synced: a view looks into a store that isn't current. It can once that is.
type Young struct {
	View     string
	Resource abi.Resource
	// Wait is after how long the key can be synced though the store isn't current, as the view is lenient; 0: never.
	Wait time.Duration
}

func (e *Young) Error() string {
	return fmt.Sprintf("view %s: the cache of %s isn't known to be current, so it may lack objects that exist",
		e.View, e.Resource)
}

// checkCurrency notes that a view looks into a store that isn't current.
func (x *evaluation) checkCurrency(v *view, r abi.Resource) {
	if x.currency == nil || x.young != nil {
		return
	}
	if v.Lenient {
		unlisted, young, wait := x.currency.Lacking()
		if wait > 0 {
			x.young = &Young{View: v.Name, Resource: young, Wait: wait}
		}
		x.views[v.index].unlisted = unlisted
		return
	}
	if young, ok := x.currency.Current(r); !ok {
		x.young = &Young{View: v.Name, Resource: young}
	}
}

// checkRows notes that a view over all resources holds objects of one that isn't served.
func (x *evaluation) checkRows(v *view, rows []*cache.Object) {
	if x.currency == nil || x.young != nil || !v.plan.overAllResources() {
		return
	}
	for _, o := range rows {
		if x.currency.Lost(o.Resource.Resource) {
			x.young = &Young{View: v.Name, Resource: o.Resource.Resource}
			return
		}
	}
}
