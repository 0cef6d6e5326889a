package awaiting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

type text string

func (t text) String() string { return string(t) }

// counted is a room that counts how many workers are lent.
func counted(most int) (r *Room, lent *atomic.Int32) {
	lent = new(atomic.Int32)
	return &Room{Most: func() int { return most }, Left: func() { lent.Add(1) }, Back: func() { lent.Add(-1) },
		Wake: func(abi.KeyRef) {}}, lent
}

// begun begins a sync with a request that is sent.
func begun(t *testing.T, r *Room, namespace, name string) (s *Sync, ctx context.Context, q *Request) {
	t.Helper()
	s = r.Sync()
	s.Begin(abi.KeyRef{Namespace: namespace, Name: name}, false)
	ctx, q = Begin(s.Context(t.Context()), text("create pods "+namespace+"/"+name))
	Sent(ctx)
	return s, ctx, q
}

// A sync gives its worker back, until it ends, when it has waited for long: for one answer, or for many quick ones.
// What waits for its turn to be sent doesn't count, and of what waits beside each other each moment counts once.
func TestALongWaitGivesTheWorkerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, lent := counted(16)
		s := r.Sync()
		s.Begin(abi.KeyRef{Name: "a"}, false)
		after := func(wait time.Duration, want int, what string) {
			t.Helper()
			time.Sleep(wait) // virtual, as all time here
			synctest.Wait()
			if int(lent.Load()) != want {
				t.Errorf("%s: %d workers are lent, expected %d", what, lent.Load(), want)
			}
		}

		ask := func(what string) *Request {
			_, q := Begin(s.Context(t.Context()), text(what))
			q.Sent()
			return q
		}

		ctx, first := Begin(s.Context(t.Context()), text("create pods a"))
		after(time.Hour, 0, "one that has yet to be sent")
		Sent(ctx)
		after(Long-1, 0, "not yet long")
		second := ask("create pods b")
		after(1, 1, "long")
		after(time.Hour, 1, "two that wait")
		first.End()
		second.End()
		after(time.Hour, 1, "none that waits, in the same sync")
		third := ask("create pods c")
		if all := r.Running(time.Hour); len(all) != 1 || all[0].Request != "create pods c" {
			t.Errorf("running are %v", all)
		}
		third.End()
		s.End()
		after(0, 0, "the next sync")
		if all := r.Running(0); len(all) != 0 {
			t.Errorf("running are %v", all)
		}

		s.Begin(abi.KeyRef{Namespace: "quick", Name: "a"}, false)
		for range 9 {
			one, other := ask("get pods a"), ask("get pods b")
			after(Long/10, 0, "quick answers")
			one.End()
			other.End()
			after(time.Hour, 0, "its own work")
		}
		ask("get pods a")
		after(Long/10-1, 0, "nearly long in all")
		after(1, 1, "long in all")
		s.open[0].End()
		s.End()
		after(0, 0, "after all")
	})
}

// Where one key waits, the next ones of its namespace hold their workers for a shorter time; of keys outside of
// namespaces, such as those of CertificateSigningRequests, each next one does.
func TestKinOfOneThatWaitsGiveTheirWorkersBackSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, namespace := range []string{"shop", ""} {
			r, lent := counted(16)
			begun(t, r, namespace, "first")
			time.Sleep(Long) // virtual, as all time here
			synctest.Wait()
			begun(t, r, namespace, "next")
			begun(t, r, "other", "next")
			time.Sleep(again)
			synctest.Wait()
			if lent.Load() != 2 {
				t.Errorf("namespace %q: %d workers are lent, expected those of the first and the next", namespace, lent.Load())
			}
		}
	})
}

// A namespace of which a sync has waited for long is slow for a while, also when none of it waits any more.
func TestASlowNamespaceIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, lent := counted(16)
		lends := func(namespace string, after time.Duration) bool {
			t.Helper()
			s, _, q := begun(t, r, namespace, "a")
			time.Sleep(after) // virtual, as all time here
			synctest.Wait()
			is := lent.Load() == 1
			q.End()
			s.End()
			s.Close()
			return is
		}
		if lends("shop", 2*time.Second) || !lends("shop", soon) || lends("other", again-1) {
			t.Error("shop has been slow, other not")
		}
		time.Sleep(slowFor)
		if lends("shop", again-1) {
			t.Error("shop isn't slow any longer")
		}
		for i := range severalSlow {
			lends(fmt.Sprint("slow-", i), again)
		}
		if !lends("unknown", again) {
			t.Error("where several are slow, another one may be")
		}
		time.Sleep(slowFor)
		if lends("unheard", Long-1) || len(r.slow) != 1 {
			t.Errorf("after a while %d are slow, and none is held against another one", len(r.slow))
		}
	})
}

