package parity

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// history is all that a watch has told of the objects of one kind, in order.
type history[T metav1.Object] struct {
	lock    sync.Mutex
	changes []change[T]
}

// change is an object as a change left it, or as it was last if it is gone.
type change[T metav1.Object] struct {
	object T
	gone   bool
	at     time.Time // when the watch told
}

// startWatch watches until the test is over.
func (h *history[T]) startWatch(t *testing.T, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) {
	t.Helper()
	w, err := open(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	go func() {
		for e := range w.ResultChan() {
			if object, ok := e.Object.(T); ok {
				h.lock.Lock()
				h.changes = append(h.changes, change[T]{object, e.Type == watch.Deleted, time.Now()})
				h.lock.Unlock()
			}
		}
	}()
}

// allChanges returns the changes so far.
func (h *history[T]) allChanges() []change[T] {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.changes[:len(h.changes):len(h.changes)]
}

// currentWorld returns what there is after all changes so far.
func (h *history[T]) currentWorld() map[string]T {
	world := map[string]T{}
	h.replayChanges(func(w map[string]T, _ change[T]) { world = w })
	return world
}

// replayChanges calls f with what there was after each change; the map is the same each time.
func (h *history[T]) replayChanges(f func(world map[string]T, c change[T])) {
	world := map[string]T{}
	for _, c := range h.allChanges() {
		if c.gone {
			delete(world, c.object.GetName())
		} else {
			world[c.object.GetName()] = c.object
		}
		f(world, c)
	}
}

// includes reports whether the changes lead to just these objects.
func (h *history[T]) includes(objects []T) bool {
	world := h.currentWorld()
	for _, o := range objects {
		if seen, ok := world[o.GetName()]; !ok || seen.GetResourceVersion() != o.GetResourceVersion() {
			return false
		}
	}
	return len(world) == len(objects)
}
