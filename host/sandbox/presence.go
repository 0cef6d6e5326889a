package sandbox

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// presence is whether a module's code, baseline and instances are there. One with Options.Late isn't loaded before its
// first call. One that was loaded from Options.Code lets go of all that when Options.Rest has gone by without a call: a
// plugin that has nothing to do costs next to nothing then, and its next call some milliseconds more.
type presence struct {
	mu   sync.Mutex // held while the module is loaded or let go of
	away atomic.Bool
	load func(context.Context) error
	rest *time.Timer // nil: none runs
	// settings are what the module was configured with last, if it was.
	settings   []byte
	configured bool
}

// hold begins a use of the module: it has the module loaded, and keeps it from being let go of or closed until the
// release. After an error the next call tries again.
func (m *Module) hold(ctx context.Context) error {
	err := m.pool.enter()
	if err == nil {
		if err = m.bring(ctx); err == nil {
			return nil
		}
		m.pool.leave(time.Now())
	}
	return fmt.Errorf("plugin %q: %w", m.options.Name, err)
}

// release ends a use of the module.
func (m *Module) release() { m.pool.leave(time.Now()) }

// bring loads the module if it isn't there. The caller holds it.
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
		return err
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

// restLater looks after some time whether the module is to rest. Only one whose native code is at hand does: to compile
// it anew would take seconds.
func (m *Module) restLater(after time.Duration) {
	if after > 0 && m.options.Rest > 0 && m.precompiled {
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

func (m *Module) moved(loaded bool, took time.Duration) {
	if m.options.Moved != nil {
		m.options.Moved(loaded, took)
	}
}
