package plugins

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// expectErrors checks that each of the errors holds its text, and that there are no others.
func expectErrors(t *testing.T, errs []error, want ...string) {
	t.Helper()
	if len(errs) != len(want) {
		t.Errorf("got %d errors, want %d: %v", len(errs), len(want), errs)
		return
	}
	for i, w := range want {
		if !strings.Contains(errs[i].Error(), w) {
			t.Errorf("got  %v\nwant %s", errs[i], w)
		}
	}
}

func TestFindLeavesOutWhatIsBad(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	good := guest{manifest: manifest(t, "good")}.wasm()
	writeFile(t, at("a-text.wasm"), []byte("hello"))
	writeFile(t, at("b-import.wasm"), guest{manifest: manifest(t, "imports"),
		imports: [][2]string{{"env", "sleep"}}}.wasm())
	writeFile(t, at("c-manifest.wasm"), guest{manifest: `{"name":"x","verion":"1"}`}.wasm())
	writeFile(t, at("good.wasm"), good)
	writeFile(t, at("e-again.wasm"), good)
	writeFile(t, at("twice.wasm"), guest{manifest: manifest(t, "twice", func(m *abi.Manifest) {
		m.Settings = []abi.Setting{{Name: "a"}, {Name: "a"}}
	})}.wasm())
	writeFile(t, at("stolen.wasm"), guest{manifest: manifest(t, "stolen", func(m *abi.Manifest) {
		m.Controllers[0].Name = "good"
	})}.wasm())
	writeFile(t, at("h-large.wasm"), append(good, make([]byte, rewrite.MaxModuleBytes)...))
	writeFile(t, at("i-cut.wasm"), good[:len(good)-10])
	writeFile(t, at(".hidden.wasm"), []byte("hello"))
	writeFile(t, at("notes.txt"), []byte("hello"))
	if err := os.Mkdir(at("j-folder.wasm"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("missing"), at("k-dangling.wasm")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("good.wasm"), at("l-link.wasm")); err != nil {
		t.Fatal(err)
	}

	found, problems := Find(t.Context(), config.Default(), Folder(dir))
	if len(found) != 1 || found[0].Name != "good" || found[0].Origin != at("good.wasm") ||
		found[0].Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(good)) {
		t.Fatalf("found %v", found)
	}
	expectErrors(t, problems,
		at("a-text.wasm")+`": not a WebAssembly module`,
		at("b-import.wasm")+`": imports env.sleep: a plugin may import only`,
		at("c-manifest.wasm")+`: manifest: verion: unknown field: there are name, version, `,
		at("e-again.wasm")+`: its manifest says that it is the plugin "good", which only `+at("good.wasm")+
			" is without being configured: give the file that name, or configure plugins: [{name: good, file: e-again.wasm}]",
		at("h-large.wasm")+": more than 8 MiB: build the module smaller",
		at("i-cut.wasm"),
		at("j-folder.wasm")+": is not a regular file",
		at("k-dangling.wasm")+": no such file",
		at("l-link.wasm")+`: its manifest says that it is the plugin "good"`,
		at("twice.wasm")+`: manifest of twice: settings: the name "a" is empty or used twice`,
		at("stolen.wasm")+`: plugin "stolen": controller "good" is in plugin "good" (`+at("good.wasm")+") already",
	)
}

func TestFindFolderMissing(t *testing.T) {
	found, problems := Find(t.Context(), config.Default(), Folder("/nowhere/at/all"))
	if len(found) != 0 {
		t.Errorf("found %v", found)
	}
	expectErrors(t, problems, "plugin folder: open /nowhere/at/all: no such file or directory")
}

