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

// weather is how slow the API server is under the host, and beside it. Which writes hang is the same for the plugin and
// for upstream's controller in every other of its plays, as far as both send the same: what comes of a write that isn't
// answered is then the same misfortune for both.
type weather struct {
	seed  uint64
	hangs bool      // now and then
	begun time.Time // when the present step has
	wrote chan<- struct{}

	lock sync.Mutex
	sent map[string]int // how often what was sent in the present step
}

// writeTime is how long an API server takes to write one object at most.
const writeTime = 34 * time.Second

// weatherOf is that of a play of upstream's controller; the plugin's is that of the second.
func weatherOf(x *script, salt uint64) *weather {
	seed := x.seed + 11
	if salt%2 == 0 {
		seed += salt << 32
	}
	return &weather{seed: seed, hangs: salt > 0}
}

// begin begins a step.
func (w *weather) begin(now time.Time) { w.begun, w.sent = now, map[string]int{} }

// Before has a request take up to a fiftieth of a second, so that which of several side by side comes first is chance,
// and a write perhaps so long that nothing comes of it.
func (w *weather) Before(h *http.Request) error {
	r := w.of(h)
	d := time.Duration(1 + r.IntN(20_000_000))
	return w.wait(h, d+w.hang(h, r))
}

// After has the answer to a write come late, or never.
func (w *weather) After(h *http.Request) error {
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	return w.wait(h, w.hang(h, w.of(h)))
}

// of is what chance has for a request.
func (w *weather) of(h *http.Request) *world.Rand {
	w.lock.Lock()
	what := h.Method + " " + h.URL.Path
	w.sent[what]++
	n := w.sent[what]
	w.lock.Unlock()

	x := fnv.New64a()
	fmt.Fprint(x, w.seed, w.begun.UnixNano(), n, what)
	return world.NewRand(x.Sum64())
}

// hang is how long a write hangs: but seldom it doesn't.
func (w *weather) hang(h *http.Request, r *world.Rand) time.Duration {
	if !w.hangs || h.Method == http.MethodGet || !r.One(60) || !time.Now().Before(calmFrom(w.begun)) {
		return 0
	}
	return time.Duration(r.IntN(40)) * time.Second
}

func (w *weather) wait(h *http.Request, d time.Duration) error {
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
