package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/test/runqueue"
)

const (
	mostPause  = 100 * time.Millisecond // of any goroutine of the host
	mostWait   = 2 * time.Second        // of a neighbour's sync
	mostMemory = 768 << 20              // allocated by the host for one attack
	tries      = 5                      // other processes share the machine: what a module does it does each time
)

// seen is what became of an attack.
type seen struct {
	stage  string
	err    error
	took   time.Duration
	guest  int64 // bytes of its memory in use at the end
	host   int64 // bytes that the host has allocated meanwhile
	pause  time.Duration
	beside int // syncs of the neighbour meanwhile
	wait   time.Duration
	drops  int64
}

// TestCorpus: each module is stopped where the table says, with an error that names it; the host goes on breathing, and
// a neighbour's syncs go on.
func TestCorpus(t *testing.T) {
	gate := sandbox.NewGate(1) // the neighbour has no place of its own
	neighbour := openModule(t, &attack{name: "neighbour"}, gate)
	defer neighbour.Close(context.Background())
	var rows [][]string
	for i := range corpus {
		a := &corpus[i]
		t.Run(a.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), a.name+".wasm")
			if err := os.WriteFile(path, a.moduleBytes(t), 0o600); err != nil {
				t.Fatal(err)
			}
			var s seen
			for n := 1; ; n++ {
				s = watchHost(t, neighbour, func(s *seen) { s.stage, s.err = runModule(t, a, path, gate, s) })
				if s.pause < mostPause && s.wait < mostWait && s.beside > 0 || n == tries {
					break
				}
			}
			checkOutcome(t, a, &s)
			rows = append(rows, []string{a.name, s.stage, fmt.Sprint(s.took.Round(time.Millisecond)),
				fmt.Sprintf("%.1f", float64(s.guest)/(1<<20)), fmt.Sprintf("%.1f", float64(s.host)/(1<<20)),
				fmt.Sprint(s.pause.Round(time.Millisecond)), fmt.Sprintf("%d, %v", s.beside, s.wait.Round(time.Millisecond)),
				shortError(s.err)})
		})
	}

	t.Log("\n" + formatTable([]string{"module", "stopped at", "time", "guest MiB", "host MiB", "pause", "neighbour",
		"error"},
		rows))
}

func checkOutcome(t *testing.T, a *attack, s *seen) {
	t.Helper()
	if s.stage != a.stage {
		t.Errorf("stopped at %s, want %s: %v", s.stage, a.stage, s.err)
	}
	if s.err != nil && (a.says == "" || !strings.Contains(s.err.Error(), a.says) ||
		!strings.Contains(s.err.Error(), a.name) || len(s.err.Error()) > 4096) {
		t.Errorf("got %.4096v, want %q and the plugin's name", s.err, a.says)
	}
	if s.pause >= mostPause {
		t.Errorf("a goroutine of the host was held up for %v", s.pause)
	}
	if s.beside == 0 || s.wait >= mostWait {
		t.Errorf("the neighbour was synced %d times and waited for %v", s.beside, s.wait)
	}
	if s.host > mostMemory {
		t.Errorf("the host allocated %d bytes", s.host)
	}
	if a.name == "log-million" && s.drops < 50_000_000_000 {
		t.Errorf("%d bytes of log were dropped", s.drops)
	}
}

