package manager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/leader"
	"github.com/windlass-dev/windlass/host/process/guardian/will"
	"github.com/windlass-dev/windlass/host/state"
)

// leaders are the groups of controllers that are run by whichever process holds a group's Lease.
type leaders struct {
	identity string
	groups   []*group // first that of the controllers which no other names; none: everything runs here
	election config.LeaderElection
	currency *effects.Currency

	aliases atomic.Pointer[map[string]string] // of the plugins that were found last
}

// group is one Lease with its controllers.
type group struct {
	config.LeaderGroup
	lease *leader.Lease

	// While the Lease is held: the life of the workers, and what the caches were proved by; guarded by changing.
	work   context.Context
	proofs *proofs

	mu      sync.Mutex
	running int
	idle    *sync.Cond
}

func newLeaders(e config.LeaderElection) *leaders {
	x := &leaders{election: e}
	x.aliases.Store(&map[string]string{})
	return x
}

// openLeases makes the Leases that the configuration names. Nothing is asked for yet. wall and w are as in Options.
func (x *leaders) openLeases(r *rest.Config, wall func() time.Time, w *will.Will) (err error) {
	e := x.election
	if !e.LeaderElect {
		return nil
	}
	if x.identity, err = leader.Identity(); err != nil {
		return err
	}
	if x.currency, err = effects.NewCurrency(r); err != nil {
		return err
	}
	share := leader.NewShare(e.RetryPeriod.Duration / 2)
	for _, g := range e.All() {
		l, err := leader.New(leader.Options{
			Config: r, Namespace: e.ResourceNamespace, Name: g.LeaseName, Identity: x.identity, Share: share,
			Duration: e.LeaseDuration.Duration, RenewDeadline: e.RenewDeadline.Duration, RetryPeriod: e.RetryPeriod.Duration,
			Wall: wall, Will: w,
		})
		if err != nil {
			return err
		}
		n := &group{LeaderGroup: g, lease: l}
		n.idle = sync.NewCond(&n.mu)
		x.groups = append(x.groups, n)
	}
	return w.Leave(x.testament())
}

// isColdStandby reports whether nothing is begun before a Lease is held.
func (x *leaders) isColdStandby() bool {
	return x.election.LeaderElect && x.election.Standby == config.StandbyCold
}

// slotTerm returns where a slot runs: its life, and what proves its caches; nil: not here at the moment. begin and end
// are told when the slot does. The caller holds changing.
func (x *leaders) slotTerm(m *manager, s *slot) (work context.Context, p *proofs, begin, end func()) {
	g := x.groupOf(s.Current().Manifest)
	if g == nil {
		return m.work, nil, func() {}, func() {}
	}
	return g.work, g.proofs, g.addWorker, g.removeWorker
}

// fenceFor and clientFor return what a controller's writes are sent by; nil where there is no election.
func (x *leaders) fenceFor(c *abi.Controller) func(context.Context) (time.Duration, error) {
	if g := x.groupOf(c); g != nil {
		return g.lease.Await
	}
	return nil
}

func (x *leaders) clientFor(c *abi.Controller) func(*rest.Config) (*http.Client, error) {
	if g := x.groupOf(c); g != nil {
		return g.lease.Client
	}
	return nil
}

// groupOf returns a controller's group, nil where there is no election. What is a part of another controller is where
// that is.
func (x *leaders) groupOf(c *abi.Controller) *group {
	if len(x.groups) == 0 {
		return nil
	}
	name := c.Name
	if c.PartOf != "" {
		name = c.PartOf
	}
	return x.groups[x.election.Group(name, *x.aliases.Load())]
}

// contend contends for all Leases until ctx ends, and all of them are given up. run is called when one is held, and
// runs its group until its context ends.
func (x *leaders) contend(ctx context.Context, run func(context.Context, *group)) {
	var all sync.WaitGroup
	// so that processes that start together don't all begin with the same one
	for _, i := range rand.Perm(len(x.groups)) {
		g := x.groups[i]
		all.Go(func() { g.lease.Run(ctx, func(ctx context.Context) { run(ctx, g) }) })
	}
	all.Wait()
}

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
