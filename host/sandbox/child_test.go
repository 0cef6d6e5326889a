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
	"github.com/windlass-dev/windlass/test/worlds"
)

// compilerBomb is within every limit of package rewrite, and would keep wazero's compiler busy for minutes: each
// function has 32 loops in each other seven times, and sets a thousand locals in the innermost.
func compilerBomb() []byte {
	times := func(n int, code ...byte) []byte { return bytes.Repeat(code, n) }
	var sets []byte
	for i := range uint32(1000) {
		sets = asm.Join(sets, []byte{0x20}, asm.U((i+1)%1000), []byte{0x21}, asm.U(i))
	}
	body := times(7, asm.Join(times(32, 0x03, 0x40, 0x20, 0, 0x0d, 0), sets, times(32, 0x20, 0, 0x0d, 0, 0x0b))...)
	return pluginModule(func(m *asm.Module) {
		for range 50 {
			m.Func("", "", "", strings.Repeat(asm.I32, 1000), body...)
		}
	})
}

// TestCompilingIsBounded: what would keep the compiler busy for minutes is given up in a child, and costs the host
// itself nothing.
func TestCompilingIsBounded(t *testing.T) {
	defer func(s int, d time.Duration) { childSeconds, childTime = s, d }(childSeconds, childTime)
	childSeconds, childTime = 2, 10*time.Minute // a busy machine gives a child these seconds, but slowly
	bomb := compilerBomb()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := time.Now()
	_, err := Load(t.Context(), bomb, Options{Name: "bomb", Untrusted: true})
	runtime.ReadMemStats(&after)
	if err == nil || !strings.HasPrefix(err.Error(), `plugin "bomb": compiling the module in a child process: it takes `) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(from); took > childTime {
		t.Errorf("took %v", took)
	}
	if grown := after.HeapSys - before.HeapSys; int64(grown) > 256<<20 {
		t.Errorf("the host's heap grew by %d bytes", grown)
	}
	t.Logf("%d bytes, given up after %v: %v", len(bomb), time.Since(from), err)
}

// However little of the processors a child gets, it is given up some time.
func TestCompilingEndsInTime(t *testing.T) {
	defer func(d time.Duration) { childTime = d }(childTime)
	childTime = 300 * time.Millisecond
	_, err := Load(t.Context(), compilerBomb(), Options{Name: "bomb", Untrusted: true})
	if !errors.Is(err, errChildTime) {
		t.Fatalf("got %v", err)
	}
}

func TestCompilingInAChildEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Load(ctx, compilerBomb(), Options{Name: "bomb", Untrusted: true}); err == nil ||
		!strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Fatalf("got %v", err)
	}
	end, _ := ctx.Deadline()
	if late := time.Since(end); late > childTime { // it would be given up after that in any case
		t.Errorf("went on for %v", late)
	}
}

// TestUntrusted: real modules come through the child, invalid ones don't and are told why.
func TestUntrusted(t *testing.T) {
	defer func(s int, d time.Duration) { childSeconds, childTime = s, d }(childSeconds, childTime)
	childTime = 10 * time.Minute // a busy machine gives a child its seconds, but slowly
	if worlds.Raced {            // which makes the child as slow
		childSeconds *= 10
	}
	for _, name := range guests {
		for _, interpreter := range []bool{false, true} {
			from := time.Now()
			m := loadGuest(t, name, Options{Untrusted: true, Interpreter: interpreter})
			t.Logf("%s loaded in %v", name, time.Since(from))
			if got, _, err := syncOnce(m, []byte("s")); err != nil || got[0] != 1 {
				t.Fatalf("%s: %q, %v", name, got, err)
			}
		}
	}
	invalid := pluginModule(func(m *asm.Module) {
		m.Func("", "", "", "", asm.Join(asm.Const64(1), []byte{0x45, 0x1a})...)
	})
	if _, err := Load(t.Context(), invalid, Options{Name: "bad", Untrusted: true}); err == nil ||
		!strings.HasPrefix(err.Error(), `plugin "bad": compiling the module in a child process: module is invalid: `) {
		t.Fatalf("got %v", err)
	}
}
