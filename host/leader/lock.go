package leader

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

type entry = resourcelock.LeaderElectionRecord

// lock is the Lease as client-go's elector gets to see it.
//
// While this process waits, Get returns only once the Lease may be taken, as nobody's: it is this package that follows
// the holder's renewals, not the elector, which would look every few seconds. While this process leads, Get has the
// term end at once if the Lease isn't what this term has made it.
type lock struct {
	*resourcelock.LeaseLock
	lease *Lease
}

func (k *lock) Get(ctx context.Context) (*entry, []byte, error) {
	if !k.lease.Leading() {
		return k.lease.awaitFree(ctx)
	}
	r, raw, err := k.LeaseLock.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		k.lease.endTerm("it was deleted")
		err = ErrNotLeader // or the elector would make it anew, and not know who has held it meanwhile
	case err == nil && !k.lease.isCurrentTerm(r):
		k.lease.noteObserved(r)
		k.lease.endTerm("it is held by " + r.HolderIdentity)
	}
	return r, raw, err
}

func (k *lock) Create(ctx context.Context, r entry) error {
	return k.lease.writeEntry(ctx, r, func(ctx context.Context, r entry) error {
		if err := k.LeaseLock.Create(ctx, r); err != nil {
			return err
		}
		// upstream's role allows to create Leases anywhere, and to update them in kube-system: whoever can't renew one must
		// not begin
		return k.LeaseLock.Update(ctx, r)
	})
}

func (k *lock) Update(ctx context.Context, r entry) error {
	return k.lease.writeEntry(ctx, r, k.LeaseLock.Update)
}

// writeEntry takes or renews the Lease. What has succeeded counts from before it was sent.
func (l *Lease) writeEntry(ctx context.Context, r entry, write func(context.Context, entry) error) error {
	// The elector has looked at its clock before it waited for the Lease, and remembers that. For a Lease that this
	// process has lost and takes again it keeps the time of the term that has ended.
	if !l.Leading() {
		now := metav1.NewTime(time.Now())
		r.RenewTime, l.acquired = now, now
	}
	r.AcquireTime = l.acquired
	sent := l.fence.read()
	err := write(ctx, r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if !l.leading {
			l.returnPlace()
		}
		return l.explain(err)
	}
	if !l.leading {
		l.leading, l.term = true, r.LeaderTransitions
	}
	l.seen = observation{record: r, exists: true, since: time.Now()}
	l.fence.noteRenewal(sent)
	return nil
}

// returnPlace gives the place in the Share back. The caller holds the lock.
func (l *Lease) returnPlace() {
	if l.reserved && l.Share != nil {
		l.Share.returnPlace()
	}
	l.reserved = false
}

// endTerm ends the term.
func (l *Lease) endTerm(why string) {
	klog.InfoS("This process no longer holds the lease", "lease", l.lock.Describe(), "reason", why)
	l.fence.closeFence()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose()
}

// explain says what to do where the manager has no right to the Lease.
func (l *Lease) explain(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w: give the manager a role with get and update of leases/%s, and create of leases, in namespace %s", err, l.Name, l.Namespace)
}

// noteObserved takes note of the Lease as it was seen; nil: there is none.
func (l *Lease) noteObserved(r *entry) (now observation, changed bool) {
	next := observation{since: time.Now()}
	if r != nil {
		raw, err := json.Marshal(r)
		if err != nil {
			raw = nil // it can't be: it came as JSON or protobuf
		}
		next.record, next.exists, next.raw = *r, true, string(raw)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if changed = l.seen.since.IsZero() || l.seen.exists != next.exists || l.seen.raw != next.raw; changed {
		if l.seen.record.HolderIdentity != next.record.HolderIdentity {
			klog.InfoS("The lease's holder has changed", "lease", l.lock.Describe(), "holder", next.record.HolderIdentity)
		}
		l.seen = next
	}
	return l.seen, changed
}

// awaitFree waits until this process may take the Lease, and returns it as nobody's, for the elector to take.
func (l *Lease) awaitFree(ctx context.Context) (*entry, []byte, error) {
	for {
		r, raw, err := l.lock.Get(ctx)
		switch {
		case apierrors.IsNotFound(err):
			r = nil
		case err != nil:
			return nil, nil, l.explain(err)
		}

		seen, _ := l.noteObserved(r)
		if l.pending.countWrites() > 0 {
			// Of an earlier term: the next one's caches must show all that it has written.
			select {
			case <-time.After(l.RetryPeriod / 10):
			case <-ctx.Done():
				return nil, nil, context.Cause(ctx)
			}
			continue
		}

		own := r != nil && r.HolderIdentity == l.Identity // an earlier term's, or taken by a request whose answer was lost
		if free := time.Since(seen.freeFrom()); free >= 0 || own {
			wait, changed := l.reserve(max(free, 0))
			if wait == 0 {
				if r != nil && !own {
					r.HolderIdentity = ""
				}
				return r, raw, err
			}
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-changed:
			case <-ctx.Done():
			}
			timer.Stop()
		} else {
			l.watchUntilFree(ctx, -free)
		}

		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
	}
}

func (l *Lease) reserve(free time.Duration) (wait time.Duration, changed <-chan struct{}) {
	if l.Share != nil {
		if wait, changed = l.Share.takePlace(free); wait > 0 {
			return wait, changed
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved = true
	return 0, nil
}

// watchUntilFree watches the Lease until it seems to be free, which may be so after a while that each renewal begins
// anew, or until the watch ends.
func (l *Lease) watchUntilFree(ctx context.Context, left time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := time.NewTimer(left)
	defer over.Stop()
	var events <-chan watch.Event
	w, err := l.watch.CoordinationV1().Leases(l.Namespace).Watch(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + l.Name})
	if err != nil {
		klog.V(2).InfoS("Can't watch the lease, polling it instead", "lease", l.lock.Describe(), "err", err)
	} else {
		defer w.Stop()
		events = w.ResultChan()
	}

	again := time.NewTimer(l.RetryPeriod + rand.N(l.RetryPeriod))
	defer again.Stop()
	if err == nil {
		again.Stop()
	}

	for {
		select {
		case <-ctx.Done():
			return
		case <-over.C:
			return
		case <-again.C: // without a watch, or after one
			return
		case e, open := <-events:
			lease, ok := e.Object.(*coordinationv1.Lease)
			switch {
			case !open || e.Type == watch.Error || !ok:
				events = nil
				again.Reset(l.RetryPeriod/10 + rand.N(l.RetryPeriod/10))
				continue
			case e.Type == watch.Deleted:
				return
			}
			seen, changed := l.noteObserved(resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec))
			if !changed {
				continue
			}
			left := time.Until(seen.freeFrom())
			if left <= 0 {
				return
			}
			over.Reset(left)
		}
	}
}
