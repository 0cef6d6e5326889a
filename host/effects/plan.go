package effects

import (
	"sync"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/difference"
	"github.com/windlass-dev/windlass/host/schema"
)

// plan is an update that was compared before anything of its answer was written.
type plan struct {
	base   *base
	merged []byte
	same   bool
}

// plans are the updates of a sync that were compared so far.
type plans struct {
	mu sync.Mutex
	of map[*abi.Effect]*plan
}

// keep keeps an update's plan until its turn has come.
func (p *plans) keep(e *abi.Effect, of *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[e] = of
}

// find returns an update's plan, nil where there is none to this base.
func (p *plans) find(e *abi.Effect, b *base) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.of[e]; found != nil && found.base == b {
		return found
	}
	return nil
}

// clear ends all plans.
func (p *plans) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.of)
}

// compare splices what the guest changed into the base.
func (s *Session) compare(e *abi.Effect, res *schema.Resource, k objectKey, b *base) (*plan, error) {
	m, err := message(res, e.Subresource)
	if err != nil {
		return nil, err
	}
	seen, err := s.bases.seenCopy(k, b, e.Version)
	if err != nil {
		return nil, err
	}
	keeps := s.keepsPath(res.Resource, k, e.Object)
	if k.scale {
		keeps = nil
	}
	merged, changed, err := mergeOf(e)(m, b.raw, seen, e.Object, keeps)
	if err != nil {
		return nil, err
	}
	return &plan{base: b, merged: merged, same: !changed}, nil
}

// mergeOf returns how an update is compared with what was seen.
func mergeOf(e *abi.Effect) func(m *schema.Message, base, seen, wanted []byte, keeps func(string) bool) (
	[]byte, bool, error) {

	if e.Subresource == "status" {
		return difference.MergeStatus
	}
	return difference.Merge
}
