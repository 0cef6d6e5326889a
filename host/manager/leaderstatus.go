package manager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/host/state"
)

// leaderStatus returns who leads.
func (m *manager) leaderStatus() (all []state.LeaderStatus) {
	for _, g := range m.leaders.groups {
		holder, since := g.lease.Holder()
		s := state.LeaderStatus{Group: g.Name, Lease: m.leaders.election.ResourceNamespace + "/" + g.LeaseName,
			Holder: holder, Here: g.lease.Leading(), Controllers: []string{}}
		if holder != "" && !since.IsZero() {
			s.Since = &since
		}
		for _, h := range m.allHosted() {
			for _, x := range h.allSlots() {
				if m.leaders.groupOf(x.Current().Manifest) == g {
					s.Controllers = append(s.Controllers, x.Name())
				}
			}
		}
		slices.Sort(s.Controllers)
		all = append(all, s)
	}
	return all
}

// checkLeases is upstream's check leaderElection: it fails when a Lease that is held here isn't renewed any more.
func (m *manager) checkLeases() error {
	var errs []error
	for _, g := range m.leaders.groups {
		if err := g.lease.Check(); err != nil {
			errs = append(errs, fmt.Errorf("group %s: %w", g.Name, err))
		}
	}
	return errors.Join(errs...)
}
