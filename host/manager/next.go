package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
)

// next is a generation that is to take the place of a plugin's present one, while its module is being compiled, and
// while it waits for its caches. What runs runs on until then; nothing else waits for it.
type next struct {
	*generation
	opening bool // its module is being compiled
	since   time.Time
	waits   map[string]*reading // what it reads, by controller
	drop    context.CancelFunc
	// take has it take its place. The caller holds changing.
	take func()
	// back tells that it is the one before, which comes back.
	back bool
}

// isFilled reports whether the caches have what a generation reads. It doesn't wait for them.
func (g *generation) isFilled(x *stores) bool {
	// one that lacks settings idles, and doesn't need them
	return len(g.loaded.Missing) > 0 || unfilled(g.readings, x) == nil
}

// unfilled says which controller's caches lack something of what it reads.
func unfilled(readings map[string]*reading, x *stores) error {
	now, cancel := context.WithCancelCause(context.Background())
	cancel(errUnfilled)
	for _, name := range slices.Sorted(maps.Keys(readings)) {
		if err := readings[name].waitForCaches(now, x); err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
	}
	return nil
}

// errUnfilled is why a generation that may not wait doesn't run.
var errUnfilled = errors.New("its caches aren't filled yet")

// openBeside loads another module while what runs runs on, for that takes seconds, and has it take the present one's
// place then. It takes the place of one that is to come already. The caller holds changing.
func (h *hosted) openBeside(k *config.Configuration, c *choice) {
	h.dropNext()
	ctx, cancel := context.WithCancel(h.m.work)
	n := &next{generation: &generation{choice: c}, opening: true, since: time.Now(), drop: cancel}
	h.setNext(n)
	klog.V(1).InfoS("The plugin's next version is being loaded", "plugin", h.name, "next", shortDigest(c.Digest))
	h.loadBeside(ctx, k, c, h.limits, func() bool { return h.next == n }, func(g *generation, err error) {
		cancel()
		h.setNext(nil)
		if err == nil {
			err = h.makeVersions(h.m.applied.Load().config, g, false)
		}
		if err != nil {
			h.noteFailed(c, err)
			h.m.lookSoon()
			return
		}
		h.take(g)
	})
}

// loadBeside loads a module as soon as not too many others are loaded, while what runs runs on. then is called with
// what has come of it, by a holder of changing, unless it isn't wanted any more.
func (h *hosted) loadBeside(ctx context.Context, k *config.Configuration, c *choice, bounds *limits, wanted func() bool,
	then func(*generation, error)) {
	h.m.slots.Go(func() {
		var g *generation
		err := h.m.whenFewAreLoading(ctx, func() (err error) {
			g, err = h.m.loader.open(ctx, k, c, bounds)
			return err
		})
		h.m.changing.Lock()
		defer h.m.changing.Unlock()
		if !wanted() || h.m.closed {
			closeUnused(g, err)
			return
		}
		then(g, err)
	})
}

// take has a generation that was loaded beside what runs take the present one's place: at once, or when its caches are
// filled. The caller holds changing.
func (h *hosted) take(g *generation) {
	if !g.isFilled(h.m.stores) {
		h.await(&next{generation: g, take: func() { h.replace(g) }})
		h.m.lookSoon() // meanwhile what runs is configured anew
		return
	}
	h.replace(g)
	h.m.metrics.Reloads.WithLabelValues("ok").Inc()
}

// noteFailed takes note of why a module can't take the present one's place.
func (h *hosted) noteFailed(c *choice, err error) {
	h.m.metrics.Swaps.WithLabelValues(c.Name, "failed").Inc()
	h.m.history.add(c.Name, state.SwapFailed, h.present.choice, c, err)
	h.tried.add(c.fingerprint(), err)
}

// closeUnused closes what was loaded in vain, if it was loaded.
func closeUnused(g *generation, err error) {
	if err != nil || g == nil {
		return
	}
	if err := g.close(); err != nil {
		klog.ErrorS(err, "Can't close a plugin that never ran", "plugin", g.Name, "digest", shortDigest(g.Digest))
	}
}

// await has a generation take the present one's place once the caches have what it reads. It takes the place of one
// that has waited before. The caller holds changing.
func (h *hosted) await(n *next) {
	h.dropNext()
	ctx, cancel := context.WithCancel(h.m.work)
	n.since, n.drop, n.waits = time.Now(), cancel, maps.Clone(n.readings)
	h.setNext(n)
	klog.InfoS("The plugin's next version waits for its caches", "plugin", h.name, "runs",
		shortDigest(h.present.Digest), "next", shortDigest(n.Digest))
	h.m.slots.Go(func() {
		defer cancel()
		if err := h.m.stores.waitForAll(ctx, n.waits); err != nil {
			return // it was dropped
		}
		h.m.changing.Lock()
		defer h.m.changing.Unlock()
		if h.next != n || h.m.closed {
			return
		}
		h.setNext(nil)
		n.take()
	})
}

func (h *hosted) setNext(n *next) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = n
}

// dropNext gives up the generation that waits for its caches, if there is one. The caller holds changing.
func (h *hosted) dropNext() {
	n := h.next
	if n == nil {
		return
	}
	h.setNext(nil)
	n.drop()
	h.drainLater(n.generation)
}

// narrows reports whether the present generation may do anything that a choice of now may not.
func (h *hosted) narrows(k *config.Configuration, c *choice) bool {
	if h.present.rights == c.rights {
		return false
	}
	now := k.Plugin(h.name)
	return h.present.accounts != k.UseServiceAccountCredentials || config.Widens(&now, &h.present.settings)
}

// status says what the next generation waits for; nil: there is none.
func (n *next) status(x *stores) *state.NextStatus {
	if n == nil {
		return nil
	}
	s := &state.NextStatus{Digest: n.Digest, Version: n.Manifest.Version, Since: n.since}
	if n.opening {
		s.Why = errComing.Error()
		return s
	}
	if err := unfilled(n.waits, x); err != nil {
		s.Why = err.Error()
	}
	return s
}
