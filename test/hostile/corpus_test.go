package hostile

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/sandbox"
)

// Where a module is stopped.
const (
	atLoad      = "load"
	atManifest  = "manifest"
	atConfigure = "configure"
	atSync      = "sync"
	atEffects   = "effects" // by the host's checks of an answer, or by the API server
	harmless    = "harmless"
)

// attack is one module of the corpus.
type attack struct {
	name  string
	stage string
	says  string // in the error
	// build makes what no assembler makes; about tells what. Else the module is testdata/<name>.wat.
	build  func(t testing.TB) []byte
	about  string
	change func(*abi.Controller)
	memory int64  // its limit; 0: by default
	result string // of the sync in the metrics, on a cluster
	grant  []config.Rule
	hides  string // in no line of the log about it
}

func (a *attack) moduleBytes(t testing.TB) []byte {
	if a.build != nil {
		return a.build(t)
	}
	return assemble(t, a.name, a.change)
}

func (a *attack) description(t testing.TB) string {
	if a.build != nil {
		return a.about
	}
	return moduleComment(t, a.name)
}

// corpus is what runs without a cluster.
var corpus = []attack{
	{name: "empty", stage: atLoad, says: "not a WebAssembly module", about: "Nothing at all.", build: rawModule("")},
	{name: "text", stage: atLoad, says: "not a WebAssembly module", about: "A shell script.",
		build: rawModule("#!/bin/sh\nrm -rf /\n")},
	{name: "component", stage: atLoad, says: "build a core module", about: "A component, not a core module.",
		build: rawModule("\x00asm\x0d\x00\x01\x00")},
	{name: "truncated", stage: atLoad, says: "truncated", about: "Half of a good module.",
		build: func(t testing.TB) []byte {
			b := neighbourModule(t)
			return b[:len(b)/2]
		}},
	{name: "oversized", stage: atLoad, says: "more than 8 MiB", about: "9 MiB of custom section.",
		build: func(testing.TB) []byte {
			return []byte(header + "\x00" + lengthPrefixed("\x01x"+strings.Repeat("x", 9<<20)))
		}},
	{name: "length-4gib", stage: atLoad, says: "truncated: 4294967295 bytes announced",
		about: "A section that says it has 4 GiB.", build: rawModule(header + "\x0a\xff\xff\xff\xff\x0f")},
	{name: "count-4gib", stage: atLoad, says: "truncated: 4294967295 entries announced",
		about: "A vector of 2^32 types in six bytes.", build: rawModule(header + "\x01" +
			lengthPrefixed("\xff\xff\xff\xff\x0f"))},
	{name: "locals", stage: atLoad, says: "more than 1000 locals",
		about: "2^27 locals in 29 bytes: they keep the compiler busy for 11 s and 2 GiB.", build: func(testing.TB) []byte {
			return function(1, 1<<27, "")
		}},
	{name: "tables", stage: atLoad, says: "3 tables, the limit is 1",
		about: "Three tables of 2^27 entries in 47 bytes: 3 GiB outside the memory limit.",
		build: rawModule(header + section(4, 3, strings.Repeat("\x70\x00"+encodeLEB128(1<<27), 3)))},
	{name: "nested-loops", stage: atLoad, says: "more than 32 nested loops",
		about: "400 loops in each other: they keep the compiler busy for 20 s.", build: func(testing.TB) []byte {
			return function(1, 0, strings.Repeat("\x03\x40", 400)+strings.Repeat("\x0b", 400))
		}},
	{name: "nested-blocks", stage: atLoad, says: "more than 1024 nested blocks", about: "10,000 blocks in each other.",
		build: func(testing.TB) []byte {
			return function(1, 0, strings.Repeat("\x02\x40", 10000)+strings.Repeat("\x0b", 10000))
		}},
	{name: "locals-and-blocks", stage: atLoad, says: "locals times blocks are more than 250000",
		about: "1,000 locals and 2,000 branches: 3 s and 2 GiB of compiling in 28 KB.", build: func(testing.TB) []byte {
			return function(1, 1000, strings.Repeat("\x20\x00\x04\x40\x20\x01\x21\x02\x0b", 2000))
		}},
	{name: "compiler-bomb", stage: atLoad, says: "compiling the module in a child process: it takes ",
		about: "2 MB within every limit, which would keep the compiler busy for minutes.", build: compilerBomb},
	{name: "globals", stage: atLoad, says: "globals, the limit is 10000",
		about: "A million globals, of which each instance has its own.",
		build: rawModule(header + section(6, 1_000_000, strings.Repeat("\x7f\x00\x41\x00\x0b", 1_000_000)))},
	{name: "exports", stage: atLoad, says: "exports, the limit is 10000", about: "A million exports.",
		build: rawModule(header + section(7, 1_000_000, strings.Repeat("\x01x\x03\x00", 1_000_000)))},
	{name: "elements", stage: atLoad, says: "more than 100000 elements",
		about: "Four million elements in passive segments, of which each instance has its own.",
		build: rawModule(header + section(9, 4, strings.Repeat("\x01\x00"+encodeLEB128(1_000_000)+strings.Repeat("\x00",
			1_000_000), 4)))},
	{name: "parameters", stage: atLoad, says: "parameters, the limit is 1000",
		about: "A function of a million parameters.",
		build: rawModule(header + section(1, 1, "\x60"+lengthPrefixed(strings.Repeat("\x7f", 1_000_000))+"\x00"))},
	{name: "counter", stage: atLoad, says: "module is invalid",
		about: "Sets the global that metering is going to add, its own counter: 2^62 units.",
		build: func(t testing.TB) []byte {
			return grownModule(t, 1, 0, "\x42\x80\x80\x80\x80\x80\x80\x80\x80\xc0\x00\x24\x00")
		}},
	{name: "meter-call", stage: atLoad, says: "module is invalid",
		about: "Calls the function that metering is going to add.", build: func(t testing.TB) []byte {
			return grownModule(t, 1, 0, "\x10\x07")
		}},
	{name: "stack-underflow", stage: atLoad, says: "module is invalid", about: "Takes from an empty stack.",
		build: func(t testing.TB) []byte {
			return grownModule(t, 1, 0, "\x1a\x1a\x1a")
		}},
	{name: "names", stage: harmless,
		about: "A section of function names that names each function a million times, with control characters.",
		build: func(t testing.TB) []byte {
			return append(neighbourModule(t), "\x00"+
				lengthPrefixed("\x04name\x01"+lengthPrefixed(encodeLEB128(1_000_000)+strings.Repeat("\x00\x03\x1b[2",
					1_000_000)))...)
		}},

	{name: "start-spins", stage: atLoad, says: "a start function is not allowed"},
	{name: "initialize-spins", stage: atLoad, says: "_initialize: deadline exceeded"},
	{name: "initialize-eats", stage: atLoad, says: "_initialize: out of memory"},
	{name: "memory-huge", stage: atLoad, says: "declares 65536 pages of memory (4 GiB)"},
	{name: "memory-shared", stage: atLoad, says: "shared or 64 bits wide"},
	{name: "memory-imported", stage: atLoad, says: `imports a memory "env"."memory"`},
	{name: "table-huge", stage: atLoad, says: "a table of 134217728 entries, the limit is 10000"},
	{name: "table-set", stage: atLoad, says: "table.get and table.set are not allowed"},
	{name: "import-exec", stage: atLoad, says: "imports env.exec"},
	{name: "import-socket", stage: atLoad, says: "imports wasi_snapshot_preview1.sock_accept"},
	{name: "import-refill", stage: atLoad, says: "imports windlass.meter.refill"},
	{name: "import-type", stage: atLoad, says: "imports windlass.perform with type (i64)"},
	{name: "export-fuel", stage: atLoad, says: `names that begin with "windlass." are reserved for the host`},
	{name: "simd", stage: atLoad, says: "value type 0x7b is not allowed"},
	{name: "data-outside", stage: atLoad, says: "a data segment ends at 65540"},
	{name: "marker-missing", stage: atLoad, says: "no export windlass_abi_v1"},
	{name: "sync-type", stage: atLoad, says: "export windlass_sync is (i64)->i64"},

	{name: "alloc-outside", stage: atManifest,
		says: "windlass_manifest: malformed answer: windlass_alloc(0) returned 4294967295"},
	{name: "alloc-spins", stage: atManifest, says: "windlass_manifest: deadline exceeded"},
	{name: "manifest-spins", stage: atManifest, says: "windlass_manifest: deadline exceeded"},
	{name: "manifest-outside", stage: atManifest, says: "is not inside its memory of 65536 bytes"},
	{name: "manifest-oversized", stage: atManifest, says: "manifest: 2097152 bytes, the limit is 1048576"},
	{name: "manifest-deep", stage: atManifest, says: "nested deeper than 100"},
	{name: "manifest-garbage", stage: atManifest, says: "manifest: invalid character"},
	{name: "manifest-workers", stage: atManifest, says: "workers: 2000000000, must be from 0 to 1000"},
	{name: "manifest-address", stage: atManifest,
		says: `views[0].resource.version: "v1/../../../api/v1" can't name an API version`},
	{name: "manifest-outside-folder", stage: atManifest,
		says: `controllers[0].name: "../../outside/evil" can't name a controller`},
	{name: "manifest-series", stage: atManifest, says: "more than 10000 series"},
	{name: "manifest-buckets", stage: atManifest, says: "is not more than the one before it"},
	{name: "manifest-memory", stage: atManifest, says: "memory: 1000000000000000 bytes"},
	{name: "manifest-changes", stage: harmless},

	{name: "configure-spins", stage: atConfigure, says: "windlass_configure: deadline exceeded"},
	{name: "configure-shouts", stage: atConfigure, says: "refuses its settings: AAAA"},
	{name: "configure-performs", stage: atConfigure, says: "windlass.perform is allowed only inside windlass_sync"},

	{name: "loop", stage: atSync, says: "deadline exceeded"},
	{name: "loop-nothing", stage: atSync, says: "deadline exceeded"},
	{name: "straight-calls", stage: atSync, says: "deadline exceeded",
		about: "120 million divisions without a loop: 20,000 calls in a row of a function that calls nothing.",
		build: straightCalls("straight-calls", "windlass_sync", "0")},
	{name: "straight-calls-manifest", stage: atManifest, says: "deadline exceeded",
		about: "The same when it is asked for its manifest.",
		build: straightCalls("straight-calls-manifest", "windlass_manifest", manifestMark)},
	{name: "call-tree", stage: atSync, says: "deadline exceeded"},
	{name: "recursion", stage: atSync, says: "calls nested deeper than 1000"},
	{name: "recursion-indirect", stage: atSync, says: "calls nested deeper than 1000"},
	{name: "recursion-wide", stage: atSync, says: "calls nested deeper than 1000"},
	{name: "sync-calls-sync", stage: atManifest, says: "calls nested deeper than 1000"},
	{name: "memory-bomb", stage: atSync, says: "out of memory: the module asked for more memory than its limit of 64 MiB"},
	{name: "memory-grow-max", stage: atSync, says: "deadline exceeded"},
	{name: "fill-forever", stage: atSync, says: "deadline exceeded"},
	{name: "copy-overlapping", stage: atSync, says: "deadline exceeded"},
	{name: "fill-gigabyte", stage: atSync, says: "deadline exceeded", memory: sandbox.MaxMemoryLimit},
	{name: "fill-outside", stage: atSync, says: "trap: out of bounds memory access"},
	{name: "load-outside", stage: atSync, says: "trap: out of bounds memory access"},
	{name: "unreachable", stage: atSync, says: "trap: unreachable"},
	{name: "divide-by-zero", stage: atSync, says: "trap: integer divide by zero"},
	{name: "call-null", stage: atSync, says: "trap: invalid table access"},
	{name: "call-wrong-type", stage: atSync, says: "trap: indirect call type mismatch"},
	{name: "exit", stage: atSync, says: "trap: exited with code 0"},
	{name: "random-outside", stage: atSync, says: "wasi random: 4294967295 bytes at 0"},
	{name: "write-outside", stage: atSync, says: "wasi write: 4294967295 bytes"},
	{name: "answer-outside", stage: atSync, says: "answer of 16 bytes at 65536 is not inside its memory"},
	{name: "answer-4gib", stage: atSync, says: "answer of 4294967295 bytes, the limit is 67108864"},
	{name: "answer-huge", stage: atSync, says: "answer of 2147483648 bytes, the limit is 67108864"},
	{name: "answer-garbage", stage: atSync, says: "malformed answer of 4096 bytes"},
	{name: "answer-truncated", stage: atSync, says: "malformed answer of 6 bytes: wire: the message is cut short"},
	{name: "answer-deep", stage: atSync, says: "wire: nested too deeply"},
	{name: "answer-wide", stage: atSync, says: "wire: needs too much memory for its size"},
	{name: "answer-metrics", stage: atSync, says: "wire: needs too much memory for its size"},
	{name: "perform-outside", stage: atSync, says: "windlass.perform: 65536 bytes at 65535 are not inside"},
	{name: "perform-4gib", stage: atSync, says: "windlass.perform: 4294967295 bytes at 4294967295 are not inside"},
	{name: "perform-garbage", stage: atSync, says: "perform failed: wire: "},
	{name: "perform-forever", stage: atSync, says: "perform failed: more than 10000 performs in one sync"},
	{name: "zone-forever", stage: atSync, says: "perform failed: more than 10000 performs in one sync"},
	{name: "perform-hangs", stage: atSync, says: "performs of one sync took longer than 300ms"},
	{name: "outcome-unasked", stage: atSync, says: "windlass.outcome without a perform"},
	{name: "outcome-outside", stage: atSync, says: "windlass.outcome: 4 bytes at 65535 are not inside"},
	{name: "outcome-twice", stage: atSync, says: "windlass.outcome without a perform"},
	{name: "helper-4gib", stage: atSync, says: "windlass.json_form: 4294967280 bytes at 16 are not inside"},
	{name: "helper-forever", stage: atSync, says: "fuel exhausted"},
	{name: "x509-oversized", stage: atSync, says: "fuel exhausted"},
	{name: "x509-forever", stage: atSync, says: "deadline exceeded"},
	{name: "log-outside", stage: atSync, says: "windlass.log: 4294967295 bytes at 1 are not inside"},
	{name: "log-million", stage: harmless},
	{name: "state-in-globals", stage: harmless},
	{name: "state-behind", stage: harmless},
	{name: "memory-grows", stage: harmless},
}

