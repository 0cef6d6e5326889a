package manager

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// proofs tell that the caches which were filled before a Lease was taken show all that its holder before has written: a resource is looked at once in a term.
type proofs struct {
	m    *manager
	kept map[abi.Resource]bool // when the Lease was taken: what fills other caches is newer

	mu sync.Mutex
	of map[abi.Resource]*proof
}

type proof struct{ done chan struct{} }

func newProofs(m *manager) *proofs {
	p := &proofs{m: m, kept: map[abi.Resource]bool{}, of: map[abi.Resource]*proof{}}
	for _, s := range m.cache.Status() {
		p.kept[s.Resource] = true
	}
	return p
}

// wait waits until the caches of what is read are current.
func (p *proofs) wait(ctx context.Context, r *reading) error {
	all := map[abi.Resource]bool{}
	for _, n := range r.needs {
		if n.Resource != schema.Any {
			all[n.Resource] = p.kept[n.Resource]
			continue
		}
		for _, x := range p.m.monitors.resources() {
			all[x] = p.kept[x]
		}
	}
	var proofs []*proof
	for x, kept := range all {
		if kept {
			proofs = append(proofs, p.begin(ctx, x))
		}
	}
	for _, x := range proofs {
		select {
		case <-x.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// begin begins the proof of a resource, unless that is done.
func (p *proofs) begin(ctx context.Context, r abi.Resource) *proof {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.of[r]
	if x == nil {
		x = &proof{make(chan struct{})}
		p.of[r] = x
		go func() {
			for !p.try(ctx, r) {
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

func (p *proofs) try(ctx context.Context, r abi.Resource) bool {
	store := p.m.cache.Store(r)
	if store == nil || !store.Synced() {
		return true // it isn't served
	}
	err := p.m.leaders.currency.Await(ctx, r, store, func(f func()) (func(), error) { return p.m.cache.Progress(r, f) })
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Can't tell whether a cache is as new as the server, will retry", "resource", r.String())
	}
	return err == nil
}

// resources are those that are watched for views over all of them.
func (x *monitors) resources() []abi.Resource {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.watched))
}

// settled tells whether all that wait waits for is done.
func (x *monitors) settled() bool {
	select {
	case <-x.begun:
		return true
	default:
		return false
	}
}
