package manager

import (
	"sync"

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
		all = append(all, h.allSlots()...)
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
