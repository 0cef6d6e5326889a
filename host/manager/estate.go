package manager

import (
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/leader"
	"github.com/windlass-dev/windlass/host/process/guardian/will"
)

// testament is what a guardian has to know of this process.
func (x *leaders) testament() will.Testament {
	e := &x.election
	t := will.Testament{Identity: x.identity, Namespace: e.ResourceNamespace, Late: leader.Late(e.LeaseDuration.Duration),
		Within: e.LeaseDuration.Duration}
	for _, g := range e.All() {
		t.Leases = append(t.Leases, g.LeaseName)
	}
	return t
}

// Settle does what a manager has left that has ended with the same configuration: it gives up the Leases that it held,
// once no write of it can be under way. How says how it has ended.
func Settle(c *config.Configuration, e *will.Estate, how string) error {
	began := time.Now()
	writes, err := e.Over(began.Add(e.Within))
	if err != nil {
		return errors.Join(errors.New("the ended manager's leases are left to expire"), err)
	}
	r, err := restConfig(&c.ClientConnection)
	if err != nil {
		return err
	}
	klog.InfoS("The manager has ended, and none of its requests is in flight", "how", how, "writes", writes, "after",
		time.Since(began))
	errs := make([]error, len(e.Leases))
	var all sync.WaitGroup
	for i, name := range e.Leases {
		all.Go(func() {
			errs[i] = leader.Release(leader.Options{Config: r, Namespace: e.Namespace, Name: name, Identity: e.Identity,
				RenewDeadline: e.Within})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
