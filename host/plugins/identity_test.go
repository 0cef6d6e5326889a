package plugins

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
)

// builtInSource is a source of modules that are taken for built-in ones.
type builtInSource []*Plugin

func (s builtInSource) Modules() ([]*Plugin, []error) { return s, nil }

// Nothing is another plugin, or takes a built-in one's place, by what its manifest says: that takes the configuration.
func TestIdentity(t *testing.T) {
	two := func(m *abi.Manifest) {
		m.Controllers = append(m.Controllers, m.Controllers[0])
		m.Controllers[0].Name, m.Controllers[1].Name, m.Controllers[1].Alias = "one", "two", "second"
	}
	one := func(m *abi.Manifest) { m.Controllers[0].Name = "one" }
	module := func(name, version string, change ...func(*abi.Manifest)) []byte {
		change = append(change, func(m *abi.Manifest) { m.Version = version })
		return guest{manifest: manifest(t, name, change...)}.wasm()
	}

	cleaner := module("cleaner", "file", two)
	for name, c := range map[string]struct {
		files       map[string][]byte
		plugins     []config.Plugin
		controllers []string
		finds       string   // name and version, with ! where it replaces a built-in one
		says        []string // of the problem; FOLDER/ is before each file
	}{
		"a built-in plugin's name": {
			files: map[string][]byte{"cleaner.wasm": cleaner}, finds: "cleaner builtin",
			says: []string{"FOLDER/cleaner.wasm", "is built in", "plugins: [{name: cleaner, file: cleaner.wasm}]"}},
		"a built-in plugin's name, whose grant is empty": {
			files: map[string][]byte{"cleaner.wasm": cleaner}, finds: "cleaner builtin",
			plugins: []config.Plugin{{Name: "cleaner", Grant: []config.Rule{}}},
			says:    []string{"FOLDER/cleaner.wasm", "is built in"}},
		"a built-in plugin's name in another file": {
			files: map[string][]byte{"x.wasm": cleaner}, finds: "cleaner builtin",
			says: []string{"FOLDER/x.wasm", `the plugin "cleaner"`, "FOLDER/cleaner.wasm"}},
		"a built-in plugin's place": {
			files: map[string][]byte{"x.wasm": cleaner}, finds: "cleaner file!",
			plugins: []config.Plugin{{Name: "cleaner", File: "x.wasm"}}},
		"a built-in plugin's place, without a controller": {
			files: map[string][]byte{"x.wasm": module("cleaner", "file", one)}, finds: "cleaner builtin",
			plugins: []config.Plugin{{Name: "cleaner", File: "x.wasm"}}, controllers: []string{"*"},
			says: []string{"FOLDER/x.wasm", "its controller two", `"-two"`}},
		"a built-in plugin's place, without a controller that is off": {
			files: map[string][]byte{"x.wasm": module("cleaner", "file", one)}, finds: "cleaner file!",
			plugins: []config.Plugin{{Name: "cleaner", File: "x.wasm"}}, controllers: []string{"*", "-second"}},
		"another file's name": {
			files:   map[string][]byte{"a.wasm": module("b", "thief"), "b.wasm": module("b", "file")},
			plugins: []config.Plugin{{Name: "b", Grant: []config.Rule{}}}, finds: "cleaner builtin, b file",
			says: []string{"FOLDER/a.wasm", `the plugin "b"`, "FOLDER/b.wasm"}},
		"another file's name, by which that isn't configured": {
			files:   map[string][]byte{"a.wasm": module("b", "file"), "b.wasm": module("b", "thief")},
			plugins: []config.Plugin{{Name: "b", File: "a.wasm"}}, finds: "cleaner builtin, b file",
			says: []string{"FOLDER/b.wasm", "FOLDER/a.wasm", "remove one of them"}},
		"another name than its entry's": {
			files:   map[string][]byte{"a.wasm": module("a", "file")},
			plugins: []config.Plugin{{Name: "b", File: "a.wasm"}}, finds: "cleaner builtin",
			says: []string{"FOLDER/a.wasm", "plugins[b].file", `the plugin "a"`}},
		"a configured plugin's controller": {
			files:   map[string][]byte{"a.wasm": module("a", "thief", one), "b.wasm": module("b", "file", one)},
			plugins: []config.Plugin{{Name: "b"}, {Name: "cleaner", File: "none.wasm"}}, controllers: []string{"*"},
			finds: "b file", says: []string{"FOLDER/a.wasm", `controller "one"`, "FOLDER/b.wasm"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, wasm := range c.files {
				writeFile(t, filepath.Join(folder, file), wasm)
			}
			k := config.Default()
			k.Plugins = c.plugins
			if c.controllers != nil {
				k.Controllers = c.controllers
			}

			sources := []Source{Folder(folder)}
			if name != "a configured plugin's controller" { // whose name none of the built-in ones may have
				sources = slices.Insert(sources, 0, Source(builtInSource{New("cleaner", OriginBuiltin,
					module("cleaner", "builtin", two))}))
			}
			found, problems := new(Finder).Find(t.Context(), k, sources...)

			var got []string
			for _, f := range found {
				text := f.Name + " " + f.Manifest.Version
				if f.Replaces != nil {
					text += "!"
				}
				got = append(got, text)
			}
			if g := strings.Join(got, ", "); g != c.finds {
				t.Errorf("found %s, want %s", g, c.finds)
			}
			if len(problems) > 1 || (len(problems) == 1) != (c.says != nil) {
				t.Fatalf("%d problems: %v", len(problems), problems)
			}
			for _, want := range c.says {
				if !strings.Contains(problems[0].Error(), strings.ReplaceAll(want, "FOLDER", folder)) {
					t.Errorf("%q isn't in: %v", want, problems[0])
				}
			}
		})
	}
}

// What was taken from a file doesn't outlive what the configuration said of it, and a new file takes no controller from
// one that was there before.
func TestIdentityChanges(t *testing.T) {
	l := newLooks(t, t.TempDir())
	l.writeModule("x.wasm", "b", "1")
	l.config.Plugins = []config.Plugin{{Name: "b", File: "x.wasm"}}
	l.expectFound("b 1")
	l.config.Plugins = nil
	l.expectFound("", l.at("x.wasm"))
	l.config.Plugins = []config.Plugin{{Name: "b", File: "x.wasm"}}
	l.expectFound("b 1")

	l.config.Plugins = nil
	l.writeModule("b.wasm", "b", "2")
	l.expectFound("b 2", l.at("x.wasm"))
	l.writeModule("a.wasm", "a", "1", func(m *abi.Manifest) { m.Controllers[0].Name = "b-controller" })
	l.expectFound("b 2", l.at("x.wasm"), `controller "b-controller" is in plugin "b" (`+l.at("b.wasm"))
}
