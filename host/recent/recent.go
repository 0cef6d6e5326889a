// Package recent remembers the last of many things.
package recent

import "sync"

// Set holds the last things that were added, up to a number. It is safe for concurrent use.
type Set[T comparable] struct {
	most int

	mu    sync.RWMutex
	known map[T]struct{}
	ring  []T
	next  int
}

// New makes a set of at most so many things.
func New[T comparable](most int) *Set[T] { return &Set[T]{most: most, known: map[T]struct{}{}} }

// Add adds a thing; when there are too many, the one that was added first is forgotten.
func (s *Set[T]) Add(x T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[x]; ok {
		return
	}
	if len(s.ring) < s.most {
		s.ring = append(s.ring, x)
	} else {
		delete(s.known, s.ring[s.next])
		s.ring[s.next] = x
		s.next = (s.next + 1) % s.most
	}
	s.known[x] = struct{}{}
}

// Has tells whether the thing is remembered.
func (s *Set[T]) Has(x T) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.known[x]
	return ok
}

// Clear forgets all.
func (s *Set[T]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.ring, s.next = map[T]struct{}{}, nil, 0
}
