package native

import "time"

// Queue takes the place of a controller's work queue: it hands out the one key that is to be synced, and takes down
// what else is asked of it.
type Queue[T comparable] struct {
	next []T
	// Woken are the keys that were added at once since it was last emptied.
	Woken []T
	// After is the shortest delay that a key was added with, Limited whether it was to be tried again, for its sync
	// failed.
	After   map[T]time.Duration
	Limited map[T]bool
	failed  map[T]int // in a row
}

// NewQueue returns an empty queue.
func NewQueue[T comparable]() *Queue[T] {
	q := &Queue[T]{failed: map[T]int{}}
	q.Empty()
	return q
}

// Empty forgets what was taken down.
func (q *Queue[T]) Empty() {
	q.Woken, q.After, q.Limited = nil, map[T]time.Duration{}, map[T]bool{}
}

// Hand has the next Get return a key.
func (q *Queue[T]) Hand(key T) { q.next = append(q.next, key) }

func (q *Queue[T]) Add(key T) { q.Woken = append(q.Woken, key) }

func (q *Queue[T]) AddAfter(key T, d time.Duration) {
	if d <= 0 {
		q.Add(key)
		return
	}
	if was, ok := q.After[key]; !ok || d < was {
		q.After[key] = d
	}
}

func (q *Queue[T]) AddRateLimited(key T) {
	q.failed[key]++
	q.Limited[key] = true
}

// Forget ends a key's row of failures. A key that was to be tried again before it hasn't failed, it wants to be synced
// again as soon as the limit of failures allows.
func (q *Queue[T]) Forget(key T) {
	delete(q.failed, key)
	if q.Limited[key] {
		delete(q.Limited, key)
		q.After[key] = Soon
	}
}

// Soon is the shortest delay of upstream's default limit of failures.
const Soon = 5 * time.Millisecond

func (q *Queue[T]) NumRequeues(key T) int { return q.failed[key] }
func (q *Queue[T]) Len() int              { return len(q.next) }
func (q *Queue[T]) Done(T)                {}
func (q *Queue[T]) ShutDown()             {}
func (q *Queue[T]) ShutDownWithDrain()    {}
func (q *Queue[T]) ShuttingDown() bool    { return false }

func (q *Queue[T]) Get() (key T, shutdown bool) {
	if len(q.next) == 0 {
		return key, true
	}
	key, q.next = q.next[0], q.next[1:]
	return key, false
}
