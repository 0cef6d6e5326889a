package cache

import (
	"hash/maphash"
	"sync"
)

// Recent holds the last things that were added, up to a number. It is safe for concurrent use.
//
// It keeps 64 bits of each, with a seed of its own, so that ten thousand names take no more than their hashes and
// nothing for the collector to follow. Has is wrong about a thing that was never added once in 2^64 divided by the
// number of things: less often than memory fails.
type Recent[T comparable] struct {
	most int
	seed maphash.Seed

	mu    sync.RWMutex
	known map[uint64]struct{}
	ring  []uint64
	next  int
}

// NewRecent makes a set of at most so many things.
func NewRecent[T comparable](most int) *Recent[T] {
	return &Recent[T]{most: most, seed: maphash.MakeSeed(), known: map[uint64]struct{}{}}
}

// Add adds a thing; when there are too many, the one that was added first is forgotten.
func (s *Recent[T]) Add(x T) {
	h := maphash.Comparable(s.seed, x)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[h]; ok {
		return
	}
	if len(s.ring) < s.most {
		s.ring = append(s.ring, h)
	} else {
		delete(s.known, s.ring[s.next])
		s.ring[s.next] = h
		s.next = (s.next + 1) % s.most
	}
	s.known[h] = struct{}{}
}

// Has reports whether the thing is remembered.
func (s *Recent[T]) Has(x T) bool {
	h := maphash.Comparable(s.seed, x)
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.known[h]
	return ok
}

// Clear forgets all.
func (s *Recent[T]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.ring, s.next = map[uint64]struct{}{}, nil, 0
}