// However many keys of however many namespaces an API server doesn't answer for seconds, those of another one have
// their turns.
func TestSlowNamespacesHoldNoOther(t *testing.T) {
	for name, x := range map[string]struct {
		workers, namespaces, keys int
		answer                    time.Duration
		within                    time.Duration
	}{
		"one worker, one namespace, less than long": {1, 1, 200, 2 * time.Second, 5 * time.Second},
		"five workers, one namespace":               {5, 1, 200, 2 * time.Second, 5 * time.Second},
		"one worker, several namespaces":            {1, 6, 60, 10 * time.Second, 20 * time.Second},
		"five workers, many namespaces":             {5, 20, 20, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &turns{Room: &Room{}, answer: x.answer, done: map[abi.KeyRef]int{}}
				q.Most = func() int { return 8 * (1 + x.workers) }
				q.Wake, q.Left, q.Back = q.add, func() { go q.work() }, func() {}
				for k := range x.keys {
					for n := range x.namespaces {
						q.add(abi.KeyRef{Namespace: fmt.Sprint("slow-", n), Name: fmt.Sprint(k)})
					}
				}
				for range x.workers {
					go q.work()
				}
				for _, turn := range []string{"first", "second"} {
					began := time.Now()
					good := abi.KeyRef{Namespace: "good", Name: turn}
					q.add(good)
					for q.turnsOf(good) == 0 && time.Since(began) < time.Hour {
						time.Sleep(time.Millisecond) // virtual
					}
					if took := time.Since(began); took > x.within {
						t.Errorf("the %s key of another namespace had its turn after %v, expected %v at most", turn, took, x.within)
					}
				}

				began := time.Now()
				q.heal()
				for q.total() < x.keys*x.namespaces && time.Since(began) < time.Hour {
					time.Sleep(time.Millisecond)
				}
				if n := q.total(); n < x.keys*x.namespaces {
					t.Errorf("%d of %d keys had a turn that went well, once all was well again", n, x.keys*x.namespaces)
				}
				q.end()
				time.Sleep(time.Minute) // virtual; the last ones see it
			})
		})
	}
}

// turns is a controller's queue and workers: a sync of a slow namespace waits for its answer and fails, until all is
// well.
type turns struct {
	*Room
	answer time.Duration

	mu     sync.Mutex
	queue  []abi.KeyRef
	done   map[abi.KeyRef]int
	healed bool
	ended  bool
}

func (q *turns) add(key abi.KeyRef) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.queue, key) {
		q.queue = append(q.queue, key)
	}
}

func (q *turns) heal() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.healed = true
}

func (q *turns) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
}

func (q *turns) turnsOf(key abi.KeyRef) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done[key]
}

// total returns of how many keys of slow namespaces a sync went well.
func (q *turns) total() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key := range q.done {
		if key.Namespace != "good" {
			n++
		}
	}
	return n
}

// next takes a key; ok is false where there is none at the moment.
func (q *turns) next() (key abi.KeyRef, ok, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return key, false, q.ended
	}
	key, q.queue = q.queue[0], q.queue[1:]
	return key, true, q.ended
}

// work is a worker's: it ends after a sync that has given its place back.
func (q *turns) work() {
	s := q.Sync()
	defer s.Close()
	for {
		key, ok, ended := q.next()
		if ended {
			return
		}
		if !ok {
			time.Sleep(time.Millisecond) // virtual
			continue
		}
		if !q.Admit(key) {
			continue
		}

		s.Begin(key, false)
		ctx, r := Begin(s.Context(context.Background()), text("create pods"))
		Sent(ctx)
		q.mu.Lock()
		fails := key.Namespace != "good" && !q.healed
		q.mu.Unlock()
		if fails {
			time.Sleep(q.answer)
		} else {
			time.Sleep(10 * time.Millisecond)
		}
		r.End()
		q.Room.mu.Lock()
		lent := s.away
		q.Room.mu.Unlock()
		s.End()
		if fails {
			q.add(key)
		} else {
			q.mu.Lock()
			q.done[key]++
			q.mu.Unlock()
		}
		if lent {
			return
		}
	}
}

