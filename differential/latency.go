package differential

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/differential/world"
)

// latency is how slow the API server is under the host, and beside it. Which writes hang is the same for the plugin and
// for upstream's controller in every other of its plays, as far as both send the same: what comes of a write that isn't
// answered is then the same misfortune for both.
type latency struct {
	seed  uint64
	hangs bool      // now and then
	begun time.Time // when the present step has
	wrote chan<- struct{}

	lock sync.Mutex
	sent map[string]int // how often what was sent in the present step
}

// writeTime is how long an API server takes to write one object at most.
const writeTime = 34 * time.Second

// latencyOf is that of a play of upstream's controller; the plugin's is that of the second.
func latencyOf(x *script, salt uint64) *latency {
	seed := x.seed + 11
	if salt%2 == 0 {
		seed += salt << 32
	}
	return &latency{seed: seed, hangs: salt > 0}
}

// begin begins a step.
func (l *latency) begin(now time.Time) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.begun, l.sent = now, map[string]int{}
}

// Before has a request take up to a fiftieth of a second, so that which of several side by side comes first is chance,
// and a write perhaps so long that nothing comes of it.
func (l *latency) Before(h *http.Request, what string) error {
	r, hang := l.of(h, what)
	return wait(h, time.Duration(1+r.IntN(20_000_000))+hang)
}

// After has the answer to a write come late, or never.
func (l *latency) After(h *http.Request, what string) error {
	select {
	case l.wrote <- struct{}{}:
	default:
	}
	_, hang := l.of(h, what)
	return wait(h, hang)
}

// of returns what chance has for a request, and how long it hangs: a write now and then, most of them not at all.
func (l *latency) of(h *http.Request, what string) (r *world.Rand, hang time.Duration) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.sent[what]++
	x := fnv.New64a()
	fmt.Fprint(x, l.seed, l.begun.UnixNano(), l.sent[what], what)
	r = world.NewRand(x.Sum64())

	if l.hangs && h.Method != http.MethodGet && r.One(60) && time.Now().Before(calmFrom(l.begun)) {
		hang = time.Duration(r.IntN(40)) * time.Second
	}
	return r, hang
}

// wait returns after a time, or with what a client is told that has waited for as long as an API server does.
func wait(h *http.Request, d time.Duration) error {
	t := time.NewTimer(min(d, writeTime))
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.Context().Done():
		return context.Cause(h.Context())
	}
	if d > writeTime {
		return apierrors.NewTimeoutError("request did not complete within requested timeout - context deadline exceeded", 0)
	}
	return nil
}
