package cache

import (
	"sync"
	"sync/atomic"

	"github.com/windlass-dev/windlass/host/schema"
)

// Event is one change: Old is nil for an object that appeared, New for one that is gone. An object that was deleted and
// made anew is two events.
type Event struct {
	Resource *schema.Resource
	Old, New *Object
	// Initial tells of an object that was found when the informer started, or when the handler was added.
	Initial bool
	// Moved tells of an object without Old that it may have been there, and of one without New that it may still be there:
	// by an update it has become, or ceased to be, one that some reader keeps. Who tells additions and deletions from
	// updates has to take it for either.
	Moved bool
}

// Handler is told of events, one after the other, after the store has changed. It may take its time: events wait in an
// unbounded queue.
type Handler interface {
	OnEvent(e Event)
}

// subscription is a handler with the events that wait for it.
type subscription struct {
	handler Handler
	// deferred handlers belong to readers of a wider mask: they hear nothing until it has been taken over.
	deferred bool

	mu      sync.Mutex
	cond    *sync.Cond
	waiting []Event
	queued  atomic.Int64 // those and the ones taken from there that the handler hasn't been told of
	stopped atomic.Bool
}

func subscribe(h Handler) *subscription {
	s := &subscription{handler: h}
	s.cond = sync.NewCond(&s.mu)
	go s.run()
	return s
}

func (s *subscription) push(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, events...)
	s.queued.Add(int64(len(events)))
	s.cond.Signal()
}

func (s *subscription) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped.Store(true)
	s.waiting = nil
	s.cond.Signal()
}

func (s *subscription) run() {
	var batch []Event
	for {
		s.mu.Lock()
		for len(s.waiting) == 0 && !s.stopped.Load() {
			s.cond.Wait()
		}
		if s.stopped.Load() {
			s.mu.Unlock()
			return
		}
		batch, s.waiting = s.waiting, batch[:0]
		s.mu.Unlock()
		for i := range batch {
			if s.stopped.Load() {
				return
			}
			s.handler.OnEvent(batch[i])
			s.queued.Add(-1)
		}
		clear(batch)
		if cap(batch) > 4096 {
			batch = nil // a burst's memory
		}
	}
}
