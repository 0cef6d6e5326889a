package effects

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// slowFor is how long it is remembered that a write has outlasted the Lease.
const slowFor = 5 * time.Minute

// slowWrites are where writes have lately taken longer than the Lease leaves, as where several webhooks are slow: the
// next ones there have more time from the start, or each of them would be sent in vain first.
type slowWrites struct {
	count atomic.Int32

	mu    sync.Mutex
	until map[slowPlace]time.Time
}

type slowPlace struct {
	verb        string
	resource    abi.Resource
	subresource string
	namespace   string
}

func placeOf(r *apiserver.Request) slowPlace {
	return slowPlace{r.Verb, r.Resource, r.Subresource, r.Namespace}
}

// has reports whether a write like this one has outlasted the Lease lately.
func (s *slowWrites) has(r *apiserver.Request) bool {
	if s.count.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until[placeOf(r)])
}

// slowUID returns the UID of the object of a write that demands neither a version nor a UID, where such writes have
// outlasted the Lease lately: only one that can't be done twice gets more time than the Lease leaves. It is empty
// elsewhere, and where there is no such object.
func (s *Session) slowUID(ctx context.Context, e *abi.Effect, res *schema.Resource, r *apiserver.Request,
	b *base) string {

	if s.w.Outlast == nil || !s.w.slow.has(r) {
		return ""
	}
	if b != nil && b.uid != "" {
		return b.uid
	}
	raw, err := s.w.readLive(ctx, res, e.Namespace, e.Name)
	if err != nil {
		return "" // the write itself meets the same
	}
	m, err := envelope.ReadMeta(raw)
	if err != nil {
		return ""
	}
	return m.UID
}

// note notes that a write outlasts the Lease, or that it would no more have needed to.
func (s *slowWrites) note(r *apiserver.Request, slow bool) {
	if !slow && s.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[slowPlace]time.Time{}
	}

	place, now := placeOf(r), time.Now()
	// Cloned: a guest's strings may point into a buffer that is used again.
	place.namespace, place.subresource = strings.Clone(place.namespace), strings.Clone(place.subresource)
	if slow {
		s.until[place] = now.Add(slowFor)
	} else {
		delete(s.until, place)
	}
	for p, until := range s.until {
		if now.After(until) {
			delete(s.until, p)
		}
	}
	s.count.Store(int32(len(s.until)))
}
