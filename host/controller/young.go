package controller

import (
	"sync"
	"sync/atomic"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/views"
)

// young are the keys that wait for a store to be current, or that were synced without one, each with its resource.
type young struct {
	count atomic.Int32

	mu   sync.Mutex
	keys map[Key]abi.Resource
}

// parkUntilCurrent puts a key aside until a store is current, or until the view goes on without it.
func (c *Controller) parkUntilCurrent(v *Version, key Key, y *views.Young) {
	c.stuck.markHeld(key, Parked, "stale", y, y.Wait)
	if y.Wait > 0 {
		c.queue.AddAfter(key, y.Wait)
	}
	c.wakeWhenCurrent(v, key, y.Resource)
}

// noteLacking has a key whose sync went on without a resource that can't be listed synced again when it can be.
func (c *Controller) noteLacking(v *Version, key Key, s *views.Snapshot) {
	if r, ok := s.Lacks(); ok {
		c.wakeWhenCurrent(v, key, r)
		return
	}
	if c.young.count.Load() > 0 {
		c.young.drop(key)
	}
}

// wakeWhenCurrent has a key synced when a resource's store is current.
func (c *Controller) wakeWhenCurrent(v *Version, key Key, r abi.Resource) {
	c.young.put(key, r)
	if v.Plan.Current(r) {
		c.Freed() // it has become so meanwhile
	}
}

// Freed says that stores may have become current: the keys that have waited for one that is are synced.
func (c *Controller) Freed() {
	if c.young.count.Load() == 0 {
		return
	}
	for _, k := range c.young.takeCurrent(c.Current().Plan) {
		c.Wake(k)
	}
}

func (y *young) put(key Key, r abi.Resource) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.keys == nil {
		y.keys = map[Key]abi.Resource{}
	}
	y.keys[key] = r
	y.count.Store(int32(len(y.keys)))
}

func (y *young) drop(key Key) {
	y.mu.Lock()
	defer y.mu.Unlock()
	delete(y.keys, key)
	y.count.Store(int32(len(y.keys)))
}

// takeCurrent takes out the keys whose resources are current now.
func (y *young) takeCurrent(p *views.Plan) (keys []Key) {
	y.mu.Lock()
	defer y.mu.Unlock()
	current := map[abi.Resource]bool{}
	for k, r := range y.keys {
		now, asked := current[r]
		if !asked {
			now = p.Current(r)
			current[r] = now
		}
		if now {
			keys = append(keys, k)
			delete(y.keys, k)
		}
	}
	y.count.Store(int32(len(y.keys)))
	return keys
}
