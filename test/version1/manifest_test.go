package version1

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/test/module"
)

// withManifest is a plugin that has a manifest of at most 32 KiB, and does nothing.
const withManifest = `(module
  (memory (export "memory") 1)
  (func (export "windlass_abi_v1"))
  (func (export "windlass_alloc") (param i32) (result i32) (i32.const 32768))
  (data (i32.const 16) "%s")
  (func (export "windlass_manifest") (result i64) (i64.const 0x00000010%08x))
  (func (export "windlass_configure") (result i64) (i64.const 0))
  (func (export "windlass_sync") (result i64) (i64.const 0)))`

// The manifests that abi keeps are loaded, with and without a copy as the module's section; a copy that differs isn't.
func TestManifests(t *testing.T) {
	files, err := filepath.Glob("../../abi/testdata/v1/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 2 {
		t.Errorf("abi keeps the manifests %v?", files)
	}

	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			manifest, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := abi.DecodeManifest(manifest)
			if err != nil {
				t.Fatal(err)
			}
			wasm := module.Assemble(t, fmt.Sprintf(withManifest, module.Escape(manifest), len(manifest)))

			for _, built := range [][]byte{wasm, slices.Concat(wasm, manifestSection(manifest))} {
				found, problems := findPlugins(t, map[string][]byte{want.Name: built})
				if len(found) != 1 || len(problems) > 0 {
					t.Fatalf("found %v; %v", found, errors.Join(problems...))
				}
				m, err := guest.Load(t.Context(), found[0].Plugin, sandbox.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, m.Manifest()); d != "" {
					t.Errorf("the plugin has another manifest (-want +got):\n%s", d)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}

			other := manifestSection([]byte(strings.Replace(string(manifest), "1", "7", 1)))
			found, problems := findPlugins(t, map[string][]byte{want.Name: slices.Concat(wasm, other)})
			if len(found) != 1 || len(problems) > 0 { // nothing runs where there is a section
				t.Fatalf("found %v; %v", found, errors.Join(problems...))
			}
			_, err = guest.Load(t.Context(), found[0].Plugin, sandbox.Options{})
			const says = "section windlass.manifest differs from the manifest that the module returns: build the plugin again"
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want %s", err, says)
			}
		})
	}
}

// manifestSection returns the custom section of a module that has its manifest.
func manifestSection(manifest []byte) []byte {
	content := append([]byte("\x11windlass.manifest"), manifest...)
	return append(wire.AppendVarint([]byte{0}, uint64(len(content))), content...)
}
