// Package build makes a plugin's module of its source: compiled, checked as the host checks it, with its manifest and
// its version in it.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/author/generate"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/views"
)

// The compilers.
const (
	TinyGo = "tinygo"
	Go     = "go"
)

// versionVariable is set by the linker: the version of a plugin that doesn't tell its own.
const versionVariable = "github.com/windlass-dev/windlass/sdk.version"

// Options say what is built and how.
type Options struct {
	// Folder is the plugin's: its main package is in "module", or is the folder itself.
	Folder string
	// Out is the file to write, or the folder to write NAME.wasm into; empty: the plugin's folder.
	Out string
	// Compiler is TinyGo or Go; empty: TinyGo.
	Compiler string
	// TinyGo is the compiler's path; empty: $TINYGO, or what is on the PATH.
	TinyGo string
	// Version is given to a plugin that doesn't tell its own; empty: what git describes.
	Version string
	// Debug makes the debug form too: the same source by std Go. Of a module of std Go there is none: its panics tell
	// where they were by themselves.
	Debug bool
	// Messages gets what the compiler says.
	Messages io.Writer
}

// Result is what was built.
type Result struct {
	File, Debug string // Debug is the debug form's, if there is one
	Compiler    string
	Took        time.Duration
	Inspection  *plugins.Inspection
	Warnings    []string
}

// compiler builds a package in a folder.
type compiler interface {
	// nameAndVersion is its name and version.
	nameAndVersion() string
	// command compiles a main package; debug is for the debug form.
	command(ctx context.Context, source, out, version string, debug bool) *exec.Cmd
}

