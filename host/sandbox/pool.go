package sandbox

import (
	"sync"
	"time"
)

// pool keeps a module's instances that nobody uses, and counts the calls in flight.
type pool struct {
	mu     sync.Mutex
	idle   []*instance // the one used last is at the end
	active int
	used   time.Time // when the last call ended
	closed bool
	done   sync.Cond // no call is active
	after  time.Duration
	timer  *time.Timer
}

func (p *pool) init(after time.Duration) {
	p.after = after
	p.done.L = &p.mu
}

// enter counts a call, until it leaves.
func (p *pool) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.active++
	return nil
}

// leave ends a call.
func (p *pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = time.Now()
	if p.active--; p.active == 0 && p.closed {
		p.done.Broadcast()
	}
}

// take returns an idle instance, or nil where there is none.
func (p *pool) take() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	i := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return i
}

// put keeps an instance that is still good.
func (p *pool) put(i *instance, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i.idleSince = now
	p.idle = append(p.idle, i)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.after, p.sweepIdle)
	}
}

// retire calls away and closes all instances if there was no call for so long; otherwise it returns when to look again,
// 0 after close.
func (p *pool) retire(since time.Duration, away func()) (left time.Duration, ok bool) {
	left, ok = p.retireUnused(since, away)
	if ok {
		p.freeIdle(0)
	}
	return left, ok
}

func (p *pool) retireUnused(since time.Duration, away func()) (left time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch idle := time.Since(p.used); {
	case p.closed:
	case p.active > 0:
		left = since
	case idle < since:
		left = since - idle
	default:
		away()
		ok = true
	}
	return left, ok
}

func (p *pool) sweepIdle() {
	next := p.freeIdle(p.after)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer = nil; next > 0 && !p.closed {
		p.timer = time.AfterFunc(next, p.sweepIdle)
	}
}

// freeIdle closes the instances that were idle for so long, and says when the next one will have been.
func (p *pool) freeIdle(since time.Duration) (next time.Duration) {
	now := time.Now()
	p.mu.Lock()
	n := 0
	for n < len(p.idle) && now.Sub(p.idle[n].idleSince) >= since {
		n++
	}
	old := append([]*instance(nil), p.idle[:n]...)
	p.idle = append(p.idle[:0], p.idle[n:]...)
	clear(p.idle[len(p.idle):cap(p.idle)])
	if len(p.idle) > 0 {
		next = max(time.Millisecond, since-now.Sub(p.idle[0].idleSince))
	}
	p.mu.Unlock()
	for _, i := range old {
		i.close()
	}
	return next
}

// close refuses new calls, waits for those in flight and closes all instances. It is false when another close did so.
func (p *pool) close() bool {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	for p.active > 0 {
		p.done.Wait()
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.freeIdle(0)
	return first
}

// FreeIdle frees the instances that no call uses now; more are made when needed.
func (m *Module) FreeIdle() { m.pool.freeIdle(0) }

// Instances is how many instances are idle, and how many calls are in flight.
func (m *Module) Instances() (idle, active int) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return len(m.pool.idle), m.pool.active
}
