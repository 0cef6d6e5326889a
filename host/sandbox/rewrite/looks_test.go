package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	asm "github.com/windlass-dev/windlass/host/sandbox/internal/assemble"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
	"github.com/windlass-dev/windlass/test/worlds"
)

// shape is a module under construction that counts what it executes in its global 0; its functions take and return
// nothing, but for those that are given how deep they are to recurse.
type shape struct {
	asm.Module
	n uint32 // functions
}

func newShape(functions uint32) *shape {
	s := new(shape)
	s.Memory(1)
	s.Export("executed", 3, s.Global(0))
	s.Global(0) // how deep a recursion is to go on
	s.Add(4, asm.Join([]byte{0x70, 0}, asm.U(functions))...)
	return s
}

// function adds one, and returns its index; the table has it at the same place.
func (s *shape) function(code ...[]byte) uint32 {
	s.n++
	f := s.Func("", "", "", "", asm.Join(code...)...)
	s.Add(9, asm.Join([]byte{0}, asm.Const(int32(f)), []byte{0x0b, 1}, asm.U(f))...)
	return f
}

// work executes so many instructions, and counts them.
func work(n int) []byte {
	return asm.Join(asm.Const(0), bytes.Repeat([]byte{0x45}, n), []byte{0x1a}, count(n))
}

func count(n int) []byte {
	return asm.Join([]byte{0x23, 0}, asm.Const(int32(n)), []byte{0x6a, 0x24, 0})
}

// times repeats code, and counts its instructions.
func times(n, instructions int, code []byte) []byte {
	return asm.Join(bytes.Repeat(code, n), count(n*instructions))
}

func (s *shape) indirect(f uint32) []byte {
	return asm.Join(asm.Const(int32(f)), []byte{0x11}, asm.U(s.Type("", "")), []byte{0})
}

// recursion adds a function that calls itself so often, and does something when that has returned.
func (s *shape) recursion(deep int, indirectly bool, after ...[]byte) uint32 {
	self := asm.Call(s.n)
	if indirectly {
		self = s.indirect(s.n)
	}
	f := s.function(
		[]byte{0x23, 1, 0x04, 0x40, 0x23, 1}, asm.Const(1), []byte{0x6b, 0x24, 1}, // if deeper: one less
		self, []byte{0x0b}, asm.Join(after...))
	return s.function(asm.Const(int32(deep)), []byte{0x24, 1}, asm.Call(f))
}

func (s *shape) loop(rounds int, body ...[]byte) uint32 {
	s.n++
	f := s.Func("", "", "", asm.I32, asm.Join(asm.Const(int32(rounds)), []byte{0x21, 0, 0x03, 0x40}, asm.Join(body...),
		[]byte{0x20, 0}, asm.Const(1), []byte{0x6b, 0x22, 0, 0x0d, 0, 0x0b})...)
	s.Add(9, asm.Join([]byte{0}, asm.Const(int32(f)), []byte{0x0b, 1}, asm.U(f))...)
	return f
}

// enough is after how many instructions a run is ended.
const enough = 30_000_000

// longest rewrites a module, runs its function f, and returns the most that it executes between two looks, and all
// that it executes.
func longest(t *testing.T, wasm []byte) (most, all uint32) {
	t.Helper()
	m, err := rewrite.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	rewritten, err := m.Rewrite(pages)
	if err != nil {
		t.Fatal(err)
	}

	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features).
		WithMemoryLimitPages(pages))
	defer r.Close(ctx)
	var mod api.Module
	executed := func() uint32 { return uint32(mod.ExportedGlobal("executed").Get()) }
	fuel := func() api.MutableGlobal { return mod.ExportedGlobal(rewrite.FuelGlobal).(api.MutableGlobal) }
	var last uint32
	done := errors.New("enough")
	_, err = r.NewHostModuleBuilder(rewrite.MeterModule).
		NewFunctionBuilder().WithFunc(func() {
		most, last = max(most, executed()-last), executed()
		fuel().Set(1<<64 - 1) // below zero: so each look comes here
		if last > enough || int64(mod.ExportedGlobal(rewrite.DepthGlobal).Get()) < 0 {
			panic(done)
		}
	}).Export(rewrite.RefillImport).
		NewFunctionBuilder().WithFunc(func(uint32) int32 { return -1 }).Export(rewrite.GrowImport).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}

	if mod, err = r.InstantiateWithConfig(ctx, rewritten, wazero.NewModuleConfig().WithName("")); err != nil {
		t.Fatal(err)
	}
	mod.ExportedGlobal(rewrite.DepthGlobal).(api.MutableGlobal).Set(1000)
	fuel().Set(1<<64 - 1)
	if _, err := mod.ExportedFunction("f").Call(ctx); err != nil && !errors.Is(err, done) {
		t.Fatal(err)
	}
	return max(most, executed()-last), executed()
}