// Build compiles a plugin and writes its module, whole or not at all, and beside it the debug form.
func Build(ctx context.Context, o Options) (*Result, error) {
	from := time.Now()
	source, err := mainPackage(o.Folder)
	if err != nil {
		return nil, err
	}

	if err := generate.UpToDate(ctx, o.Folder); err != nil {
		return nil, err
	}

	temporary, err := os.MkdirTemp("", "windlass-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	c, debug, err := findCompilers(ctx, &o, temporary)
	if err != nil {
		return nil, err
	}

	version := o.Version
	if version == "" {
		version = described(ctx, o.Folder)
	}

	b := &building{Options: o, compiler: c, debug: debug, source: source, version: version, temporary: temporary}
	built, debugForm, err := b.compile(ctx)
	if err != nil {
		return nil, err
	}

	r, err := b.finishModule(ctx, built, debugForm)
	if err != nil {
		return nil, err
	}
	r.Compiler, r.Took = c.nameAndVersion(), time.Since(from)
	return r, nil
}

// findCompilers finds the compiler, and the one of the debug form, nil: there will be none.
func findCompilers(ctx context.Context, o *Options, temporary string) (c, debug compiler, err error) {
	switch o.Compiler {
	case Go:
		c, err = findGo(ctx)
		return c, nil, err
	case "", TinyGo:
		if c, err = findTinyGo(ctx, o.TinyGo, temporary); err == nil && o.Debug {
			debug, err = findGo(ctx)
		}
		return c, debug, err
	}
	return nil, nil, fmt.Errorf("--compiler %q: must be %s or %s", o.Compiler, TinyGo, Go)
}

// mainPackage is the plugin's main package, as the go command names it in the plugin's folder.
func mainPackage(folder string) (string, error) {
	if _, err := os.Stat(filepath.Join(folder, "go.mod")); err != nil {
		if i, statErr := os.Stat(folder); statErr != nil || !i.IsDir() {
			return "", fmt.Errorf("%s: is no folder: name the one that has the plugin's go.mod", folder)
		}
		return "", fmt.Errorf("%s: has no go.mod: name the plugin's folder, or make one with \"windlass plugin new NAME\"",
			folder)
	}
	for _, where := range []string{"module", "."} {
		if main, _ := filepath.Glob(filepath.Join(folder, where, "main.go")); len(main) > 0 {
			return "./" + where, nil
		}
	}
	return "", fmt.Errorf("%s: has neither module/main.go nor main.go, whose init function calls sdk.Serve(Plugin): "+
		"write module/main.go as \"windlass plugin new\" does", folder)
}

// described is what git calls the state of a folder, "0.0.0" where it can't tell.
func described(ctx context.Context, folder string) string {
	c := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--dirty")
	c.Dir = folder
	out, err := c.Output()
	if version := strings.TrimSpace(string(out)); err == nil && version != "" {
		return version
	}
	return "0.0.0"
}

// building is one build.
type building struct {
	Options
	compiler, debug            compiler
	source, version, temporary string
}

// compile compiles the module and its debug form at once; of the latter there may be none.
func (b *building) compile(ctx context.Context) (module, debugForm []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of a build that failed, the other half is for nothing
	type half struct {
		wasm []byte
		said []byte
		err  error
	}

	run := func(by compiler, name string) (h half) {
		out := filepath.Join(b.temporary, name)
		c := by.command(ctx, b.source, out, b.version, by == b.debug)
		c.Dir = b.Folder
		if h.said, h.err = c.CombinedOutput(); h.err == nil {
			h.wasm, h.err = os.ReadFile(out)
		}
		return h
	}

	other := make(chan half, 1)
	if b.debug != nil {
		go func() { other <- run(b.debug, "debug.wasm") }()
	} else {
		other <- half{}
	}

	h := run(b.compiler, "module.wasm")
	if len(h.said) > 0 {
		_, _ = b.Messages.Write(h.said)
	}

	if h.err != nil {
		cancel()
		<-other
		var ended *exec.ExitError
		if errors.As(h.err, &ended) {
			return nil, nil, fmt.Errorf("%s: %s can't build it (%w): correct the errors above", b.Folder,
				b.compiler.nameAndVersion(),
				h.err)
		}
		return nil, nil, fmt.Errorf("%s: %s: %w", b.Folder, b.compiler.nameAndVersion(), h.err)
	}

	d := <-other
	if d.err != nil {
		return nil, nil, fmt.Errorf("%s: the debug form: %w\n%s", b.Folder, d.err, bytes.TrimSpace(d.said))
	}
	return h.wasm, d.wasm, nil
}

// finishModule checks the module as the host does, and writes it.
func (b *building) finishModule(ctx context.Context, built, debugForm []byte) (*Result, error) {
	name := filepath.Base(b.Folder)
	if absolute, err := filepath.Abs(b.Folder); err == nil {
		name = filepath.Base(absolute)
	}

	prefix := modulePath(b.Folder)
	module, err := module.Finish(ctx, name, built, prefix)
	if err != nil {
		return nil, b.trapped(ctx, name, err, debugForm)
	}
	if b.Version != "" && module.Manifest.Version != b.Version {
		return nil, fmt.Errorf("--version %s: the plugin's source sets version %s: remove Version from its sdk.Plugin",
			b.Version, module.Manifest.Version)
	}

	for i := range module.Manifest.Controllers {
		plan, err := views.Compile(&module.Manifest.Controllers[i])
		if err == nil {
			_, err = plan.Labels(module.Manifest.Metrics)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: its manifest: %w", name, err)
		}
	}

	r := &Result{File: b.outputPath(module.Manifest.Name)}
	if err := replace(r.File, module.Wasm); err != nil {
		return nil, err
	}

	p, err := plugins.File(r.File)
	if err != nil {
		return nil, err
	}

	if r.Inspection, err = plugins.Inspect(ctx, p); err != nil {
		_ = os.Remove(r.File) // no host would take it
		return nil, err
	}

	r.Warnings = warnings(r.Inspection)
	debugFile := plugins.DebugFile(r.File)
	if debugForm == nil {
		_ = os.Remove(debugFile) // of an earlier build: it would tell lines of another source
		return r, nil
	}
	r.Debug = debugFile
	return r, replace(debugFile, debugForm)
}

// trapped adds to a module's trap where in the source that was.
func (b *building) trapped(ctx context.Context, name string, err error, debugForm []byte) error {
	if !sandbox.Debuggable(err) || debugForm == nil {
		return err
	}
	t, debugErr := sandbox.Debug(ctx, debugForm, sandbox.Options{Name: name, Helpers: plugins.Helpers}, nil, nil, err)
	if debugErr != nil || t == nil {
		return err
	}
	return fmt.Errorf("%w\n%s", err, t)
}

// outputPath returns where the module goes.
func (b *building) outputPath(name string) string {
	out := b.Out
	if out == "" {
		out = b.Folder
	}
	if i, err := os.Stat(out); err == nil && i.IsDir() || strings.HasSuffix(out, string(filepath.Separator)) {
		return filepath.Join(out, name+".wasm")
	}
	return out
}

// replace writes a file in one step: a host that watches the folder never sees half of it.
func replace(file string, content []byte) error {
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".windlass-build-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// modulePath is the path of the plugin's Go module, which its functions' names needn't tell.
func modulePath(folder string) string {
	b, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`) + "/"
		}
	}
	return ""
}

// warnings tell what a module may be refused for elsewhere, or what its author can't have meant.
func warnings(i *plugins.Inspection) (all []string) {
	if i.Memory.Min > sandbox.DefaultMemoryLimit/2 {
		all = append(all, fmt.Sprintf("it begins with %d MiB of memory, the default limit is %d MiB", i.Memory.Min>>20,
			sandbox.DefaultMemoryLimit>>20))
	}
	for _, c := range i.Manifest.Controllers {
		if len(c.Writes) == 0 && c.EventSource == "" {
			all = append(all, fmt.Sprintf("controller %s may write nothing: declare what it does in its Writes", c.Name))
		}
	}
	return all
}