// One namespace has half of the room and slow ones three quarters, and their further keys don't begin until there is a
// place; where there is none at all, the longest wait ends, if it is long enough, and its sync may go on to another
// request.
func TestRoomIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 6
		r, lent := counted(most)
		var woken []abi.KeyRef
		r.Wake = func(k abi.KeyRef) { woken = append(woken, k) }
		var requests []*Request
		var ended []string
		wait := func(namespace, name string) *Sync {
			t.Helper()
			if !r.Admit(abi.KeyRef{Namespace: namespace, Name: name}) {
				t.Fatalf("%s/%s isn't admitted", namespace, name)
			}
			s, ctx, q := begun(t, r, namespace, name)
			requests = append(requests, q)
			context.AfterFunc(ctx, func() {
				if errors.Is(context.Cause(ctx), ErrEnded) {
					ended = append(ended, name)
				}
			})
			time.Sleep(Long) // virtual, as all time here
			synctest.Wait()
			return s
		}
		expect := func(what string, want ...string) {
			t.Helper()
			if !slices.Equal(ended, want) {
				t.Fatalf("%s: ended are %v, expected %v", what, ended, want)
			}
		}

		first := wait("hung", "a")
		for i := range most/2 - 1 {
			wait("hung", fmt.Sprint("b", i))
		}
		held := abi.KeyRef{Namespace: "hung", Name: "c"}
		admitted, again := r.Admit(held), r.Admit(held)
		if admitted || again || len(r.Held()) != 1 {
			t.Errorf("held are %v", r.Held())
		}
		var namespaces []*Sync
		for i := range most / 2 {
			namespaces = append(namespaces, wait(fmt.Sprint("namespace-", i), "c"))
		}
		expect("all of the room")
		wait("other", "d")
		expect("one more", "a")
		if now, n := r.Away(); now != len(requests) || int(lent.Load()) != len(requests) || n != 1 {
			t.Errorf("%d of %d syncs are away, %d ended; %d workers are lent", now, len(requests), n, lent.Load())
		}
		if len(woken) != 0 {
			t.Errorf("slow namespaces have more than three quarters, and woken are %v", woken)
		}
		for i, s := range namespaces {
			requests[most/2+i].End()
			s.End()
		}
		if len(woken) != 1 || woken[0] != held || len(r.Held()) != 0 {
			t.Errorf("a place is free, and woken are %v", woken)
		}
		wait("hung", "c")
		expect("one more, for which there is room", "a")

		// That which was ended tells of it, which is answered no sooner: it takes room again.
		ctx, q := Begin(first.Context(t.Context()), text("create events"))
		Sent(ctx)
		requests[0].End()
		time.Sleep(Long)
		synctest.Wait()
		expect("the first one's second request", "a", "b0")
		for _, q := range append(requests, q) {
			q.End()
		}
		for _, s := range r.syncs {
			s.End()
		}
		if now, _ := r.Away(); now != 0 || lent.Load() != 0 || len(r.away) != 0 {
			t.Errorf("%d syncs are away after all", now)
		}
	})
}

// What hasn't waited for long enough isn't ended: who has no place keeps its worker until then.
func TestAWaitIsNotEndedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, lent := counted(2)
		began := time.Now()
		_, longest, first := begun(t, r, "", "a")
		time.Sleep(time.Nanosecond)
		_, _, second := begun(t, r, "", "b")
		time.Sleep(Long)
		synctest.Wait()
		_, _, third := begun(t, r, "", "c")
		time.Sleep(endedMin - time.Since(began) - 1)
		synctest.Wait()
		if lent.Load() != 2 || longest.Err() != nil {
			t.Errorf("%d workers are lent, the longest wait is ended: %v", lent.Load(), context.Cause(longest))
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if lent.Load() != 3 || !errors.Is(context.Cause(longest), ErrEnded) {
			t.Errorf("%d workers are lent, the longest wait is ended: %v", lent.Load(), context.Cause(longest))
		}
		for _, q := range []*Request{first, second, third} {
			q.End()
		}
	})
}

// Where all of the room are at work, and none waits, nothing is ended: who has no place keeps its worker.
func TestWhoWorksIsNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, lent := counted(1)
		first, _, q := begun(t, r, "shop", "a")
		time.Sleep(Long) // virtual, as all time here
		q.End()
		_, ctx, next := begun(t, r, "other", "b")
		time.Sleep(time.Hour)
		if _, ended := r.Away(); lent.Load() != 1 || ended != 0 || ctx.Err() != nil {
			t.Errorf("%d workers are lent, %d waits ended: %v", lent.Load(), ended, context.Cause(ctx))
		}
		first.End()
		time.Sleep(again)
		synctest.Wait()
		if lent.Load() != 1 || len(r.away) != 1 {
			t.Errorf("%d workers are lent, %d of the room taken", lent.Load(), len(r.away))
		}
		next.End()
	})
}

// Names that may be secrets aren't told.
func TestNamesAreHidden(t *testing.T) {
	r, _ := counted(2)
	s := r.Sync()
	defer s.Close()
	s.Begin(abi.KeyRef{Name: "a"}, true)
	ctx, q := Begin(s.Context(t.Context()), text("update pods/status shop/hunter2"))
	defer q.End()
	Sent(ctx)
	if all := r.Running(0); len(all) != 1 || all[0].Request != "update pods/status" {
		t.Errorf("running are %v", all)
	}
}

// Where nobody counts nothing changes.
func TestWithoutASync(t *testing.T) {
	ctx, q := Begin(t.Context(), text("get pods"))
	Sent(ctx)
	q.Sent()
	q.End()
	if ctx != t.Context() || ctx.Err() != nil {
		t.Error("the context is another one")
	}
}
