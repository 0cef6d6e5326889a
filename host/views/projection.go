package views

import (
	"bytes"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/host/cache"
)

// What one controller keeps of its own projections of one resource is bounded, and is let go when nobody has asked for
// it for that long, or for twice as long.
const (
	hotBytes = 8 << 20
	hotFor   = 5 * time.Second
)

// projections keeps the projections that were used lately, in two generations: when the young one is full or has had
// its time, what the old one has and nobody asked for again is let go.
type projections struct {
	mu         sync.Mutex
	young, old map[*cache.Object][]byte
	bytes      int // of the young generation
	cooling    bool
	room       []byte
}

// project returns the object's bytes as the controller sees them.
func (h *projections) project(r *resourcePlan, o *cache.Object) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if raw, ok := h.young[o]; ok {
		return raw, nil
	}
	if raw, ok := h.old[o]; ok {
		h.put(o, raw)
		return raw, nil
	}
	room, err := r.mask.Project(h.room[:0], o.Raw)
	if err != nil {
		return nil, err
	}
	h.room = room
	raw := o.Raw
	if len(room) < len(raw) { // else nothing was left out: no second copy
		raw = bytes.Clone(room)
	}
	h.put(o, raw)
	return raw, nil
}

func (h *projections) put(o *cache.Object, raw []byte) {
	if h.young == nil || h.bytes > hotBytes/2 {
		h.rotateYoung()
	}
	if h.young == nil {
		h.young = map[*cache.Object][]byte{}
	}
	h.young[o] = raw
	h.bytes += keptBytes(o, raw)
	if !h.cooling {
		h.cooling = true
		time.AfterFunc(hotFor, h.coolDown)
	}
}

// rotateYoung makes the young generation the old one.
func (h *projections) rotateYoung() { h.old, h.young, h.bytes = h.young, nil, 0 }

// coolDown rotates now and again, until there is nothing left.
func (h *projections) coolDown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rotateYoung()
	if h.cooling = h.old != nil; h.cooling {
		time.AfterFunc(hotFor, h.coolDown)
	} else {
		h.room = nil
	}
}

// keptBytes returns what keeping a projection takes, in bytes: what is shared with the cache costs its place in the map
// alone.
func keptBytes(o *cache.Object, raw []byte) int {
	if len(raw) == len(o.Raw) {
		return 64
	}
	return len(raw) + 64
}

// forget lets go of an object that the cache has replaced.
func (h *projections) forget(o *cache.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if raw, ok := h.young[o]; ok {
		h.bytes -= keptBytes(o, raw)
		delete(h.young, o)
	}
	delete(h.old, o)
}
