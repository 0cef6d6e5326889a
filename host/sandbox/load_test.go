package sandbox

import (
	"context"
	"strings"
	"testing"

	asm "github.com/windlass-dev/windlass/host/sandbox/internal/assemble"
)

// pluginModule returns a module that is a plugin, without imports; change alters it before its functions are added. Its
// sync answers nothing.
func pluginModule(change ...func(*asm.Module)) []byte {
	m := new(asm.Module)
	for _, c := range change {
		c(m)
	}
	addExports(m, 1, asm.Const64(0))
	return m.Bytes()
}

// addExports adds what every plugin exports.
func addExports(m *asm.Module, pages uint32, sync []byte) {
	m.Memory(pages)
	m.Func("windlass_abi_v1", "", "", "")
	m.Func("windlass_alloc", asm.I32, asm.I32, "", asm.Const(1024)...)
	m.Func("windlass_manifest", "", asm.I64, "", asm.Const64(0)...)
	m.Func("windlass_configure", "", asm.I64, "", asm.Const64(0)...)
	m.Func("windlass_sync", "", asm.I64, "", sync...)
}

func TestBadModules(t *testing.T) {
	good := pluginModule()
	if m, err := Load(context.Background(), good, Options{Name: "good"}); err != nil {
		t.Fatalf("the good module: %v", err)
	} else if err := m.Close(context.Background()); err != nil {
		t.Fatal(err)
	}

	with := func(change func(*asm.Module)) []byte { return pluginModule(change) }
	body := func(code ...byte) []byte {
		return with(func(m *asm.Module) { m.Func("", "", "", "", code...) })
	}
	without := func(name string) []byte {
		return []byte(strings.Replace(string(good), name, strings.ToUpper(name), 1))
	}

	many := func(n int, b ...byte) []byte { return []byte(strings.Repeat(string(b), n)) }
	for _, test := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"empty", nil, `not a WebAssembly module: the file is empty`},
		{"not wasm", []byte("#!/bin/sh"), "not a WebAssembly module"},
		{"only the magic number", good[:4], "truncated: 4 bytes"},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), "build a core module"},
		{"truncated", good[:len(good)-7], "code section: truncated: "},
		{"truncated in a header", good[:9], "the file is incomplete, build or copy it again"},
		{"damaged", append(good[:len(good):len(good)], 77), "section 77 is unknown"},
		{"sections twice", append(good[:len(good):len(good)], 1, 1, 0), "type section comes after the code section"},
		{"no marker", without("windlass_abi_v1"),
			"no export windlass_abi_v1: not a Windlass plugin, or built for another ABI"},
		{"no memory", without("memory"), `no memory exported as "memory"`},
		{"no sync", without("windlass_sync"), "no function windlass_sync()->i64 exported"},
		{"no alloc", without("windlass_alloc"), "no function windlass_alloc(i32)->i32 exported"},
		{"no configure", without("windlass_configure"), "no function windlass_configure()->i64 exported"},
		{"no manifest", without("windlass_manifest"), "no function windlass_manifest()->i64 exported"},
		{"wrong type", with(func(m *asm.Module) {
			m.Func("_initialize", asm.I32, "", "")
		}), "export _initialize is (i32), must be ()"},
		{"foreign import", with(func(m *asm.Module) {
			m.Import("env", "sleep", asm.I32, "")
		}), "imports env.sleep: a plugin may import only windlass.{log, outcome, perform}"},
		{"foreign WASI import", with(func(m *asm.Module) {
			m.Import("wasi_snapshot_preview1", "sock_accept", asm.I32+asm.I32+asm.I32, asm.I32)
		}), "imports wasi_snapshot_preview1.sock_accept"},
		{"the meter's import", with(func(m *asm.Module) {
			m.Import("windlass.meter", "refill", "", "")
		}), "imports windlass.meter.refill"},
		{"import of the wrong type", with(func(m *asm.Module) {
			m.Import("windlass", "perform", asm.I32, asm.I32)
		}), "imports windlass.perform with type (i32)->i32, but its type is (i32,i32)->i32"},
		{"imported memory", with(func(m *asm.Module) {
			m.Add(2, asm.Join(asm.Name("env"), asm.Name("memory"), []byte{2, 0, 1})...)
		}), `imports a memory "env"."memory"`},
		{"4 GiB of memory", strictMemory(65536),
			"declares 65536 pages of memory (4 GiB), no plugin may have more than 1 GiB: build it smaller"},
		{"shared memory", []byte(strings.Replace(string(good), "\x05\x03\x01\x00\x01", "\x05\x04\x01\x03\x01\x01", 1)),
			"shared or 64 bits wide"},
		{"two memories", with(func(m *asm.Module) { m.Add(5, 0, 1) }), "2 memories, the limit is 1"},
		{"start function", with(func(m *asm.Module) {
			m.Add(8, asm.U(m.Func("", "", "", ""))...)
		}), "export it as _initialize"},
		{"reserved export", with(func(m *asm.Module) {
			m.Export("windlass.fuel", 3, m.Global(1))
		}), `names that begin with "windlass." are reserved for the host`},
		{"two tables", with(func(m *asm.Module) { m.Add(4, 0x70, 0, 1); m.Add(4, 0x70, 0, 1) }), "2 tables, the limit is 1"},
		{"large table", with(func(m *asm.Module) {
			m.Add(4, asm.Join([]byte{0x70, 0}, asm.U(10_001))...)
		}), "a table of 10001 entries, the limit is 10000"},
		{"many locals", with(func(m *asm.Module) {
			m.Add(3, asm.U(m.Type("", ""))...)
			b := asm.Join([]byte{1}, asm.U(1<<27), []byte{0x7f, 0x0b})
			m.Add(10, asm.Join(asm.U(uint32(len(b))), b)...)
		}), "more than 1000 locals"},
		{"nested loops", body(asm.Join(many(33, 3, 0x40), many(33, 0x0b))...), "more than 32 nested loops"},
		{"nested blocks", body(asm.Join(many(1025, 2, 0x40), many(1025, 0x0b))...), "more than 1024 nested blocks"},
		{"locals times blocks", with(func(m *asm.Module) {
			m.Func("", "", "", strings.Repeat(asm.I32, 900), many(300, 2, 0x40, 0x0b)...)
		}), "locals times blocks are more than 250000"},
		{"large body", body(many(1<<16, 1)...), "the limit is 65536: split the function"},
		{"large module", append(good[:len(good):len(good)], make([]byte, 8<<20)...),
			"the limit is 8388608: build it smaller"},
		{"SIMD", body(0xfd, 0x0c), "instruction 0xfd is not allowed"},
		{"threads", body(0xfe, 0x03, 0), "instruction 0xfe is not allowed"},
		{"tail call", body(0x12, 0), "instruction 0x12 is not allowed"},
		{"table.set", body(0x26, 0), "table.get and table.set are not allowed"},
		{"memory.init", body(asm.Join(asm.Const(0), asm.Const(0), asm.Const(0), []byte{0xfc, 8, 0, 0})...),
			"0xfc 8 (memory.init"},
		{"elem.drop", body(0xfc, 13, 0), "0xfc 13"},
		{"type error", body(asm.Join(asm.Const64(1), []byte{0x45, 0x1a})...), "module is invalid: "},
		// The global that rewriting adds first: valid in the rewritten module, not in the delivered one.
		{"reaches for the counter", body(asm.Join(asm.Const64(1<<40), []byte{0x24, 0})...), "module is invalid: "},
		// The function that rewriting adds: an import behind the module's own.
		{"calls what is added", body(asm.Call(7)...), "module is invalid: "},
		{"data outside the memory", with(func(m *asm.Module) {
			m.Data(65530, "0123456789")
		}), "a data segment ends at 65540, outside the memory of 1 pages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := Load(context.Background(), test.wasm, Options{Name: "bad"})
			if err == nil {
				m.Close(context.Background())
				t.Fatalf("loaded; want %q", test.want)
			}
			if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), `plugin "bad": `) {
				t.Fatalf("got %v; want %q", err, test.want)
			}
		})
	}
}

