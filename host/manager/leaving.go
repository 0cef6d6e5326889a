package manager

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/klog/v2"
)

// leaving are controllers, or plugins, that were turned off and whose syncs in flight haven't ended: a write may wait
// for the API server. Nobody waits for them but what takes their place.
type leaving struct {
	mu  sync.Mutex
	all map[string]*departure
}

// departure is one name's: several slots of a controller may be leaving at a time.
type departure struct {
	slots int
	over  chan struct{} // closed when all have ended
}

// begin notes that what has the names is leaving; over is to be called when it has ended.
func (x *leaving) begin(names ...string) (over func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range names {
		d := x.all[name]
		if d == nil {
			if x.all == nil {
				x.all = map[string]*departure{}
			}
			d = &departure{over: make(chan struct{})}
			x.all[name] = d
		}
		d.slots++
	}
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, name := range names {
			d := x.all[name]
			if d.slots--; d.slots == 0 {
				delete(x.all, name)
				close(d.over)
			}
		}
	}
}

// wait returns when nothing of a name is leaving; false: ctx has ended first.
func (x *leaving) wait(ctx context.Context, name string) bool {
	for {
		x.mu.Lock()
		d := x.all[name]
		x.mu.Unlock()
		if d == nil {
			return ctx.Err() == nil
		}
		select {
		case <-d.over:
		case <-ctx.Done():
			return false
		}
	}
}

// has reports whether something of a name is leaving.
func (x *leaving) has(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all[name] != nil
}

// list returns the names, sorted.
func (x *leaving) list() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.all))
}

// leave has slots begin no sync any more; those in flight end beside what runs, and then is called. The caller holds
// changing.
func (m *manager) leave(slots []*slot, then func()) {
	var left sync.WaitGroup
	for _, s := range slots {
		if s.stop != nil {
			s.stop()
		}
		over := m.leaving.begin(s.Name())
		left.Go(func() {
			defer over()
			s.stopAndWait()
		})
	}
	m.slots.Go(func() {
		left.Wait()
		then()
	})
}

// awaitPredecessors returns when nothing is left of what a plugin that is to come takes the place of; false: the
// manager stops first.
func (m *manager) awaitPredecessors(c *choice) bool {
	for _, i := range c.controllers {
		if !m.leaving.wait(m.work, c.Manifest.Controllers[i].Name) {
			return false
		}
	}
	return m.leavingPlugins.wait(m.work, c.Name)
}

// awaitPredecessor returns when what a slot takes the place of has ended; false: ctx has ended first.
func (s *slot) awaitPredecessor(ctx context.Context, x *leaving) bool {
	if x.has(s.Name()) {
		klog.InfoS("Controller waits until what was turned off has ended", "controller", s.Name(), "plugin", s.plugin)
	}
	return x.wait(ctx, s.Name())
}
