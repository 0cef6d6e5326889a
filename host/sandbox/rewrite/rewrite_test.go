package rewrite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	asm "github.com/windlass-dev/windlass/host/sandbox/internal/assemble"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
	"github.com/windlass-dev/windlass/test/worlds"
)

const features = api.CoreFeatureMutableGlobal | api.CoreFeatureSignExtensionOps |
	api.CoreFeatureNonTrappingFloatToIntConversion |
	api.CoreFeatureMultiValue | api.CoreFeatureBulkMemoryOperations | api.CoreFeatureReferenceTypes

const pages = 16

// meter stands for the host: it refills without end, and grows as the sandbox does.
type meter struct{ used, refills int64 }

const slice = 1 << 20

// runFunction returns what a module's function f returns for an argument, and the state it leaves.
func runFunction(t testing.TB, wasm []byte, argument uint64, metered, interpreter bool) (string, meter) {
	ctx := context.Background()
	config := wazero.NewRuntimeConfig()
	if interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	r := wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(features).WithMemoryLimitPages(pages))
	defer r.Close(ctx)
	var m meter
	var mod api.Module
	set := func(name string, v uint64) { mod.ExportedGlobal(name).(api.MutableGlobal).Set(v) }
	get := func(name string) uint64 { return mod.ExportedGlobal(name).Get() }
	if metered {
		_, err := r.NewHostModuleBuilder(rewrite.MeterModule).
			NewFunctionBuilder().WithFunc(func() {
			if int64(get(rewrite.DepthGlobal)) < 0 {
				panic("too deep")
			}
			m.refills++
			set(rewrite.FuelGlobal, get(rewrite.FuelGlobal)+slice)
		}).Export(rewrite.RefillImport).
			NewFunctionBuilder().WithFunc(func(more uint32) int32 {
			have := uint32(get(rewrite.PagesGlobal))
			if uint64(have)+uint64(more) > pages {
				return -1
			}
			set(rewrite.PagesGlobal, uint64(have+more))
			return int32(have)
		}).Export(rewrite.GrowImport).Instantiate(ctx)
		if err != nil {
			t.Fatal(err)
		}
	}

	var err error
	if mod, err = r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions()); err !=
		nil {
		return "invalid: " + err.Error(), m
	}

	if metered {
		set(rewrite.DepthGlobal, 1000)
		set(rewrite.FuelGlobal, slice)
	}
	var out strings.Builder
	result, err := mod.ExportedFunction("f").Call(ctx, argument)
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(&out, "trap %s", text)
	} else {
		fmt.Fprintf(&out, "%x", api.DecodeU32(result[0])) // the interpreter leaves rubbish above an i32
	}

	for n := 0; ; n++ {
		g := mod.ExportedGlobal(fmt.Sprintf("g%d", n))
		if g == nil {
			break
		}
		fmt.Fprintf(&out, " g%d=%x", n, uint32(g.Get()))
	}

	size := mod.Memory().Size()
	if metered {
		size = uint32(get(rewrite.PagesGlobal)) << 16
		m.used = (m.refills+1)*slice - int64(get(rewrite.FuelGlobal))
	}
	memory, _ := mod.Memory().Read(0, size)

	sum := uint64(size)
	for _, b := range memory {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	fmt.Fprintf(&out, " memory=%x", sum)
	return out.String(), m
}

// generate makes a valid module from random numbers: functions that call those before them, directly or by the table,
// loop for a while, use globals, grow memory, load, store, copy, fill, and may trap.
func generate(r *rand.Rand) []byte {
	m := new(asm.Module)
	m.Memory(uint32(1 + r.IntN(3)))
	globals := uint32(1 + r.IntN(3))
	for g := range globals {
		m.Export(fmt.Sprintf("g%d", g), 3, m.Global(int32(r.Uint32())))
	}
	functions := uint32(1 + r.IntN(5))
	m.Add(4, asm.Join([]byte{0x70, 0}, asm.U(functions))...)
	typ := m.Type(asm.I32, asm.I32)
	for f := range functions {
		g := generator{r: r, function: f, globals: globals, typ: typ}
		g.emitValue(4)
		name := ""
		if f == functions-1 {
			name = "f"
		}
		m.Func(name, asm.I32, asm.I32, asm.I32+asm.I32+asm.I32+asm.I32+asm.I32, g.code...)
		m.Add(9, asm.Join([]byte{0}, asm.Const(int32(f)), []byte{0x0b, 1}, asm.U(f))...)
	}
	m.Data(int32(r.IntN(60000)), "some bytes of data")
	return m.Bytes()
}

// generator writes a function of (i32) -> i32. Locals 1 and 2 are variables, the others count loops.
type generator struct {
	r                      *rand.Rand
	code                   []byte
	function, globals, typ uint32
	loops                  int
}

func (g *generator) emit(parts ...[]byte) { g.code = append(g.code, asm.Join(parts...)...) }

