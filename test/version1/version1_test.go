// Package version1 runs modules that were written against version 1 of the ABI. They are kept as they are, in
// testdata/*.wat, and so is what they do, in testdata/*.yaml; the bytes of messages are in abi/testdata/v1.
package version1

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/test/module"
)

var add = flag.Bool("add", false, "write what the cases of testdata that don't say it yet want")

// names are those of the modules.
var names = []string{"create", "perform", "state"}

// moduleText returns a module's text.
func moduleText(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".wat"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// findPlugins puts modules into a folder and looks for plugins there, as the host does.
func findPlugins(t testing.TB, modules map[string][]byte) ([]plugins.Found, []error) {
	t.Helper()
	return plugins.Find(t.Context(), config.Default(), plugins.Folder(moduleFolder(t, modules)))
}

func moduleFolder(t testing.TB, modules map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, wasm := range modules {
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// loadModule loads a module as the host does.
func loadModule(t testing.TB, name string, wasm []byte) *guest.Module {
	t.Helper()
	found, problems := findPlugins(t, map[string][]byte{"version1-" + name: wasm})
	if len(found) != 1 || len(problems) > 0 {
		t.Fatalf("found %v; %v", found, errors.Join(problems...))
	}

	m, err := guest.Load(t.Context(), found[0].Plugin, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Each module is loaded, and does in each case what it did when it was written.
func TestModules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.wat")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(names) {
		t.Errorf("%v are not the modules %v", files, names)
	}

	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			m := loadModule(t, name, module.Assemble(t, moduleText(t, name)))
			for _, c := range readCases(t, name) {
				t.Run(c.Name, func(t *testing.T) {
					if c.Want == nil && *add {
						updateCase(t, m, c)
						return
					}
					for _, cut := range []bool{true, false} {
						compare(t, m, c, cut)
					}
				})
			}
		})
	}
}

// readCases returns a module's cases.
func readCases(t *testing.T, name string) []*golden.Case {
	t.Helper()
	all, err := golden.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// updateCase writes down what a case wants.
func updateCase(t *testing.T, m *guest.Module, c *golden.Case) {
	t.Helper()
	out, _, err := c.Run(m, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Update(out); err != nil {
		t.Fatal(err)
	}
}

// compare runs a case, on objects that are cut to the declared fields or on whole ones.
func compare(t *testing.T, m *guest.Module, c *golden.Case, cut bool) {
	t.Helper()
	want, err := c.Wanted()
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := c.Run(m, cut)
	if err != nil {
		t.Fatal(err)
	}
	holds, err := c.Holds(got) // the cases are in the form of then
	if err != nil {
		t.Fatal(err)
	}
	if !holds {
		t.Errorf("it does something else now, with objects cut to the declared fields: %v (-want +got):\n%s", cut,
			cmp.Diff(want, got))
	}
}

// The module state counts on from what it has kept, at each time that it has asked for, until it asks no more.
func TestStateIsHandedOn(t *testing.T) {
	m := loadModule(t, "state", module.Assemble(t, moduleText(t, "state")))
	c := *readCases(t, "state")[0]
	var states, done []string
	for {
		out, err := c.Output(m)
		if err != nil {
			t.Fatal(err)
		}

		states = append(states, out.State)
		for _, e := range out.Effects {
			done = append(done, e.Do)
		}
		if out.RequeueAfter == "" || len(states) > 3 {
			break
		}

		after, err := time.ParseDuration(out.RequeueAfter)
		if err != nil {
			t.Fatal(err)
		}
		c.State, c.Now = out.State, c.Now.Add(after)
	}

	wanted := []string{"create v1/configmaps shop/counted"}
	if !slices.Equal(states, []string{"1", "2", "3"}) || !slices.Equal(done, wanted) {
		t.Errorf("kept %q, and did %q", states, done)
	}

	last := sync(t, m, abi.AppendRequest(nil, &abi.SyncRequest{State: []byte("3")}))
	var a abi.SyncResponse
	if err := abi.DecodeResponse(last, &a); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(abi.SyncResponse{KeepState: true}, a); d != "" {
		t.Errorf("it has counted to three (-want +got):\n%s", d)
	}
}

// sync calls a module that performs nothing, and returns its answer.
func sync(t *testing.T, m *guest.Module, request []byte) []byte {
	t.Helper()
	answer, _, err := m.Sync(request, func([]byte) ([]byte, error) { return nil, errors.New("it performs something") })
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A module that was built before a field was added doesn't notice it: fields that nobody knows yet, in the request, its
// key or its views, change nothing of its answer.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	later := wire.AppendUint(wire.AppendString(nil, 1000, "later"), 1001, 300)
	key := wire.AppendString(append(wire.AppendString(nil, 1001, "later"), later...), 3, "shop")
	plain := abi.AppendRequest(nil, &abi.SyncRequest{Key: abi.KeyRef{Name: "shop"}, Views: make([]abi.ViewData, 2)})
	extended := append(slices.Clone(later), wire.AppendBytes(nil, 2, key)...)
	for range 2 {
		extended = append(extended, wire.AppendBytes(nil, 7, later)...)
	}

	m := loadModule(t, "create", module.Assemble(t, moduleText(t, "create")))
	before, now := sync(t, m, plain), sync(t, m, extended)
	if len(before) == 0 || !bytes.Equal(before, now) {
		t.Errorf("the answer is %x; with unknown fields it is %x", before, now)
	}
}

// What a module of another version, or one that needs what came later, is told by a host of version 1. Whatever else a
// module of version 1 exports besides: it is one.
func TestOtherVersions(t *testing.T) {
	const (
		marker   = `(func (export "windlass_abi_v1"))`
		manifest = `\22version\22: \221.0.0\22`
	)
	for name, x := range map[string]struct{ old, replacement, says string }{
		"of-version-2": {
			marker, `(func (export "windlass_abi_v2"))`,
			"no export windlass_abi_v1: not a Windlass plugin, or built for another ABI",
		},
		"of-both": {marker, marker + ` (func (export "windlass_abi_v2")) (func (export "windlass_sync_v2"))`, ""},
		"later-import": {
			`(memory (export`, `(import "windlass" "later" (func (param i32 i32) (result i32))) (memory (export`,
			"imports windlass.later: a plugin may import only windlass.{",
		},
		"later-type": {
			`(memory (export`, `(import "windlass" "perform" (func (param i64) (result i64))) (memory (export`,
			"imports windlass.perform with type (i64)->i64, but its type is (i32,i32)->i32: build the plugin against this ABI",
		},
		"later-member": {
			manifest, strings.ReplaceAll(manifest, `version`, `laterer`),
			"manifest: laterer: unknown field: there are name, version, description,",
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := moduleText(t, "create")
			if strings.Count(source, x.old) != 1 {
				t.Fatalf("create.wat has not one %q", x.old)
			}
			wasm := module.Assemble(t, strings.Replace(source, x.old, x.replacement, 1))

			found, problems := findPlugins(t, map[string][]byte{"version1-create": wasm})
			switch {
			case x.says == "":
				if len(found) != 1 || len(problems) > 0 {
					t.Fatalf("found %v; %v", found, errors.Join(problems...))
				}
				compare(t, loadModule(t, "create", wasm), readCases(t, "create")[0], true)
			case len(found) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), x.says):
				t.Errorf("found %v; got %v, want %s", found, errors.Join(problems...), x.says)
			}
		})
	}
}