// bodyMost is about what fits into a body in instructions of one byte.
const bodyMost = 60_000

// TestLooks: whatever a guest's shape, it looks before it has executed 2^20 instructions.
func TestLooks(t *testing.T) {
	for name, build := range map[string]func(s *shape) uint32{
		"calls of a long leaf": func(s *shape) uint32 {
			leaf := s.function(work(bodyMost))
			return s.function(times(20_000, 3, asm.Call(leaf)))
		},
		"calls of a short leaf": func(s *shape) uint32 {
			leaf := s.function(work(240))
			return s.function(times(20_000, 3, asm.Call(leaf)))
		},
		"calls of a short leaf from short functions": func(s *shape) uint32 {
			f := s.function(work(120))
			for range 4 {
				f = s.function(times(100, 3, asm.Call(f)))
			}
			return f
		},
		"calls by the table": func(s *shape) uint32 {
			leaf := s.function(work(bodyMost))
			return s.function(times(9000, 4, s.indirect(leaf)))
		},
		"long ends of calls that nest":  func(s *shape) uint32 { return s.recursion(900, false, work(bodyMost)) },
		"short ends of calls that nest": func(s *shape) uint32 { return s.recursion(990, false, work(480)) },
		"ends that are too long to be short": func(s *shape) uint32 {
			return s.recursion(990, false, work(600))
		},
		"ends of calls by the table": func(s *shape) uint32 { return s.recursion(990, true, work(1000)) },
		"ends with calls of leaves": func(s *shape) uint32 {
			leaf := s.function(work(240))
			return s.recursion(990, false, times(60, 3, asm.Call(leaf)), work(200))
		},
		"ends with calls of a leaf by the table": func(s *shape) uint32 {
			leaf := s.function(work(240))
			return s.recursion(990, false, times(40, 4, s.indirect(leaf)))
		},
		"a loop of calls": func(s *shape) uint32 {
			leaf := s.function(work(bodyMost))
			return s.loop(200, times(10, 3, asm.Call(leaf)))
		},
		"ends after a loop": func(s *shape) uint32 {
			f := s.loop(2, work(bodyMost/2))
			return s.recursion(900, false, times(100, 3, asm.Call(f)), work(480))
		},
		"fills": func(s *shape) uint32 {
			fill := asm.Join(asm.Const(0), asm.Const(0), asm.Const(8), []byte{0xfc, 11, 0})
			f := s.function(times(700, 4, fill))
			return s.recursion(90, false, asm.Call(f), work(400))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShape(16)
			s.Export("f", 0, build(s))
			most, all := longest(t, s.Bytes())
			t.Logf("%d instructions of %d", most, all)
			if most > 1<<20 {
				t.Errorf("%d instructions without a look", most)
			}
			if all < 100_000 {
				t.Errorf("executed %d instructions: the shape has nothing to show", all)
			}
		})
	}
}

// TestLooksOfRandomShapes: the same of shapes that nobody has thought of.
func TestLooksOfRandomShapes(t *testing.T) {
	var highest uint32
	for seed := range uint64(worlds.Number(100)) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := newShape(64)
		s.Export("f", 0, randomShape(r, s))
		most, _ := longest(t, s.Bytes())
		if highest = max(highest, most); most > 1<<20 {
			t.Fatalf("seed %d: %d instructions without a look", seed, most)
		}
	}
	t.Logf("at most %d instructions", highest)
	if highest < 1000 {
		t.Errorf("the longest way without a look was %d instructions: the shapes have nothing to show", highest)
	}
}

// randomShape adds some functions to a shape, each of which calls those before it.
func randomShape(r *rand.Rand, s *shape) uint32 {
	size := func() int {
		most := []int{40, 240, 480, 2000, 20_000, 25_000}[r.IntN(6)]
		return 1 + r.IntN(most)
	}
	f := s.function(work(size()))
	for range 2 + r.IntN(6) {
		callee := r.Uint32N(s.n)
		call, cost := asm.Call(callee), 3
		if r.IntN(4) == 0 {
			call, cost = s.indirect(callee), 4
		}
		calls := times(1+r.IntN([]int{3, 30, 100, 3000}[r.IntN(4)]), cost, call)

		switch r.IntN(5) {
		case 0:
			f = s.function(work(size()))
		case 1:
			f = s.function(work(size()), calls, work(size()))
		case 2:
			f = s.loop(1+r.IntN(20), calls, work(size()))
		case 3:
			f = s.recursion(r.IntN(400), r.IntN(3) == 0, calls, work(size()))
		default:
			f = s.recursion(r.IntN(400), false, work(size()))
		}
	}
	return f
}
