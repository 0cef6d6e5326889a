package views

import (
	"fmt"

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
}

// SetCurrency has snapshots look only into stores that are current. Without it all are taken for that.
func (p *Plan) SetCurrency(c Currency) { p.currency.Store(&c) }

// Current reports whether a resource's store is current for the plan.
func (p *Plan) Current(r abi.Resource) bool {
	c := p.currency.Load()
	if c == nil {
		return true
	}
	_, ok := (*c).Current(r)
	return ok
}

// Young is why a key can't be synced: a view looks into a store that isn't current. It can once that is.
type Young struct {
	View     string
	Resource abi.Resource
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
	if young, ok := x.currency.Current(r); !ok {
		x.young = &Young{v.Name, young}
	}
}

// checkRows notes that a view over all resources holds objects of one that isn't served.
func (x *evaluation) checkRows(v *view, rows []*cache.Object) {
	if x.currency == nil || x.young != nil || !v.plan.overAllResources() {
		return
	}
	for _, o := range rows {
		if x.currency.Lost(o.Resource.Resource) {
			x.young = &Young{v.Name, o.Resource.Resource}
			return
		}
	}
}
