package manager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/state"
)

// status returns who leads.
func (x *leaders) status(r *roster) (all []state.LeaderStatus) {
	for _, g := range x.groups {
		holder, since := g.lease.Holder()
		s := state.LeaderStatus{Group: g.Name, Lease: x.election.ResourceNamespace + "/" + g.LeaseName,
			Holder: holder, Here: g.lease.Leading(), Controllers: []string{}}
		if holder != "" && !since.IsZero() {
			s.Since = &since
		}
		for _, c := range r.slots() {
			if x.groupOf(c.Current().Manifest) == g {
				s.Controllers = append(s.Controllers, c.Name())
			}
		}
		slices.Sort(s.Controllers)
		all = append(all, s)
	}
	return all
}

// check is upstream's check leaderElection: it fails when a Lease that is held here isn't renewed any more.
func (x *leaders) check() error {
	var errs []error
	for _, g := range x.groups {
		if err := g.lease.Check(); err != nil {
			errs = append(errs, fmt.Errorf("group %s: %w", g.Name, err))
		}
	}
	return errors.Join(errs...)
}

// leadsFor reports whether this process runs the controllers of a controller's group.
func (x *leaders) leadsFor(name string) bool {
	g := x.groupOf(&abi.Controller{Name: name})
	return g == nil || g.lease.Leading()
}
