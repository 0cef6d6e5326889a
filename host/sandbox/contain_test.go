package sandbox

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/test/runqueue"
)

// TestHostileSyncsAreContained: each way for a guest to misbehave ends its call with the right error, and the next sync
// knows nothing of it.
func TestHostileSyncsAreContained(t *testing.T) {
	refused := errors.New("no such right")
	for _, name := range guests {
		budget := int64(1_000_000_000)
		if name == "tinygo arena" { // the others need more before they run into what is tested
			budget = 300_000_000
		}

		m := loadGuest(t, name, Options{MemoryLimit: 32 << 20, Budget: budget, Deadline: time.Minute})
		for _, test := range []struct {
			name, message string
			kind          error
			text          string
		}{
			{"endless loop", "L", ErrBudget, "00000000 units used up"},
			{"endless recursion", "R", ErrTrap, "nested deeper than 1000"},
			{"memory bomb", "M", ErrMemory, "its limit of 32 MiB"},
			{"panic", "T", ErrTrap, ""},
			{"answer outside the memory", "O", ErrMalformed, "16 bytes at 2147483647"},
			{"answer too long", "A", ErrMalformed, "answer of 2147483647 bytes, the limit is 67108864"},
			{"endless performs", "P1", ErrPerform, "more than 10000 performs in one sync"},
			{"perform that fails", "p!", ErrPerform, "no such right"},
			{"perform in which the host panics", "p*", ErrHost, "windlass.perform: nobody had thought of it"},
			{"helper that panics", "h*", ErrHost, "windlass.reverse: runtime error: index out of range"},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				call := request([]byte(test.message))
				call.Perform = func(_ context.Context, request []byte) ([]byte, error) {
					switch request[0] {
					case '!':
						return nil, refused
					case '*':
						panic("nobody had thought of it")
					}
					return []byte("done"), nil
				}

				stats, err := m.Sync(context.Background(), call, func([]byte) error { t.Error("there is an answer"); return nil })
				var e *CallError
				if !errors.As(err, &e) || !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) ||
					e.Export != exportSync || e.Plugin != "guest" {
					t.Fatalf("got %v, want %v with %q", err, test.kind, test.text)
				}
				var p *HostPanic
				if errors.As(err, &p) != (test.kind == ErrHost) || p != nil && !strings.Contains(string(p.Stack), "_test.go") {
					t.Fatalf("%v has no stack of the panic", err)
				}
				if test.message == "p!" && !errors.Is(err, refused) {
					t.Fatalf("%v does not wrap what Perform returned", err)
				}
				if stats.Fuel <= 0 {
					t.Fatalf("used %d units", stats.Fuel)
				}
				if idle, active := m.Instances(); idle != 0 || active != 0 {
					t.Fatalf("the instance is kept: %d idle, %d active", idle, active)
				}
				if got, _, err := syncOnce(m, []byte("s")); err != nil || got[0] != 1 || got[1] != 1 {
					t.Fatalf("the next sync gives %q, %v", got, err)
				}

				m.FreeIdle()
			})
		}
	}
}

func TestTraceNamesFunctions(t *testing.T) {
	m := loadGuest(t, "tinygo arena", Options{})
	_, _, err := syncOnce(m, []byte("R"))
	var e *CallError
	if !errors.As(err, &e) || len(e.Trace) == 0 || !strings.Contains(strings.Join(e.Trace, " "), "main.recurse") {
		t.Fatalf("trace %q of %v", e.Trace, err)
	}
}

// TestHeartbeat: while guests run for ever on every place there is, the collector runs and no goroutine waits for long.
func TestHeartbeat(t *testing.T) {
	m := loadGuest(t, "tinygo arena", Options{Deadline: 500 * time.Millisecond, Budget: 1 << 60})
	const most = 100 * time.Millisecond
	var longest time.Duration
	for range 3 { // other processes share this machine: the guests must fail to hold it up once
		stop := make(chan struct{})
		var collections int
		var pauses runqueue.Pauses
		var beating sync.WaitGroup
		beating.Go(func() {
			for ticker := time.NewTicker(time.Millisecond); ; {
				select {
				case <-stop:
					ticker.Stop()
					return
				case <-ticker.C:
					pauses.Beat()
				}
			}
		})

		var guests sync.WaitGroup
		var wrong atomic.Value
		for range 4 {
			guests.Go(func() {
				if _, _, err := syncOnce(m, []byte("L")); !errors.Is(err, ErrDeadline) {
					wrong.Store(err)
				}
			})
		}

		var collecting sync.WaitGroup
		collecting.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.GC()
					collections++
				}
			}
		})

		guests.Wait()
		close(stop)
		beating.Wait()
		collecting.Wait()
		if err := wrong.Load(); err != nil {
			t.Fatalf("got %v, want a deadline", err)
		}

		longest = pauses.Longest
		beats := pauses.Beats
		t.Logf("longest gap %v of %d beats, %d collections", longest, beats, collections)
		if beats > 0 && collections > 0 && longest < most {
			return
		}
	}

	t.Fatalf("goroutines were held up for %v", longest)
}

