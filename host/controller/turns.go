package controller

import (
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
)

// turns is the queue's storage: keys that something has happened to have their turns first, in their order, and then
// those that a resync wakes.
//
// Its methods are called under the queue's lock, but for behind and ahead.
type turns struct {
	woken    workqueue.Queue[Key]
	resynced []Key            // some have moved ahead since
	waiting  map[Key]struct{} // those of resynced that haven't
	passed   int              // turns in a row that went past them

	marks  atomic.Int32
	mu     sync.Mutex
	marked map[Key]struct{} // what a resync is about to add
}

// passedMost is after how many turns of others a key that a resync has woken has one all the same: a queue that is
// never empty delays it, but not for ever.
const passedMost = 100

func newTurns() *turns {
	return &turns{woken: workqueue.DefaultQueue[Key](), waiting: map[Key]struct{}{}, marked: map[Key]struct{}{}}
}

// markResync says that the key's next enqueue is a resync's.
func (t *turns) markResync(k Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marked[k] = struct{}{}
	t.marks.Store(int32(len(t.marked)))
}

// clearResync says that the key's next enqueue is no resync's, and reports whether the last word was that it is.
func (t *turns) clearResync(k Key) bool {
	if t.marks.Load() == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.marked[k]
	delete(t.marked, k)
	t.marks.Store(int32(len(t.marked)))
	return ok
}

// Push is the queue's: the key may have its turn from now on.
func (t *turns) Push(k Key) {
	if !t.clearResync(k) {
		t.woken.Push(k)
		return
	}
	t.resynced = append(t.resynced, k)
	t.waiting[k] = struct{}{}
}

// Touch is the queue's: a key that waits is added once more.
func (t *turns) Touch(k Key) {
	if _, ok := t.waiting[k]; ok && !t.clearResync(k) {
		delete(t.waiting, k)
		t.woken.Push(k)
	}
}

// Len is the queue's.
func (t *turns) Len() int { return t.woken.Len() + len(t.waiting) }

// Pop is the queue's, which asks only while there are keys.
func (t *turns) Pop() (k Key) {
	if t.woken.Len() > 0 && (len(t.waiting) == 0 || t.passed < passedMost) {
		t.passed++
		return t.woken.Pop()
	}
	t.passed = 0
	for {
		k, t.resynced = t.resynced[0], t.resynced[1:]
		if _, ok := t.waiting[k]; ok {
			delete(t.waiting, k)
			return k
		}
	}
}
