package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// presence is whether a module's code, baseline and instances are there. One with Options.Late isn't loaded before its
// first call. One whose native code is there, from the build or as the child has left it, lets go of all that when
// Options.Rest has gone by without a call: a plugin that has nothing to do costs next to nothing then, and its next
// call some milliseconds more. What was compiled here stays, for to compile it anew would take seconds.
type presence struct {
	mu   sync.Mutex // held while the module is loaded or let go of
	away atomic.Bool
	load func(context.Context) error
	rest *time.Timer // nil: none runs
	// settings are what the module was configured with last, if it was.
	settings   []byte
	configured bool
}

// use runs do with the module loaded, which is neither let go of nor closed meanwhile, whether do returns or panics.
// After an error of loading the next use tries again.
func (m *Module) use(ctx context.Context, do func() error) error {
	if err := m.pool.enter(); err != nil {
		return fmt.Errorf("plugin %q: %w", m.options.Name, err)
	}
	defer m.pool.leave()

	if err := m.bring(ctx); err != nil {
		return fmt.Errorf("plugin %q: %w", m.options.Name, err)
	}
	return do()
}

// bring loads the module if it isn't there. The caller uses it.
func (m *Module) bring(ctx context.Context) error {
	p := &m.presence
	if !p.away.Load() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.away.Load() {
		return nil
	}

	from := time.Now()
	ctx = context.WithoutCancel(ctx) // others wait for it, too
	if err := p.load(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrNotLoaded, err)
	}
	if p.configured {
		if err := m.configureWith(ctx, p.settings); err != nil {
			m.pool.freeIdle(0)
			_ = m.freeRuntime(ctx)
			return err
		}
	}

	p.away.Store(false)
	m.restLater(m.options.Rest)
	m.moved(true, time.Since(from))
	return nil
}

// keepSettings has the module configured with these settings when it is loaded again.
func (p *presence) keepSettings(settings []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings, p.configured = bytes.Clone(settings), true
}

// restLater looks after some time whether the module is to rest. Only one does whose native code needn't be made again.
func (m *Module) restLater(after time.Duration) {
	if after > 0 && m.options.Rest > 0 && m.givenCode() != nil && m.precompiled {
		m.presence.rest = time.AfterFunc(after, m.rest)
	}
}

// stopResting ends the timer, which would hold on to a closed module. The caller holds the lock.
func (p *presence) stopResting() {
	if p.rest != nil {
		p.rest.Stop()
	}
}

// rest lets go of all that the module holds, unless it has been used lately.
func (m *Module) rest() {
	p := &m.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away.Load() {
		return
	}

	left, ok := m.pool.retire(m.options.Rest, func() { p.away.Store(true) })
	if !ok {
		m.restLater(left)
		return
	}
	_ = m.freeRuntime(context.Background())
	m.compiled, m.base = nil, nil
	m.baseline.Store(nil)
	m.moved(false, 0)
}

// Resting reports whether the module isn't loaded: its next call does that.
func (m *Module) Resting() bool { return m.presence.away.Load() }

func (m *Module) moved(loaded bool, took time.Duration) {
	if m.options.Moved != nil {
		m.options.Moved(loaded, took)
	}
}
