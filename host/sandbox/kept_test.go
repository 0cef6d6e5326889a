package sandbox

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	asm "github.com/windlass-dev/windlass/host/sandbox/internal/assemble"
	"github.com/windlass-dev/windlass/host/scratch"
)

// A module of a stranger that rests holds next to nothing of the process's memory: its code is in a file, and of the
// module only what it imports is there.
func TestRestingHoldsLittle(t *testing.T) {
	wasm := guestModule(t, guests[0])
	load := func() *Module {
		m, err := Load(t.Context(), bytes.Clone(wasm), // each has bytes of its own
			Options{Name: "guest", Helpers: helpers, Untrusted: true, Rest: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close(context.Background()) })
		m.options.Rest = time.Nanosecond
		for m.rest(); !resting(t, m); m.rest() {
		}
		return m
	}
	load() // what is made once

	const n = 2
	before := heap()
	for range n {
		load()
	}
	if each := (heap() - before) / n; each > 8<<10 {
		t.Errorf("each holds %d bytes of the heap", each)
	}
}

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	for range 2 { // what the first has found to be finalized
		runtime.GC()
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// A module that can't be started keeps nothing, however often it is tried.
func TestFailedLoadKeepsNothing(t *testing.T) {
	wasm := pluginModule(func(m *asm.Module) { m.Func("_initialize", "", "", "", 0) }) // unreachable
	before := scratch.Regions()
	for range 2 {
		if _, err := Load(t.Context(), wasm, Options{Name: "guest", Untrusted: true, Rest: time.Hour}); err == nil ||
			!strings.Contains(err.Error(), "unreachable") {
			t.Fatalf("loaded: %v", err)
		}
	}
	if scratch.Regions() != before {
		t.Errorf("the file keeps %d regions, %d before", scratch.Regions(), before)
	}
}

// That a module which rested can't be loaded again is nobody's fault in it, and passes.
func TestNotLoadedAgain(t *testing.T) {
	m, err := Load(t.Context(), guestModule(t, guests[0]), Options{Name: "guest", Helpers: helpers, Untrusted: true,
		Rest: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	m.options.Rest = time.Nanosecond
	for m.rest(); !resting(t, m); m.rest() {
	}

	load := m.presence.load
	m.presence.load = func(context.Context) error { return errors.New("no room") }
	if _, err := m.Manifest(t.Context()); !errors.Is(err, ErrNotLoaded) || errors.Is(err, ErrTrap) {
		t.Errorf("without room: %v", err)
	}
	m.presence.load = load
	if _, err := m.Manifest(t.Context()); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
