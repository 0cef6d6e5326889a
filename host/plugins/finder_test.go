package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
)

// looks are a Finder's answers about a folder that changes.
type looks struct {
	*testing.T
	Finder
	dir    string
	config *config.Configuration
}

func newLooks(t *testing.T, dir string) *looks {
	return &looks{T: t, dir: dir, config: config.Default()}
}

func (l *looks) at(name string) string { return filepath.Join(l.dir, name) }

// writeModule writes a module of a plugin in that version.
func (l *looks) writeModule(file, name, version string, change ...func(*abi.Manifest)) (wasm []byte) {
	l.Helper()
	change = append(change, func(m *abi.Manifest) { m.Version = version })
	wasm = guest{manifest: manifest(l.T, name, change...)}.wasm()
	writeFile(l.T, l.at(file), wasm)
	return wasm
}

// expectFound looks, and expects plugins as "name version", with an ! where what was there before stands in for a
// broken file, and problems with these texts.
func (l *looks) expectFound(want string, problems ...string) []Found {
	l.Helper()
	all, errs := l.Find(l.Context(), l.config, Folder(l.dir))
	var got []string
	for _, f := range all {
		text := f.Name + " " + f.Manifest.Version
		if f.Broken != nil {
			text += "!"
			if !strings.Contains(f.Broken.Error(), f.Origin) && !strings.Contains(f.Broken.Error(), l.dir) {
				l.Errorf("what is wrong with %s doesn't name it: %v", f, f.Broken)
			}
		}
		got = append(got, text)
	}
	if g := strings.Join(got, ", "); g != want {
		l.Errorf("found %s, want %s", g, want)
	}
	expectErrors(l.T, errs, problems...)
	return all
}

// Whatever is wrong with a file, what was there before stands in for it, until the file is whole again, or gone.
func TestFinderStandsIn(t *testing.T) {
	l := newLooks(t, t.TempDir())
	whole := l.writeModule("a.wasm", "a", "1")
	l.writeModule("b.wasm", "b", "1")
	first := l.expectFound("a 1, b 1")
	next := guest{manifest: manifest(t, "a", func(m *abi.Manifest) { m.Version = "2" })}.wasm()
	for cut := 0; cut < len(next); cut += 50 { // as it is while it is being copied
		writeFile(t, l.at("a.wasm"), next[:cut])
		l.expectFound("b 1, a 1!")
	}
	writeFile(t, l.at("a.wasm"), next)
	l.expectFound("a 2, b 1")

	for what, c := range map[string]struct {
		spoil func()
		finds string
	}{
		"an unknown member": {func() {
			writeFile(t, l.at("a.wasm"), guest{manifest: `{"name":"a","verion":"3"}`}.wasm())
		}, "b 1, a 2!"},
		"a view that can't be compiled": {func() {
			l.writeModule("a.wasm", "a", "3", func(m *abi.Manifest) { m.Controllers[0].Views[0].Resource.Name = "pod" })
		}, "b 1, a 2!"},
		"a right to a verb that there isn't": {func() {
			l.writeModule("a.wasm", "a", "3", func(m *abi.Manifest) {
				m.Controllers[0].Writes = []abi.Write{{Resource: m.Controllers[0].Views[0].Resource, Verbs: []string{"remove"}}}
			})
		}, "b 1, a 2!"},
		"a right to a resource that there isn't": {func() {
			l.writeModule("a.wasm", "a", "3", func(m *abi.Manifest) {
				m.Controllers[0].Writes = []abi.Write{{Resource: abi.Resource{Version: "v1", Name: "configmap"},
					Verbs: []string{"create"}}}
			})
		}, "b 1, a 2!"},
		"another plugin's name, though its own file is earlier": {func() { l.writeModule("b.wasm", "a", "3") }, "a 2, b 1!"},
		"another plugin's controller": {func() {
			l.writeModule("b.wasm", "x", "3", func(m *abi.Manifest) { m.Controllers[0].Name = "a-controller" })
		}, "a 2, b 1!"},
	} {
		t.Log(what)
		c.spoil()
		l.expectFound(c.finds)
		writeFile(t, l.at("a.wasm"), next)
		l.writeModule("b.wasm", "b", "1")
		l.expectFound("a 2, b 1")
	}

	t.Log("a file that is as it was again has the very module that was taken from it")
	writeFile(t, l.at("a.wasm"), whole)
	l.expectFound("a 1, b 1")
	writeFile(t, l.at("a.wasm"), nil)
	kept := l.expectFound("b 1, a 1!")[1]
	writeFile(t, l.at("a.wasm"), whole)
	if again := l.expectFound("a 1, b 1")[0]; again.Plugin != kept.Plugin || again.Plugin == first[0].Plugin {
		t.Error("its bytes are kept twice")
	}

	t.Log("what has moved to another file isn't looked for in the broken one")
	writeFile(t, l.at("c.wasm"), whole)
	writeFile(t, l.at("a.wasm"), nil)
	l.config.Plugins = []config.Plugin{{Name: "a", File: "c.wasm"}}
	l.expectFound("a 1, b 1", l.at("a.wasm"))

	t.Log("a file that is removed leaves nothing")
	writeFile(t, l.at("b.wasm"), nil)
	l.expectFound("a 1, b 1!", l.at("a.wasm"))
	if err := os.Remove(l.at("b.wasm")); err != nil {
		t.Fatal(err)
	}
	l.expectFound("a 1", l.at("a.wasm"))
	writeFile(t, l.at("b.wasm"), nil)
	l.expectFound("a 1", l.at("a.wasm"), l.at("b.wasm"))
}

// Of a folder that can't be listed all plugins stay.
func TestFinderKeepsAFolder(t *testing.T) {
	l := newLooks(t, filepath.Join(t.TempDir(), "plugins"))
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.writeModule("a.wasm", "a", "1")
	l.writeModule("b.wasm", "b", "1")
	l.expectFound("a 1, b 1")
	if err := os.Rename(l.dir, l.dir+"-away"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, f := range l.expectFound("a 1!, b 1!") {
			if want := fmt.Sprintf("plugin folder: open %s: no such file or directory", l.dir); f.Broken.Error() != want {
				t.Errorf("got %v, want %s", f.Broken, want)
			}
		}
	}
	if err := os.Rename(l.dir+"-away", l.dir); err != nil {
		t.Fatal(err)
	}
	l.expectFound("a 1, b 1")
}
