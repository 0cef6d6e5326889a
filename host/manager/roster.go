package manager

import (
	"maps"
	"slices"
	"sync"

	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/plugins"
)

// roster are the plugins that run here. They come and go by who holds manager.changing.
type roster struct {
	mu     sync.Mutex
	byName map[string]*hosted
}

func (r *roster) add(h *hosted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byName[h.name] = h
}

func (r *roster) remove(h *hosted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byName, h.name)
}

// named returns a plugin, nil if it doesn't run here.
func (r *roster) named(name string) *hosted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byName[name]
}

// all returns the plugins, sorted by name.
func (r *roster) all() []*hosted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sortedValues(r.byName)
}

// slots returns those of all plugins, sorted by the names of both.
func (r *roster) slots() (all []*slot) {
	for _, h := range r.all() {
		all = append(all, h.slots.all()...)
	}
	return all
}

// found returns the modules that run.
func (r *roster) found() (all []plugins.Found) {
	for _, h := range r.all() {
		all = append(all, h.present.Found)
	}
	return all
}

// slots are those of a plugin's controllers. They come and go by who holds manager.changing.
type slots struct {
	mu     sync.Mutex
	byName map[string]*slot
}

// put adds a slot, or puts it in the place of the one that the controller has had.
func (x *slots) put(s *slot) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byName == nil {
		x.byName = map[string]*slot{}
	}
	x.byName[s.Name()] = s
}

// without takes away the slots of controllers that aren't among the versions, and returns them.
func (x *slots) without(versions map[string]*controller.Version) (gone []*slot) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, s := range x.byName {
		if versions[name] == nil {
			gone = append(gone, s)
			delete(x.byName, name)
		}
	}
	return gone
}

// haveAll reports whether there is a slot for each version.
func (x *slots) haveAll(versions map[string]*controller.Version) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range versions {
		if x.byName[name] == nil {
			return false
		}
	}
	return true
}

// named returns a controller's slot, nil if it has none.
func (x *slots) named(name string) *slot {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byName[name]
}

// all returns the slots, sorted by name.
func (x *slots) all() []*slot {
	x.mu.Lock()
	defer x.mu.Unlock()
	return sortedValues(x.byName)
}

func sortedValues[V any](m map[string]V) []V {
	all := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	return all
}
