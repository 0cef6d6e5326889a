package badinput

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/plugins"
)

// builtin returns a good module to spoil.
func builtin(t *testing.T, name string) []byte {
	t.Helper()
	wasm, ok := plugins.Module(name)
	if !ok {
		t.Fatalf("there is no module of %s: run make plugins", name)
	}
	return bytes.Clone(wasm)
}

// bad are modules that nobody should run, each with what must be said of it.
var bad = []struct {
	name  string
	spoil func(t *testing.T, wasm []byte) []byte
	says  string
	hint  string
}{
	{"truncated", func(_ *testing.T, wasm []byte) []byte {
		return wasm[:len(wasm)/2]
	}, "code section: truncated", "build or copy it again"},
	{"unmarked", func(t *testing.T, wasm []byte) []byte {
		return replace(t, wasm, "\x0fwindlass_abi_v1", "\x0fwindlass_abi_v9")
	},
		"no export windlass_abi_v1", "not a Windlass plugin, or built for another ABI"},
	{"foreign", func(t *testing.T, wasm []byte) []byte {
		return replace(t, wasm, "\x08windlass\x07perform", "\x08kernel32\x07perform")
	},
		"imports kernel32.perform", "a plugin may import only windlass."},
	{
		"misspelt", func(t *testing.T, wasm []byte) []byte {
			return replace(t, wasm, `"serviceAccount":`, `"serviceAccuont":`) // in its section
		},
		"manifest: controllers[0].serviceAccuont: unknown field", "there are name, alias, queue, serviceAccount, eventSource",
	},
	{"huge", withHugeMemory, "declares 65536 pages of memory (4 GiB), no plugin may have more than 1 GiB",
		"build it smaller"},
	{"text", func(*testing.T, []byte) []byte { return []byte("kind: Deployment\n") }, "not a WebAssembly module", ""},
	{"empty", func(*testing.T, []byte) []byte { return nil }, "not a WebAssembly module", ""},
}

func replace(t *testing.T, wasm []byte, from, to string) []byte {
	t.Helper()
	if len(from) != len(to) || bytes.Count(wasm, []byte(from)) != 1 {
		t.Fatalf("the module has not one %q to replace by %q", from, to)
	}
	return bytes.Replace(wasm, []byte(from), []byte(to), 1)
}

// withHugeMemory returns the module with a memory of 4 GiB: section 5 says one memory without a maximum, of 65536
// pages.
func withHugeMemory(t *testing.T, wasm []byte) []byte {
	t.Helper()
	const header, memorySection = 8, 5
	for at := header; at < len(wasm); {
		size, n := binary.Uvarint(wasm[at+1:])
		end := at + 1 + n + int(size)
		if wasm[at] == memorySection {
			section := []byte{memorySection, 5, 1, 0}
			return append(append(wasm[:at:at], binary.AppendUvarint(section, 65536)...), wasm[end:]...)
		}
		at = end
	}
	t.Fatal("the module has no memory of its own")
	return nil
}

// badModules writes all bad modules into a folder.
func badModules(t *testing.T, folder string) {
	t.Helper()
	for _, b := range bad {
		writeFile(t, filepath.Join(folder, b.name+".wasm"), b.spoil(t, builtin(t, "serviceaccount")))
	}
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