// openModule loads the module of an attack that isn't one.
func openModule(t *testing.T, a *attack, gate *sandbox.Gate) *plugins.Loaded {
	t.Helper()
	path := filepath.Join(t.TempDir(), a.name+".wasm")
	if err := os.WriteFile(path, a.moduleBytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	l, _, err := loadModule(t, a, path, gate)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// loadModule does what the host does with a module of a folder.
func loadModule(t *testing.T, a *attack, path string, gate *sandbox.Gate) (*plugins.Loaded, string, error) {
	p, err := plugins.File(path)
	if err != nil {
		return nil, atLoad, err
	}
	deadline := time.Duration(0) // the default: what ends otherwise has its time to that end, however slow the machine is
	if strings.Contains(a.says, "deadline exceeded") {
		deadline = 300 * time.Millisecond
	}
	l, err := plugins.Open(t.Context(), p,
		sandbox.Options{Name: a.name, Gate: gate, MemoryLimit: a.memory, Deadline: deadline,
			PerformDeadline: 300 * time.Millisecond, Log: func(int32, string) {}}, nil)
	var call *sandbox.CallError
	var settings *sandbox.SettingsError
	switch {
	case err == nil:
		return l, "", nil
	case errors.As(err, &settings), errors.As(err, &call) && call.Export == "windlass_configure":
		return nil, atConfigure, err
	case errors.As(err, &call) && call.Export == "windlass_manifest", strings.Contains(err.Error(), ": manifest"):
		return nil, atManifest, err
	}
	return nil, atLoad, err
}

// runModule takes a module as far as it comes.
func runModule(t *testing.T, a *attack, path string, gate *sandbox.Gate, s *seen) (string, error) {
	l, stage, err := loadModule(t, a, path, gate)
	if err != nil {
		return stage, err
	}

	defer func() {
		s.drops = l.Module.DroppedLogBytes()
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()

	var before []byte
	for n := range 3 { // what a sync leaves behind shows in the next
		answer, stats, err := syncKey(t.Context(), l, a.name)
		s.guest = stats.Memory
		if err != nil {
			return atSync, err
		}
		if n > 0 && !bytes.Equal(answer, before) {
			t.Errorf("sync %d answers %x, the one before %x", n, answer, before)
		}
		before = answer
	}

	again, err := l.Module.Manifest(t.Context())
	if err != nil {
		return atManifest, err
	}

	m, err := abi.DecodeManifest(again)
	if err != nil || m.Description != l.Manifest.Description {
		t.Errorf("the manifest was %+v, is %+v, %v", l.Manifest, m, err)
	}
	return harmless, nil
}

// syncKey syncs a key as a controller does, but for effects.
func syncKey(ctx context.Context, l *plugins.Loaded, name string) (answer []byte, stats sandbox.Stats, err error) {
	request := abi.AppendRequest(nil, &abi.SyncRequest{Key: abi.KeyRef{Namespace: "hostile", Name: name + "-0"}, Now: 1})
	stats, err = l.Module.Sync(ctx, &sandbox.Call{
		Size:  len(request),
		Write: func(b []byte) { copy(b, request) },
		Perform: func(ctx context.Context, in []byte) ([]byte, error) {
			switch string(in) {
			case "hang": // an API server that doesn't answer
				<-ctx.Done()
				return nil, ctx.Err()
			case "echo":
				return bytes.Clone(in), nil
			}
			var p abi.PerformRequest
			if err := abi.DecodePerform(in, &p); err != nil {
				return nil, err
			}
			return abi.AppendPerformed(nil, &abi.PerformResponse{}), nil
		},
	}, func(b []byte) error {
		answer = bytes.Clone(b)
		var r abi.SyncResponse
		if err := abi.DecodeResponse(answer, &r); err != nil {
			return fmt.Errorf("plugin %q: malformed answer of %d bytes: %w", name, len(b), err)
		}
		return nil
	})

	return answer, stats, err
}

// watchHost measures the host while it is attacked: how long a goroutine has to wait, what is allocated, and how the
// neighbour fares.
func watchHost(t *testing.T, neighbour *plugins.Loaded, attack func(*seen)) (s seen) {
	stop := make(chan struct{})
	ready := make(chan struct{}, 2)
	var watchers sync.WaitGroup
	var pauses runqueue.Pauses
	var wait time.Duration
	beside := 0

	watchers.Go(func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		collect := time.Now()
		pauses.Beat()
		ready <- struct{}{}
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			pauses.Beat()
			if time.Since(collect) > 50*time.Millisecond {
				go runtime.GC() // which waits for every running guest, and everybody for it
				collect = time.Now()
			}
		}
	})

	watchers.Go(func() {
		ready <- struct{}{}
		for {
			from := time.Now()
			answer, _, err := syncKey(context.Background(), neighbour, "neighbour")
			wait = max(wait, time.Since(from))
			if err != nil || string(answer) != "\x20\x2a" {
				t.Errorf("the neighbour answers %x, %v", answer, err)
				return
			}
			beside++
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})

	<-ready
	<-ready
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := time.Now()
	attack(&s)
	s.took = time.Since(from)
	runtime.ReadMemStats(&after)
	close(stop)
	watchers.Wait()
	s.host = int64(after.TotalAlloc - before.TotalAlloc)
	s.pause, s.beside, s.wait = pauses.Longest, beside, wait

	return s
}

func shortError(err error) string {
	if err == nil {
		return ""
	}
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	if i := strings.LastIndex(text, "/001/"); i >= 0 { // where the test keeps it
		text = text[i+len("/001/"):]
	}
	return text[:min(len(text), 150)]
}

func formatTable(head []string, rows [][]string) string {
	var b strings.Builder
	for _, r := range append([][]string{head}, rows...) {
		fmt.Fprintf(&b, "%-20s %-10s %8s %9s %8s %7s %13s  %s\n", r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7])
	}
	return b.String()
}