// emitValue writes code that leaves one i32.
func (g *generator) emitValue(depth int) {
	if depth == 0 {
		switch g.r.IntN(4) {
		case 0:
			g.emit(asm.Const(int32(g.r.Uint32())))
		case 1:
			g.emit([]byte{0x23}, asm.U(g.r.Uint32N(g.globals)))
		case 2:
			g.emit([]byte{0x3f, 0})
		default:
			g.emit([]byte{0x20, byte(g.r.IntN(3))})
		}
		return
	}

	depth--
	switch g.r.IntN(11) {
	case 0, 1:
		g.emitValue(depth)
		g.emitValue(depth)
		// add, sub, ..., div_u, which may trap
		g.emit([]byte{[]byte{0x6a, 0x6b, 0x6c, 0x73, 0x71, 0x77, 0x48, 0x6e}[g.r.IntN(8)]})
	case 2:
		g.emitValue(depth)
		g.emit([]byte{0x04, 0x7f})
		g.emitValue(depth)
		g.emit([]byte{0x05})
		g.emitValue(depth)
		g.emit([]byte{0x0b})
	case 3:
		g.statement(depth)
		g.emitValue(depth)
	case 4:
		if g.function == 0 {
			g.emitValue(depth)
			return
		}
		g.emitValue(depth)
		g.emit(asm.Call(g.r.Uint32N(g.function)))
	case 5:
		if g.function == 0 {
			g.emitValue(depth)
			return
		}
		g.emitValue(depth)
		g.emit(asm.Const(int32(g.r.Uint32N(g.function))), []byte{0x11}, asm.U(g.typ), []byte{0})
	case 6:
		g.emitValue(depth)
		g.emit(asm.Const(0xffff), []byte{0x71, 0x28, 2}, asm.U(g.r.Uint32N(70000)))
	case 7:
		g.emit(asm.Const(int32(g.r.IntN(3))), []byte{0x40, 0})
	case 8: // a block that may be left early
		g.emit([]byte{0x02, 0x7f})
		g.emitValue(depth)
		g.emitValue(depth)
		g.emit([]byte{0x0d, 0, 0x0b})
	case 9:
		g.emitValue(depth)
		g.emit([]byte{0x22, byte(1 + g.r.IntN(2))})
	default:
		g.emitValue(depth)
		g.emitValue(depth)
		g.emitValue(depth)
		g.emit([]byte{0x1b})
	}
}

func (g *generator) statement(depth int) {
	switch g.r.IntN(5) {
	case 0:
		g.emitValue(depth)
		g.emit([]byte{0x24}, asm.U(g.r.Uint32N(g.globals)))
	case 1:
		g.emitValue(depth)
		g.emit(asm.Const(0xffff), []byte{0x71})
		g.emitValue(depth)
		g.emit([]byte{0x36, 2}, asm.U(g.r.Uint32N(70000)))
	case 2: // memory.fill
		g.emit(asm.Const(int32(g.r.IntN(60000))))
		g.emitValue(depth)
		g.emit(asm.Const(int32(g.r.IntN(6000))), []byte{0xfc, 11, 0})
	case 3: // memory.copy
		g.emit(asm.Const(int32(g.r.IntN(60000))), asm.Const(int32(g.r.IntN(60000))), asm.Const(int32(g.r.IntN(6000))),
			[]byte{0xfc, 10, 0, 0})
	default: // a loop of a few rounds
		if g.loops == 3 {
			return
		}
		counter := byte(3 + g.loops)
		g.loops++
		g.emit(asm.Const(int32(1+g.r.IntN(30))), []byte{0x21, counter, 0x03, 0x40})
		g.emitValue(depth)
		g.emit([]byte{0x1a})
		g.emit([]byte{0x20, counter}, asm.Const(1), []byte{0x6b, 0x22, counter, 0x0d, 0, 0x0b})
		g.loops--
	}
}

// TestRewrittenAgrees: a module gives the same rewritten, compiled and interpreted, and both count the same.
func TestRewrittenAgrees(t *testing.T) {
	seeds, traps := worlds.Number(300), 0
	for seed := range uint64(seeds) {
		traps += requireAgreement(t, seed, seed*0x9e3779b97f4a7c15)
	}
	if traps == 0 || traps > seeds*5/6 {
		t.Fatalf("%d of %d trapped: the generator tests too little", traps, seeds)
	}
}

func FuzzRewrittenAgrees(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { requireAgreement(t, a, b) })
}

func requireAgreement(t *testing.T, a, b uint64) (trapped int) {
	wasm := generate(rand.New(rand.NewPCG(a, b)))
	m, err := rewrite.Parse(wasm)
	if err != nil {
		t.Fatalf("seed %d, %d: %v", a, b, err)
	}

	rewritten, err := m.Rewrite(pages)
	if err != nil {
		t.Fatal(err)
	}

	want, _ := runFunction(t, wasm, a, false, false)
	if strings.HasPrefix(want, "invalid") {
		t.Fatalf("seed %d, %d: the generated module is %s", a, b, want)
	}

	compiled, c := runFunction(t, rewritten, a, true, false)
	interpreted, i := runFunction(t, rewritten, a, true, true)
	if strings.Contains(want, "out of bounds") && !strings.Contains(compiled, "out of bounds") {
		return 1 // memory is there up to its limit: an access behind the size that was asked for does not trap
	}
	if compiled != want || interpreted != want {
		t.Fatalf("seed %d, %d:\noriginal    %s\ncompiled    %s\ninterpreted %s", a, b, want, compiled, interpreted)
	}
	if c != i || c.used <= 0 {
		t.Fatalf("seed %d, %d: compiled %+v, interpreted %+v", a, b, c, i)
	}
	if strings.HasPrefix(want, "trap") {
		return 1
	}

	return 0
}

// FuzzParse: no bytes make Parse or Rewrite panic, and what is valid as delivered is valid rewritten.
func FuzzParse(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(generate(rand.New(rand.NewPCG(seed, 1))))
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := rewrite.Parse(wasm)
		if err != nil {
			return
		}
		rewritten, err := m.Rewrite(pages)
		if err != nil {
			t.Fatalf("parsed, not rewritten: %v", err)
		}
		ctx := context.Background()
		r := wazero.NewRuntimeWithConfig(ctx,
			wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features).WithMemoryLimitPages(pages))
		defer r.Close(ctx)
		if _, err := r.CompileModule(ctx, m.Delivered()); err != nil {
			return
		}
		if _, err := r.CompileModule(ctx, rewritten); err != nil {
			t.Fatalf("valid as delivered, rewritten: %v", err)
		}
	})
}