func TestCancel(t *testing.T) {
	m := loadGuest(t, "tinygo arena", Options{Budget: 1 << 60, Deadline: time.Minute, Gate: NewGate(1)})
	revoked := errors.New("the Lease is lost")
	t.Run("running", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		call := request([]byte("L"))
		write := call.Write
		call.Write = func(b []byte) { write(b); cancel(revoked) }
		if _, err := m.Sync(ctx, call, nil); !errors.Is(err, ErrCancelled) || !errors.Is(err, revoked) {
			t.Fatalf("got %v", err)
		}
	})

	t.Run("performing", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		call := request([]byte("p1"))
		call.Perform = func(ctx context.Context, _ []byte) ([]byte, error) {
			cancel(revoked)
			return nil, ctx.Err()
		}
		if _, err := m.Sync(ctx, call, nil); !errors.Is(err, ErrCancelled) {
			t.Fatalf("got %v", err)
		}
	})

	t.Run("waiting", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		call := request([]byte("e"))
		write := call.Write
		call.Write = func(b []byte) { // holds the only place
			write(b)
			cancel(revoked)
			if _, err := m.Sync(ctx, request([]byte("e")), nil); !errors.Is(err, ErrCancelled) || !errors.Is(err, revoked) {
				t.Errorf("got %v", err)
			}
		}
		if _, err := m.Sync(context.Background(), call, func([]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
}

// TestPerformGivesItsPlaceUp: with one place, a second guest runs while the first performs; the time that it takes does
// not count against the first's deadline.
func TestPerformGivesItsPlaceUp(t *testing.T) {
	const deadline = time.Second // far more than the guests take
	m := loadGuest(t, "tinygo arena", Options{Gate: NewGate(1), Deadline: deadline})
	call := request([]byte("p1"))
	call.Perform = func(_ context.Context, request []byte) ([]byte, error) {
		var err error
		for from := time.Now(); time.Since(from) < deadline && err == nil; {
			_, _, err = syncOnce(m, []byte("e"))
		}
		return request, err
	}
	stats, err := m.Sync(context.Background(), call, func(a []byte) error {
		if string(a) != "1" {
			t.Errorf("answer %q", a)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Performs != 1 || stats.Perform < deadline || stats.Duration > deadline {
		t.Fatalf("stats %+v", stats)
	}
}

// TestLoopingGuestPassesItsPlaceOn: with one place and guests that loop, another module's guest waits for a slice, not
// for their deadline, however many they are.
func TestLoopingGuestPassesItsPlaceOn(t *testing.T) {
	const deadline = 5 * time.Minute // of the looping guests
	gate := NewGate(1)
	looping := loadGuest(t, "tinygo arena", Options{Budget: 1 << 60, Deadline: deadline, Gate: gate})
	other := loadGuest(t, "tinygo arena", Options{Gate: gate})
	ctx, cancel := context.WithCancel(t.Context())
	var guests sync.WaitGroup

	running := make(chan struct{}, 10)
	for range cap(running) {
		guests.Go(func() {
			call := request([]byte("L"))
			write := call.Write
			call.Write = func(b []byte) { write(b); running <- struct{}{} }
			if _, err := looping.Sync(ctx, call, nil); !errors.Is(err, ErrCancelled) {
				t.Errorf("got %v", err)
			}
		})
	}

	for range cap(running) {
		<-running // each of them has been let in
	}
	for range 20 {
		if _, stats, err := syncOnce(other, []byte("e")); err != nil || stats.Wait > deadline/20 {
			t.Errorf("waited %v: %v", stats.Wait, err)
		}
		if n := gate.waiting.Load(); n > 1 {
			t.Errorf("%d guests of one module wait before a guest of another", n)
		}
	}

	cancel()
	guests.Wait()
}

func TestPerformOutsideSync(t *testing.T) {
	m := loadGuest(t, "tinygo arena", Options{})
	if err := m.Configure(context.Background(), []byte("p")); !errors.Is(err, ErrTrap) ||
		!strings.Contains(err.Error(), "only inside windlass_sync") {
		t.Fatalf("got %v", err)
	}
}

func TestHelperAndLog(t *testing.T) {
	for _, name := range guests {
		m := loadGuest(t, name, Options{})
		if got, _, err := syncOnce(m, []byte("habc")); err != nil || string(got) != "cba" {
			t.Fatalf("%s: %q, %v", name, got, err)
		}
		call := request([]byte("lwhat it says\xff"))
		var logged []string
		call.Log = func(level int32, message string) { logged = append(logged, string(rune('0'+level))+message) }
		if _, err := m.Sync(context.Background(), call, func([]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if len(logged) != 1 || logged[0] != "1what it says?" {
			t.Fatalf("%s: logged %q", name, logged)
		}
	}
}

// TestCloseWaits: Close lets the calls in flight end, and refuses the ones after it.
func TestCloseWaits(t *testing.T) {
	m := loadGuest(t, "tinygo arena", Options{})
	started, end, closed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	call := request([]byte("p1"))
	call.Perform = func(_ context.Context, request []byte) ([]byte, error) {
		close(started)
		<-end
		return request, nil
	}

	done := make(chan error, 1)
	go func() {
		_, err := m.Sync(context.Background(), call, func([]byte) error { return nil })
		done <- err
	}()
	<-started
	go func() { closed <- m.Close(context.Background()) }()

	for { // until Close has begun
		if _, _, err := syncOnce(m, []byte("e")); errors.Is(err, ErrClosed) {
			break
		}
	}

	select {
	case err := <-closed:
		t.Fatalf("closed under a running call: %v", err)
	default:
	}

	close(end)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentSyncs: many syncs at once, reconfigured and freed meanwhile, each get their own answer.
func TestConcurrentSyncs(t *testing.T) {
	m := loadGuest(t, "tinygo arena", Options{Idle: time.Millisecond})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			message := []byte{'p', byte(n), byte(n + 1)}
			for range 200 {
				got, _, err := syncOnce(m, message)
				if want := []byte{byte(n), byte(n), byte(n + 1), byte(n + 1)}; err != nil || string(got) != string(want) {
					t.Errorf("%q, %v", got, err)
					return
				}
			}
		})
	}
	all.Go(func() {
		for range 50 {
			if err := m.Configure(context.Background(), []byte("again")); err != nil {
				t.Error(err)
			}
			m.FreeIdle()
		}
	})
	all.Wait()
}

// The performs of a sync share their time: when it is over the one that is under way ends, however quick each was.
func TestPerformsShareTheirTime(t *testing.T) {
	m := loadGuest(t, "tinygo arena", Options{PerformDeadline: time.Hour})
	synctest.Test(t, func(t *testing.T) {
		begun, performs := time.Now(), 0
		call := request([]byte("P1"))
		call.Perform = func(ctx context.Context, _ []byte) ([]byte, error) {
			performs++
			select {
			case <-time.After(40 * time.Minute): // virtual
				return []byte("done"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		_, err := m.Sync(t.Context(), call, func([]byte) error { t.Error("there is an answer"); return nil })
		if !errors.Is(err, ErrPerform) || !strings.Contains(err.Error(), "performs of one sync took longer than 1h0m0s") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begun); performs != 2 || took != time.Hour {
			t.Errorf("%d performs took %v, expected 2 that take the hour", performs, took)
		}
	})
}

// A call logs so many messages and so many bytes; what is beyond is counted and not logged.
func TestLogsOfACallAreBounded(t *testing.T) {
	m := loadGuest(t, "tinygo arena", Options{})
	for name, x := range map[string]struct {
		messages, size, logged, dropped int
	}{
		"nothing to say":    {maxLogs + 500, 0, maxLogs, 0},
		"a few words":       {maxLogs + 500, 10, maxLogs, 500 * 10},
		"long ones":         {20, maxLogMessage, maxLogBytes / maxLogMessage, 20*maxLogMessage - maxLogBytes},
		"one that is large": {1, maxLogMessage + 7, 1, 7},
	} {
		i, err := m.takeInstance(t.Context(), m.baseline.Load(), exportSync)
		if err != nil {
			t.Fatal(err)
		}
		logged := 0
		i.call = invocation{export: exportSync, budget: DefaultBudget, log: func(int32, string) { logged++ }}
		if err := i.beginCall(t.Context()); err != nil {
			t.Fatal(err)
		}

		for range x.messages {
			i.logMessage(1, make([]byte, x.size))
		}
		if logged != x.logged || i.logDropped != int64(x.dropped) {
			t.Errorf("%s: %d logged and %d bytes dropped, expected %d and %d", name, logged, i.logDropped, x.logged, x.dropped)
		}
		m.putInstance(i, i.endCall(nil) == nil)
	}
}