func strictMemory(pages uint32) []byte {
	m := new(asm.Module)
	addExports(m, 1, asm.Const64(0))
	return []byte(strings.Replace(string(m.Bytes()), "\x05\x03\x01\x00\x01",
		string(asm.Join([]byte{5, 5, 1, 0}, asm.U(pages))), 1))
}

// TestHostileHandMade has what compilers don't make: each sync is code of its own.
func TestHostileHandMade(t *testing.T) {
	fill := // asks for 100 pages more and fills all its memory, over and over
		asm.Join(asm.Const(100), []byte{0x40, 0, 0x1a, 3, 0x40}, asm.Const(0), asm.Const(7), asm.Const(101<<16),
			[]byte{0xfc, 11, 0, 0x0c, 0, 0x0b}, asm.Const64(0))
	performAt := func(at, length int32) func(*asm.Module) []byte {
		return func(m *asm.Module) []byte {
			return asm.Join(asm.Const(at), asm.Const(length),
				asm.Call(m.Import("windlass", "perform", asm.I32+asm.I32, asm.I32)), []byte{0x1a}, asm.Const64(0))
		}
	}

	code := func(b []byte) func(*asm.Module) []byte { return func(*asm.Module) []byte { return b } }
	for _, test := range []struct {
		name string
		sync func(*asm.Module) []byte
		kind error
		text string
	}{
		{"bulk for ever", code(fill), ErrBudget, ""},
		{"unreachable", code([]byte{0}), ErrTrap, "unreachable"},
		{"load outside", code(asm.Join(asm.Const(-1), []byte{0x28, 2, 0, 0x1a}, asm.Const64(0))), ErrTrap,
			"out of bounds memory access"},
		{"division by zero", code(asm.Join(asm.Const(1), asm.Const(0), []byte{0x6d, 0x1a}, asm.Const64(0))), ErrTrap,
			"integer divide by zero"},
		{"perform of bytes outside", performAt(0, 65537), ErrTrap,
			"windlass.perform: 65537 bytes at 0 are not inside the guest's memory of 65536 bytes"},
		{"perform of bytes that wrap", performAt(-1, -1), ErrTrap, "windlass.perform: 4294967295 bytes at 4294967295"},
		{"outcome of nothing", func(m *asm.Module) []byte {
			return asm.Join(asm.Const(0), asm.Call(m.Import("windlass", "outcome", asm.I32, "")), asm.Const64(0))
		}, ErrTrap, "windlass.outcome without a perform"},
		{"outcome outside", func(m *asm.Module) []byte {
			return asm.Join(asm.Const(0), asm.Const(4), asm.Call(m.Import("windlass", "perform", asm.I32+asm.I32, asm.I32)),
				[]byte{0x1a}, asm.Const(65530), asm.Call(m.Import("windlass", "outcome", asm.I32, "")), asm.Const64(0))
		}, ErrTrap, "windlass.outcome: 8 bytes at 65530"},
		{"answer that wraps", code(asm.Const64(-1)), ErrMalformed, "answer of 4294967295 bytes"},
		{"answer behind what it asked for", code(asm.Const64(65536<<32 | 1)), ErrMalformed,
			"answer of 1 bytes at 65536 is not inside its memory of 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := new(asm.Module)
			addExports(a, 1, test.sync(a))
			m := loadModule(t, a.Bytes(), Options{Budget: 1_000_000_000, MemoryLimit: 16 << 20})
			_, _, err := syncOnce(m, []byte("message!"))
			if test.kind == ErrBudget { // 1 GiB a second or more is filled: seconds at the very most
				if err == nil || !strings.Contains(err.Error(), "units used up") {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.kind.Error()+": "+test.text) {
				t.Fatalf("got %v, want %v: %s", err, test.kind, test.text)
			}
		})
	}
}
