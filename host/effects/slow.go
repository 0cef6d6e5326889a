package effects

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
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
