package sandbox

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	asm "github.com/windlass-dev/windlass/host/sandbox/internal/assemble"
)

// soundModules returns small plugins whose damaged copies still do something: each loops, calls, jumps, grows, copies,
// fills, performs or answers.
func soundModules() [][]byte {
	memory := asm.Join(asm.Const(3), []byte{0x40, 0, 0x1a}, asm.Const(16), asm.Const(7), asm.Const(9000),
		[]byte{0xfc, 11, 0},
		asm.Const(5000), asm.Const(17), asm.Const(300), []byte{0xfc, 10, 0, 0}, asm.Const64(16<<32|64))
	loop := asm.Join(asm.Const(20), []byte{0x21, 0, 0x03, 0x40, 0x20, 0}, asm.Const(1),
		[]byte{0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 0, 0xac},
		asm.Const(1024), []byte{0x29, 3, 0, 0x7c})

	table := func(m *asm.Module) {
		f := m.Func("", "", asm.I64, "", asm.Const64(1024<<32|8)...)
		m.Add(4, 0x70, 0, 2)
		m.Add(9, asm.Join([]byte{0}, asm.Const(0), []byte{0x0b, 1}, asm.U(f))...)
		m.Data(1024, "sometext")
	}

	var all [][]byte
	for _, sync := range []struct {
		change func(*asm.Module)
		code   []byte
	}{
		{func(*asm.Module) {}, asm.Const64(1024<<32 | 8)},
		{func(m *asm.Module) { m.Data(1024, "what it answers") }, memory},
		{table, asm.Join(asm.Const(0), []byte{0x11, 0, 0})},
		{func(m *asm.Module) {
			m.Import("windlass", "perform", asm.I32+asm.I32, asm.I32)
			m.Data(1024, "ask")
		}, asm.Join(asm.Const(1024), asm.Const(3), asm.Call(0), []byte{0xac})},
	} {
		m := new(asm.Module)
		sync.change(m)
		addExports(m, 1, sync.code)
		all = append(all, m.Bytes())
	}

	m := new(asm.Module)
	m.Memory(1)
	m.Func("windlass_abi_v1", "", "", "")
	m.Func("windlass_alloc", asm.I32, asm.I32, "", asm.Const(1024)...)
	m.Func("windlass_manifest", "", asm.I64, "", asm.Const64(0)...)
	m.Func("windlass_configure", "", asm.I64, "", asm.Const64(0)...)
	m.Func("windlass_sync", "", asm.I64, asm.I32, loop...)
	return append(all, m.Bytes())
}

// outcome is all that can be seen of a module's syncs.
type outcome struct {
	loads  bool
	kind   error
	answer string
	fuel   int64
	memory int64
}

// FuzzModulesAreContained: whatever the module, loading and syncing it ends soon, in an error or an answer, twice the
// same, and the same compiled and interpreted.
func FuzzModulesAreContained(f *testing.F) {
	for _, wasm := range soundModules() {
		f.Add(wasm, []byte("a message"))
	}
	f.Fuzz(func(t *testing.T, wasm, message []byte) {
		if len(wasm) > 16<<10 { // compiling grows faster than the module; that is the child's business
			return
		}
		from := time.Now()
		compiled := attempt(t, wasm, message, false)
		interpreted := attempt(t, wasm, message, true)
		if took := time.Since(from); took > time.Minute {
			t.Fatalf("took %v", took)
		}
		if usesFloats(wasm) && compiled.answer != interpreted.answer {
			return // the bits of a NaN are the engine's
		}
		if compiled != interpreted {
			t.Fatalf("compiled %+v\ninterpreted %+v", compiled, interpreted)
		}
	})
}

func attempt(t *testing.T, wasm, message []byte, interpreter bool) (o outcome) {
	m, err := Load(context.Background(), wasm,
		Options{Name: "fuzzed", MemoryLimit: 1 << 20, Budget: 3_000_000, StartupBudget: 3_000_000, Deadline: time.Minute,
			Interpreter: interpreter})
	if err != nil {
		return o
	}

	defer m.Close(context.Background())
	o.loads = true
	var before outcome
	for n := range 2 {
		now := o
		call := request(message)
		stats, err := m.Sync(context.Background(), call, func(b []byte) error {
			now.answer = string(bytes.Clone(b))
			return nil
		})
		var e *CallError
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("an error of no kind: %v", err)
		}
		if e != nil {
			now.kind = e.Kind
		} else {
			now.fuel, now.memory = stats.Fuel, stats.Memory
		}
		if n > 0 && now != before {
			t.Fatalf("sync %d: %+v, before %+v", n, now, before)
		}
		before = now
	}

	return before
}

// usesFloats reports whether a module may compute with floating point: its bytes hold one of the types, or a constant
// of one.
func usesFloats(wasm []byte) bool { return bytes.ContainsAny(wasm, "\x7c\x7d\x43\x44") }

// TestSoundModulesRun: the fuzzer starts from modules that do something.
func TestSoundModulesRun(t *testing.T) {
	for n, wasm := range soundModules() {
		for _, interpreter := range []bool{false, true} {
			o := attempt(t, wasm, []byte("a message"), interpreter)
			if !o.loads || o.kind != nil && n < 4 || o.fuel <= 0 && n < 4 {
				t.Errorf("module %d: %+v", n, o)
			}
		}
	}
}