func rawModule(b string) func(testing.TB) []byte { return func(testing.TB) []byte { return []byte(b) } }

// grownModule returns a good plugin with n functions more, of the locals and the body.
func grownModule(t testing.TB, n, locals int, body string) []byte {
	t.Helper()
	declared := "\x00"
	if locals > 0 {
		declared = "\x01" + encodeLEB128(locals) + "\x7f"
	}
	wasm := neighbourModule(t)
	out := []byte(header)
	void := 0 // the type of a function that takes and gives nothing, added behind the others
	for at := len(header); at < len(wasm); {
		size, m := binary.Uvarint(wasm[at+1:])
		id, content := wasm[at], string(wasm[at+1+m:at+1+m+int(size)])
		at += 1 + m + int(size)
		switch count := int(content[0]); id {
		case 1:
			void = count
			content = encodeLEB128(count+1) + content[1:] + "\x60\x00\x00"
		case 3:
			content = encodeLEB128(count+n) + content[1:] + strings.Repeat(encodeLEB128(void), n)
		case 10:
			content = encodeLEB128(count+n) + content[1:] + strings.Repeat(lengthPrefixed(declared+body+"\x0b"), n)
		}
		out = append(out, string(id)+lengthPrefixed(content)...)
	}
	return out
}

// compilerBomb has functions of a thousand locals that are all set inside of 32 loops in each other, seven times.
func compilerBomb(t testing.TB) []byte {
	var sets strings.Builder
	for i := range 1000 {
		sets.WriteString("\x20" + encodeLEB128((i+1)%1000) + "\x21" + encodeLEB128(i))
	}
	loops := strings.Repeat("\x03\x40\x20\x00\x0d\x00", 32) + sets.String() + strings.Repeat("\x20\x00\x0d\x00\x0b", 32)
	return grownModule(t, 50, 1000, strings.Repeat(loops, 7))
}