func TestFindLaterSourceReplaces(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(first, "a.wasm"), guest{manifest: manifest(t, "a")}.wasm())
	writeFile(t, filepath.Join(first, "b.wasm"), guest{manifest: manifest(t, "b")}.wasm())
	writeFile(t, filepath.Join(second, "a.wasm"), guest{manifest: manifest(t, "a", func(m *abi.Manifest) {
		m.Version = "2"
	})}.wasm())
	found, problems := Find(t.Context(), config.Default(), Folder(first), Folder(second))
	expectErrors(t, problems)
	if len(found) != 2 || found[0].Name != "b" || found[1].Name != "a" || found[1].Manifest.Version != "2" {
		t.Errorf("found %v", found)
	}
	names, aliases := Controllers(found)
	if strings.Join(names, " ") != "b-controller a-controller" || len(aliases) != 2 || aliases["a"] != "a-controller" {
		t.Errorf("controllers %v, aliases %v", names, aliases)
	}

	c := config.Default()
	c.Plugins = []config.Plugin{{Name: "a"}, {Name: "c"}}
	errs := CheckConfigured(c, found)
	if len(errs) != 1 || errs[0].Error() != `plugins[1].name: no plugin "c" was found: there are b, a` {
		t.Errorf("got %v", errs)
	}
}

