package sandbox

import (
	"bytes"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	asm "github.com/windlass-dev/windlass/host/sandbox/internal/assemble"
)

// unitShapes are bodies of a loop that do mostly one thing. Local 0 counts the loop's rounds down, 1 is an i64, 2 an
// f64, 3 an i32; function 0 adds, function 1 adds too and calls function 0, and the table has both.
var unitShapes = []struct {
	name string
	code []byte
}{
	{"adding", asm.Join([]byte{0x20, 1}, asm.Const64(3), []byte{0x7c, 0x21, 1})},
	{"multiplying", asm.Join([]byte{0x20, 1}, asm.Const64(3), []byte{0x7e, 0x21, 1})},
	{"dividing", asm.Join(asm.Const64(-1), []byte{0x20, 1}, asm.Const64(3), []byte{0x84, 0x80, 0x21, 1})},
	{"remainders", asm.Join(asm.Const64(-1), []byte{0x20, 1}, asm.Const64(3), []byte{0x84, 0x82, 0x21, 1})},
	{"adding floats", []byte{0x20, 2, 0x20, 2, 0xa0, 0x21, 2}},
	{"dividing floats", []byte{0x20, 2, 0x44, 1, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0xa3, 0x21, 2}},
	{"square roots", []byte{0x20, 1, 0xba, 0x20, 2, 0xa0, 0x9f, 0x21, 2}},
	{"loads from a few places", asm.Join([]byte{0x20, 3, 0x28, 2, 0, 0x21, 3})},
	{"loads from anywhere", asm.Join([]byte{0x20, 3}, asm.Const(1103515245), []byte{0x6c}, asm.Const(12345),
		[]byte{0x6a, 0x22, 3}, asm.Const(32<<20-4), []byte{0x71, 0x28, 2, 0, 0x20, 3, 0x6a, 0x21, 3})},
	{"stores", asm.Join(asm.Const(1024), []byte{0x20, 3, 0x36, 2, 0})},
	{"calls of a leaf", asm.Call(0)},
	{"calls", asm.Call(1)},
	{"calls by the table", asm.Join(asm.Const(0), []byte{0x11, 0, 0})},
	{"short fills", asm.Join(asm.Const(2048), asm.Const(0), asm.Const(8), []byte{0xfc, 11, 0})},
	{"long fills", asm.Join(asm.Const(1<<20), asm.Const(0), asm.Const(16<<20), []byte{0xfc, 11, 0})},
	{"long copies", asm.Join(asm.Const(1<<20), asm.Const(17<<20), asm.Const(8<<20), []byte{0xfc, 10, 0, 0})},
	{"memory.grow", asm.Join(asm.Const(0), []byte{0x40, 0, 0x1a})},
}

// unitModule is one whose sync runs a shape's loop, with so many of its bodies in a round.
func unitModule(code []byte, bodies, rounds int) []byte {
	m := new(asm.Module)
	m.Type("", "")
	m.Add(4, 0x70, 0, 2)
	m.Add(6, asm.Join([]byte{0x7e, 1}, asm.Const64(0), []byte{0x0b})...)
	add := asm.Join([]byte{0x23, 0}, asm.Const64(3), []byte{0x7c, 0x24, 0})
	m.Func("", "", "", "", add...)
	m.Func("", "", "", "", asm.Join(add, asm.Call(0))...)
	for f := range uint32(2) {
		m.Add(9, asm.Join([]byte{0}, asm.Const(int32(f)), []byte{0x0b, 1}, asm.U(f))...)
	}

	// The memory is written first: pages that nobody has written are all the same one.
	loop := asm.Join(asm.Const(0), asm.Const(1), asm.Const(32<<20), []byte{0xfc, 11, 0},
		asm.Const(int32(rounds)), []byte{0x21, 0}, []byte{0x44, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x21, 2},
		[]byte{0x03, 0x40}, bytes.Repeat(code, bodies),
		[]byte{0x20, 0}, asm.Const(1), []byte{0x6b, 0x22, 0, 0x0d, 0, 0x0b})
	shape := m.Func("", "", "", asm.I32+asm.I64+"\x7c"+asm.I32, loop...)
	addExports(m, 512, asm.Join(asm.Call(shape), asm.Const64(0)))
	return m.Bytes()
}

// BenchmarkUnits says what a unit of fuel costs in the processor time of the thread that runs the guest, shape by
// shape. A slice has 2^20 units: a thousand ns each would be a second without a look.
func BenchmarkUnits(b *testing.B) {
	for _, shape := range unitShapes {
		b.Run(shape.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			bodies, rounds := 100, 100_000
			if bytes.Contains([]byte(shape.name), []byte("long")) {
				bodies, rounds = 1, 200
			}
			m, err := Load(b.Context(), unitModule(shape.code, bodies, rounds), Options{Name: "units"})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close(b.Context())

			var units, spent int64
			for b.Loop() {
				before := threadTime(b)
				_, stats, err := syncOnce(m, nil)
				if err != nil {
					b.Fatal(err)
				}
				units += stats.Fuel
				spent += threadTime(b) - before
			}
			b.ReportMetric(float64(spent)/float64(units), "ns/unit")
			b.ReportMetric(float64(units)/float64(b.N), "units/op")
		})
	}
}

// threadTime is the processor time of this thread, in nanoseconds.
func threadTime(b *testing.B) int64 {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}
