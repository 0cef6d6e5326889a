package manager

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
)

// proofs tell that the caches which were filled before a Lease was taken show all that its holder before has written: a
// resource is looked at once in a term.
type proofs struct {
	stores   *stores
	currency *effects.Currency
	kept     map[abi.Resource]bool // when the Lease was taken: what fills other caches is newer

	mu sync.Mutex
	of map[abi.Resource]*proof
}

type proof struct{ done chan struct{} }

func newProofs(x *stores, y *effects.Currency) *proofs {
	p := &proofs{stores: x, currency: y, kept: map[abi.Resource]bool{}, of: map[abi.Resource]*proof{}}
	for _, s := range x.cache.Status() {
		p.kept[s.Resource] = true
	}
	return p
}

// waitForReads waits until the caches of what is read are current. Of views over all resources those that can't be
// proved in time hold up the keys that look into them.
func (p *proofs) waitForReads(ctx context.Context, r *reading) error {
	var named []*proof
	for _, n := range r.needs {
		if p.kept[n.Resource] {
			named = append(named, p.beginProof(ctx, n.Resource))
		}
	}

	if err := awaitProofs(ctx, named); err != nil {
		return err
	}
	var others []*proof
	for _, all := range r.all {
		for name, part := range *all.parts.Load() {
			if !p.kept[name] {
				continue
			}
			part.Doubt()
			x := p.beginProof(ctx, name)
			others = append(others, x)
			go func() {
				if awaitProofs(ctx, []*proof{x}) == nil {
					part.Trust()
				}
			}()
		}
	}

	patience, cancel := context.WithTimeout(ctx, p.stores.patience)
	defer cancel()
	if err := awaitProofs(patience, others); err != nil && ctx.Err() == nil {
		klog.InfoS("Starting although some caches may be older than the API server's state: keys that depend on them wait, " +
			"and windlass get keys lists these as parked")
	}
	return context.Cause(ctx)
}

func awaitProofs(ctx context.Context, all []*proof) error {
	for _, x := range all {
		select {
		case <-x.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// beginProof begins the proof of a resource, unless that is done.
func (p *proofs) beginProof(ctx context.Context, r abi.Resource) *proof {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.of[r]
	if x == nil {
		x = &proof{make(chan struct{})}
		p.of[r] = x
		go func() {
			for !p.tryProof(ctx, r) {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return
				}
			}
			close(x.done)
		}()
	}
	return x
}

func (p *proofs) tryProof(ctx context.Context, r abi.Resource) bool {
	store := p.stores.cache.Store(r)
	if store == nil || !store.Synced() {
		return true // it isn't served
	}
	err := p.currency.Await(ctx, r, store, func(f func()) (func(), error) { return p.stores.cache.Progress(r, f) })
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Can't tell whether a cache is current, will retry", "resource", r.String())
	}
	return err == nil
}
