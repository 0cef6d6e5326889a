package controller

import (
	"sync"

	"github.com/windlass-dev/windlass/host/views"
)

// young are the keys that wait for a store to be current.
type young struct {
	mu   sync.Mutex
	keys map[Key]struct{}
}

// parkUntilCurrent puts a key aside until a store is current.
func (c *Controller) parkUntilCurrent(v *Version, key Key, y *views.Young) {
	c.stuck.markHeld(key, Parked, "stale", y, 0)
	c.young.mu.Lock()
	if c.young.keys == nil {
		c.young.keys = map[Key]struct{}{}
	}
	c.young.keys[key] = struct{}{}
	c.young.mu.Unlock()
	if v.Plan.Current(y.Resource) {
		c.Freed() // meanwhile
	}
}

// Freed says that a store has become current: the keys that have waited for one are synced.
func (c *Controller) Freed() {
	c.young.mu.Lock()
	keys := c.young.keys
	c.young.keys = nil
	c.young.mu.Unlock()
	for k := range keys {
		c.stuck.markDone(k)
		c.Wake(k)
	}
}
