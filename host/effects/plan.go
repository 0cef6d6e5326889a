package effects

import (
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

// compare splices what the guest changed into the base.
func (s *Session) compare(e *abi.Effect, res *schema.Resource, k objectKey, b *base) (*plan, error) {
	m, err := message(res, e.Subresource)
	if err != nil {
		return nil, err
	}
	seen, err := s.seenCopy(k, b, e.Version)
	if err != nil {
		return nil, err
	}
	keeps := s.w.keepsPath(res.Resource)
	if k.scale {
		keeps = nil
	}
	merged, changed, err := difference.Merge(m, b.raw, seen, e.Object, keeps)
	if err != nil {
		return nil, err
	}
	return &plan{base: b, merged: merged, same: !changed}, nil
}