// Built-in modules have to be sound, and named as their manifests say.
func TestBuiltin(t *testing.T) {
	modules, errs := Builtin{}.Modules()
	expectErrors(t, errs)
	found, problems := Find(t.Context(), config.Default(), Builtin{})
	expectErrors(t, problems)
	if len(found) != len(modules) {
		t.Errorf("found %d of %d", len(found), len(modules))
	}

	for i, f := range found {
		if f.Name != modules[i].Name {
			t.Errorf("modules/%s.wasm has the manifest of %s", modules[i].Name, f.Name)
		}
	}

	for _, f := range found {
		l, err := Open(t.Context(), f.Plugin, sandbox.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if l.Module.ManifestSection() == nil {
			t.Errorf("%s has no manifest as a section: run make plugins", f)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}

	for _, f := range found {
		if f.Name != "podgc" {
			continue
		}
		late, err := Open(t.Context(), f.Plugin, sandbox.Options{Late: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		eager, err := Open(t.Context(), f.Plugin, sandbox.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if late.Settings != eager.Settings || late.Manifest == nil || late.Module.Precompiled() {
			t.Errorf("late %+v, eager %+v", late, eager)
		}
		// What the operator sets is put to the module at once.
		if _, err := Open(t.Context(), f.Plugin, sandbox.Options{Late: true},
			map[string]string{"node-quarantine": "-1h"}); err == nil {
			t.Error("settings that the module refuses are taken")
		}
		if err := errors.Join(late.Close(t.Context()), eager.Close(t.Context())); err != nil {
			t.Error(err)
		}
	}

	_, err := Named("builtin:nothing")
	if err == nil || !strings.Contains(err.Error(), `no built-in plugin "nothing"`) {
		t.Errorf("got %v", err)
	}
}

func settingsOf(t *testing.T) func(*abi.Manifest) {
	return func(m *abi.Manifest) {
		m.Settings = []abi.Setting{{Name: "surge", Default: "25%"}, {Name: "ca", File: true, Required: true}, {Name: "plain"}}
	}
}

func TestSettingsReachTheGuest(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	writeFile(t, ca, []byte("CERTIFICATE"))
	p := New("echo", "echo.wasm", guest{manifest: manifest(t, "echo", settingsOf(t)), echo: true}.wasm())
	_, err := Open(t.Context(), p, sandbox.Options{}, map[string]string{"ca": ca, "plain": "Text"})
	var refused *sandbox.SettingsError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"25%", "CERTIFICATE", "Text"} {
		if !strings.Contains(refused.Message, want) {
			t.Errorf("no %q in what the guest got: %q", want, refused.Message)
		}
	}
	if !strings.HasPrefix(err.Error(), `echo.wasm: plugin "echo" refuses its settings`) {
		t.Errorf("got %v", err)
	}
}

func TestOpen(t *testing.T) {
	p := New("good", OriginBuiltin, guest{manifest: manifest(t, "good", settingsOf(t))}.wasm())
	l, err := Open(t.Context(), p, sandbox.Options{}, map[string]string{"surge": "1"})
	if err != nil {
		t.Fatal(err)
	}

	if len(l.Missing) != 1 || l.Missing[0] != "ca" || len(l.Settings) != 16 || l.Manifest.Name != "good" {
		t.Errorf("%+v", l)
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	writeFile(t, ca, []byte("one"))
	before := l.Settings
	if err := l.Configure(t.Context(), map[string]string{"ca": ca}); err != nil {
		t.Fatal(err)
	}

	one := l.Settings
	writeFile(t, ca, []byte("two"))
	if err := l.Configure(t.Context(), map[string]string{"ca": ca}); err != nil {
		t.Fatal(err)
	}

	if l.Settings == one || one == before || len(l.Missing) != 0 {
		t.Errorf("the digest of the settings doesn't follow the file: %s %s %s, missing %v",
			before, one, l.Settings, l.Missing)
	}
	two := l.Settings
	if err := l.Configure(t.Context(), map[string]string{"ca": "/nowhere"}); err == nil || l.Settings != two {
		t.Errorf("a refused configuration was taken: %v", err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A controller that the plugin doesn't have isn't configured: its name is a mistake.
func TestCheckControllers(t *testing.T) {
	m := &abi.Manifest{Name: "good", Controllers: []abi.Controller{{Name: "one"}, {Name: "two"}}}
	if err := CheckControllers(m, []config.PluginController{{Name: "two", Workers: 3}, {Name: "one"}}); err != nil {
		t.Error(err)
	}
	err := CheckControllers(m, []config.PluginController{{Name: "two"}, {Name: "tow"}})
	want := `plugin "good": controllers[tow]: the plugin has no such controller: it has one, two`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	writeFile(t, large, make([]byte, fileMax+1))
	wants := manifest(t, "good", settingsOf(t), func(m *abi.Manifest) { m.Memory = 64 << 20 })

	for name, c := range map[string]struct {
		guest  guest
		limit  int64
		values map[string]string
		want   []string
	}{
		"unknown setting": {guest{manifest: wants}, 0, map[string]string{"Surge": "1", "x": ""},
			[]string{`builtin:good: plugin "good": settings[Surge]: the plugin has no such setting: it has surge, ca, plain`,
				"settings[x]"}},
		"no settings": {guest{manifest: manifest(t, "good")}, 0, map[string]string{"x": ""},
			[]string{"settings[x]: the plugin has no such setting: it has none"}},
		"file missing": {guest{manifest: wants}, 0, map[string]string{"ca": "/nowhere"},
			[]string{`plugin "good": settings[ca]: stat /nowhere: no such file or directory: name a file`}},
		"file a folder": {guest{manifest: wants}, 0, map[string]string{"ca": "/etc"},
			[]string{"settings[ca]: /etc: is not a regular file"}},
		"file endless": {guest{manifest: wants}, 0, map[string]string{"ca": "/dev/zero"},
			[]string{"settings[ca]: /dev/zero: is not a regular file"}},
		"file large": {guest{manifest: wants}, 0, map[string]string{"ca": large},
			[]string{"settings[ca]: " + large + ": more than 1048576 bytes"}},
		"wants more memory": {guest{manifest: wants}, 32 << 20, nil,
			[]string{`plugin "good" needs 67108864 bytes of memory, but its limit is 33554432: raise`}},
		"needs more memory": {guest{manifest: wants, pages: 800}, 32 << 20, nil,
			[]string{`declares 800 pages of memory`, "limits.memory"}},
		"manifest not JSON":  {guest{manifest: "name: good"}, 0, nil, []string{"builtin:good: manifest: "}},
		"manifest out there": {guest{manifest: strings.Repeat(" ", abi.ManifestMax+1), pages: 20}, 0, nil, []string{"good"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), New("good", OriginBuiltin, c.guest.wasm()), sandbox.Options{MemoryLimit: c.limit},
				c.values)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
		})
	}
}

// A module is known by the manifest in its section without being run, and runs only if it says the same.
func TestManifestSection(t *testing.T) {
	said := manifest(t, "good")
	for name, c := range map[string]struct {
		section   string
		find, run string // errors
	}{
		"the same": {said, "", ""},
		"another": {manifest(t, "better"), "",
			"section windlass.manifest differs from the manifest that the module returns: build the plugin again"},
		"not JSON":  {"good", "builtin:good: manifest: ", "section windlass.manifest differs from the manifest"},
		"no longer": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			wasm := guest{manifest: said}.wasm()
			for _, section := range []string{"to be replaced", c.section} {
				var err error
				content := []byte(section)
				if section == "" {
					content = nil
				}
				if wasm, err = rewrite.WithManifest(wasm, content); err != nil {
					t.Fatal(err)
				}
			}

			if n := strings.Count(string(wasm), rewrite.ManifestSection); n > 1 {
				t.Errorf("%d sections", n)
			}
			p := New("good", OriginBuiltin, wasm)

			expectError := func(err error, want string) {
				t.Helper()
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}

			_, err := new(Finder).Read(t.Context(), p)
			expectError(err, c.find)
			l, err := Open(t.Context(), p, sandbox.Options{}, nil)
			expectError(err, c.run)
			if err == nil {
				expectError(l.Close(t.Context()), "")
			}
		})
	}
}

func TestOptions(t *testing.T) {
	c := config.Default()
	c.Sandbox.Interpreter = true
	c.Plugins = []config.Plugin{{Name: "a", Limits: config.Limits{Fuel: 7}}}
	o := Options(c, "a")
	if o.Budget != 7 || !o.Interpreter {
		t.Errorf("%+v", o)
	}
	// The configuration's defaults are written down apart from the sandbox's, so that package config needs no host.
	if o := Options(c, "b"); o.Budget != sandbox.DefaultBudget || o.MemoryLimit != sandbox.DefaultMemoryLimit ||
		o.Deadline != sandbox.DefaultDeadline {
		t.Errorf("the configuration's defaults aren't the sandbox's: fuel %d, %d; memory %d, %d; deadline %v, %v",
			o.Budget, int64(sandbox.DefaultBudget), o.MemoryLimit, int64(sandbox.DefaultMemoryLimit), o.Deadline,
			sandbox.DefaultDeadline)
	}
	if b := c.Plugin("b").Budget; b.LogBytesPerSecond.Value() != sandbox.DefaultLogPerSec {
		t.Errorf("the configuration's default of logBytesPerSecond is %v, the sandbox's %d",
			&b.LogBytesPerSecond, sandbox.DefaultLogPerSec)
	}
}

func TestInspect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.wasm")
	writeFile(t, path, guest{manifest: manifest(t, "a"), pages: 3}.wasm())
	p, err := Named(path)
	if err != nil {
		t.Fatal(err)
	}
	i, err := Inspect(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if i.Origin != path || i.Size != p.Size || i.Memory != (Memory{3 << 16, 4 << 30}) || len(i.Imports) != 0 ||
		i.Manifest.Name != "a" ||
		!strings.Contains(strings.Join(i.Exports, " "), "windlass_alloc(i32)->i32") {
		t.Errorf("%+v", i)
	}
}

// What the build has checked is decoded without that, and is the same.
func TestBuiltinManifests(t *testing.T) {
	all, _ := Builtin{}.Modules()
	if len(all) < 20 {
		t.Fatalf("%d modules: run make plugins", len(all))
	}
	for _, p := range all {
		wasm, err := p.Wasm()
		if err != nil {
			t.Fatal(err)
		}
		section, err := rewrite.Manifest(wasm)
		if err != nil {
			t.Fatal(err)
		}
		want, err := abi.DecodeManifest(section)
		if err == nil {
			err = errors.Join(checkNames(want), checkViews(want))
		}
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if got, err := p.declares(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: it is another one: %v", p, err)
		}
	}
}
