package build_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/build"
	"github.com/windlass-dev/windlass/author/generate"
	"github.com/windlass-dev/windlass/author/scaffold"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/record/replay"
	"github.com/windlass-dev/windlass/host/sandbox"
)

const tinygo = "../../_output/toolchain/tinygo" // which make toolchain makes

// sizeMost is how large the module of a new plugin may be.
const sizeMost = 150_000

// scaffolded is the folder of a new plugin.
func scaffolded(t *testing.T, name string) string {
	t.Helper()
	folder, _, err := scaffold.New(t.Context(), scaffold.Options{Name: name, Folder: filepath.Join(t.TempDir(), name),
		Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func compiler(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(tinygo)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// replaceInFile replaces a text in a file.
func replaceInFile(t *testing.T, file, old, text string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s doesn't have %q", file, old)
	}
	if err := os.WriteFile(file, bytes.Replace(b, []byte(old), []byte(text), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A new plugin is small, has its version, and does under both compilers the same.
func TestNewPlugin(t *testing.T) {
	folder, out := scaffolded(t, "hello"), t.TempDir()
	small, err := build.Build(t.Context(), build.Options{Folder: folder, Out: out, TinyGo: compiler(t), Version: "v1.2.3",
		Debug: true, Messages: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	i := small.Inspection
	if small.File != filepath.Join(out, "hello.wasm") || i.Size > sizeMost || i.Manifest.Version != "v1.2.3" ||
		i.ManifestFrom != "section" || len(small.Warnings) > 0 {
		t.Errorf("built %+v, %+v", small, i)
	}
	t.Logf("%d bytes in %v", i.Size, small.Took)
	found, problems := plugins.Find(t.Context(), config.Default(), plugins.Folder(out))
	if len(found) != 1 || found[0].Name != "hello" || len(problems) > 0 {
		t.Errorf("in its folder are %v, %v", found, problems)
	}
	large, err := build.Build(t.Context(), build.Options{Folder: folder, Out: filepath.Join(out, "go.wasm"),
		Compiler: build.Go, Version: "v1.2.3", Debug: true, Messages: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if large.Debug != "" {
		t.Errorf("std Go has the debug form %s", large.Debug)
	}
}

// A type of a custom resource that has changed since its codec was generated isn't built: fields would get lost.
func TestChangedTypes(t *testing.T) {
	folder, _, err := scaffold.New(t.Context(), scaffold.Options{Name: "quota", Kind: "Quota", Group: "example.com",
		Folder: filepath.Join(t.TempDir(), "quota"), Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := generate.UpToDate(t.Context(), folder); err != nil {
		t.Fatalf("as generated: %v", err)
	}

	const old = "type QuotaStatus struct {\n"
	replaceInFile(t, filepath.Join(folder, "api/v1/types.go"), old, old+"\tMore string `json:\"more\"`\n")
	_, err = build.Build(t.Context(), build.Options{Folder: folder, TinyGo: compiler(t), Messages: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "don't match the types") ||
		!strings.Contains(err.Error(), "run windlass plugin generate "+folder) {
		t.Errorf("got %v", err)
	}
}

// What can't be built says where, or what to do.
func TestNotBuilt(t *testing.T) {
	folder := scaffolded(t, "hello")
	source := filepath.Join(folder, "hello.go")
	whole, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}

	old := filepath.Join(t.TempDir(), "tinygo")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho tinygo version 0.30.0 linux/amd64\n"), 0o755); err != nil {
		t.Fatal(err)
	}

	for _, x := range []struct {
		name     string
		old, new string // in the source
		o        build.Options
		says     []string // in the error or in what the compiler says
	}{
		{name: "an undefined name", old: "namespaces.Get(c)", new: "namespace.Get(c)",
			says: []string{"hello.go:", "undefined: namespace", "correct the errors"}},
		{name: "a field that isn't there", old: `"status.phase"`, new: `"status.phrase"`,
			says: []string{"hello-controller", "namespaces", "status.phrase", "phase"}},
		{name: "a label that isn't there", old: "Controllers: ",
			new:  `Metrics: []*sdk.Metric{sdk.Counter("x_total", "X.", namespaces.Label("phase", "status.phrase"))}, Controllers: `,
			says: []string{"hello-controller", "metric x_total", "label phase", "namespaces", "status.phrase", "phase"}},
		{name: "a view that isn't read", old: "Views{namespaces, configMaps}", new: "Views{configMaps}",
			says: []string{"view configmaps", "namespaces", "Reads"}},
		{name: "a verb that there isn't", old: `"create", "update", "delete"`, new: `"create", "updat"`,
			says: []string{"hello-controller", "v1/configmaps", `"updat"`, "deletecollection"}},
		{name: "two versions", old: "Name:        ", new: "Version: \"1.0.0\", Name: ", o: build.Options{Version: "v2"},
			says: []string{"--version v2", "1.0.0", "remove Version"}},
		{name: "no folder", o: build.Options{Folder: "nowhere"}, says: []string{"nowhere: is no folder"}},
		{name: "no go.mod", o: build.Options{Folder: t.TempDir()}, says: []string{"has no go.mod", "plugin new"}},
		{name: "no compiler", o: build.Options{TinyGo: "/nowhere/tinygo"}, says: []string{"no TinyGo", "--compiler=go"}},
		{name: "an old compiler", o: build.Options{TinyGo: old}, says: []string{"0.30.0", "0.41"}},
		{name: "another compiler", o: build.Options{Compiler: "gcc"}, says: []string{"--compiler", "tinygo or go"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			defer func() {
				if err := os.WriteFile(source, whole, 0o644); err != nil {
					t.Fatal(err)
				}
			}()
			if x.old != "" {
				replaceInFile(t, source, x.old, x.new)
			}
			var said bytes.Buffer
			x.o.Messages, x.o.Debug = &said, true
			if x.o.Folder == "" {
				x.o.Folder = folder
			}
			if x.o.TinyGo == "" {
				x.o.TinyGo = compiler(t)
			}
			_, err := build.Build(t.Context(), x.o)
			if err == nil {
				t.Fatal("it was built")
			}
			text := said.String() + err.Error()
			for _, want := range x.says {
				if !strings.Contains(text, want) {
					t.Errorf("it doesn't tell %q:\n%s", want, text)
				}
			}
			if files, _ := filepath.Glob(filepath.Join(folder, "*.wasm")); len(files) > 0 {
				t.Errorf("it left %v", files)
			}
		})
	}
}

// Each way to trap is shown with file and line: of TinyGo by the debug form, of std Go at once.
func TestTraps(t *testing.T) {
	folder := scaffolded(t, "traps")
	if out, err := exec.Command("cp", "testdata/traps/traps.go",
		filepath.Join(folder, "traps.go")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	source, err := os.ReadFile("testdata/traps/traps.go")
	if err != nil {
		t.Fatal(err)
	}

	ways := []struct {
		key, line, text string
		kind            error
	}{
		{"panic", `panic("no such namespace")`, "panic: no such namespace", sandbox.ErrTrap},
		{"nil", `ns.Name = "other"`, "nil pointer dereference", sandbox.ErrTrap},
		{"index", `c.Log(list[len(c.State())+2])`, "index out of range", sandbox.ErrTrap},
		{"divide", `c.Log(string(rune(7 / len(c.State()))))`, "divide by zero", sandbox.ErrTrap},
		{"assert", `c.Log(string(rune(x.(int))))`, "interface conversion", sandbox.ErrTrap},
		{"answer", "return answer(c)", "out of memory", sandbox.ErrMemory}, // within answer the line is a matter of chance
	}

	small := buildTraps(t, folder, build.Options{TinyGo: compiler(t), Debug: true})
	form, err := plugins.DebugForm(small.plugin)
	if err != nil || form == nil {
		t.Fatalf("the debug form is %d bytes: %v", len(form), err)
	}

	large := buildTraps(t, folder, build.Options{Compiler: build.Go})
	for _, w := range ways {
		t.Run(w.key, func(t *testing.T) {
			at := "traps.go:" + lineNumber(t, source, w.line)
			_, failed := small.sync(w.key)
			if !errors.Is(failed, w.kind) {
				t.Fatalf("the sync ends with %v", failed)
			}
			trap, err := sandbox.Debug(t.Context(), form, sandbox.Options{Name: "traps"}, nil, newCall(w.key), failed)
			if err != nil || trap == nil {
				t.Fatalf("the debug form: %v, %v", trap, err)
			}
			if text := trap.String(); !strings.Contains(text, at) || !strings.Contains(text, w.text) ||
				w.kind == sandbox.ErrTrap && !strings.Contains(text, w.line) {
				t.Errorf("it doesn't tell %s and %q:\n%s", at, w.text, text)
			}
			if text := small.replayed(w.key); !strings.Contains(text, at) || !strings.Contains(text, w.text) {
				t.Errorf("its replay doesn't tell %s and %q: %s", at, w.text, text)
			}
			if _, err := large.sync(w.key); err == nil || !strings.Contains(err.Error(), at) ||
				!strings.Contains(err.Error(), w.text) {
				t.Errorf("std Go doesn't tell %s and %q: %v", at, w.text, err)
			}
		})
	}

	for name, m := range map[string]*loaded{"TinyGo": small, "Go": large} {
		if answer, err := m.sync("view"); err != nil || !strings.Contains(answer.Error,
			"controller traps-controller: view pods isn't in Reads: add it there") {
			t.Errorf("%s: a view that isn't read gives %+v, %v", name, answer, err)
		}
		if answer, err := m.sync("other"); err != nil || answer.Error != "" {
			t.Errorf("%s: a sync that does nothing gives %+v, %v", name, answer, err)
		}
	}

	for name, p := range map[string]*plugins.Plugin{"TinyGo": small.plugin, "Go": large.plugin} {
		l, err := plugins.Open(t.Context(), p, sandbox.Options{MaxMessage: 1 << 20}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &loaded{t: t, plugin: p, module: l}
		if _, err := m.sync("large"); err == nil || !strings.Contains(err.Error(),
			`the limit is 1048576; of its 2 effects effects[1], of "v1/configmaps", object "whole" in namespace "shop", is the largest with 25000`) {
			t.Errorf("%s: an answer that is too large gives %v", name, err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}

	if trap, err := sandbox.Debug(t.Context(), form, sandbox.Options{Name: "traps"}, nil, newCall("other"),
		sandbox.ErrTrap); trap != nil || err != nil {
		t.Errorf("a sync that doesn't trap gives %v, %v", trap, err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if trap, err := sandbox.Debug(ctx, form, sandbox.Options{Name: "traps"}, nil, newCall("recurse"),
		sandbox.ErrTrap); err == nil && trap == nil {
		t.Error("endless recursion ends well")
	}
}

// loaded is a module that was built.
type loaded struct {
	t      *testing.T
	plugin *plugins.Plugin
	module *plugins.Loaded
}

func buildTraps(t *testing.T, folder string, o build.Options) *loaded {
	t.Helper()
	o.Folder, o.Out, o.Messages = folder, t.TempDir(), io.Discard
	r, err := build.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plugins.File(r.File)
	if err != nil {
		t.Fatal(err)
	}
	m, err := plugins.Open(t.Context(), p, sandbox.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &loaded{t, p, m}
}

func (l *loaded) sync(key string) (*abi.SyncResponse, error) {
	a := &abi.SyncResponse{}
	_, err := l.module.Module.Sync(l.t.Context(), newCall(key),
		func(b []byte) error { return abi.DecodeResponse(bytes.Clone(b), a) })
	return a, err
}

// replayed is what a replay of a recorded sync that trapped tells of the trap.
func (l *loaded) replayed(key string) (trap string) {
	l.t.Helper()
	r := request(key)
	f := &record.File{
		Controller: "traps-controller", Sources: []record.Source{{Plugin: l.plugin.Name, Digest: l.plugin.Digest,
			Manifest: l.module.Manifest}},
		Syncs: []record.Sync{{Key: r.Key, Result: "trap", Request: abi.AppendRequest(nil, r)}},
	}
	err := replay.Run(l.t.Context(), f, replay.Options{Plugin: l.plugin}, func(r replay.Result) {
		if r.Verdict != replay.Same {
			l.t.Errorf("replayed, it is %s: %s", r.Verdict, r.Diff)
		}
		trap = r.Trap
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return trap
}

func request(key string) *abi.SyncRequest {
	return &abi.SyncRequest{Key: abi.KeyRef{Name: key}, Views: []abi.ViewData{{}}}
}

func newCall(key string) *sandbox.Call {
	r := request(key)
	return &sandbox.Call{Size: abi.SizeRequest(r), Write: func(b []byte) { abi.AppendRequest(b[:0], r) }}
}

func lineNumber(t *testing.T, source []byte, line string) string {
	t.Helper()
	before, _, ok := bytes.Cut(source, []byte(line))
	if !ok {
		t.Fatalf("the source doesn't have %s", line)
	}
	n := bytes.Count(before, []byte("\n")) + 1
	return strconv.Itoa(n)
}
