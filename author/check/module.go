package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/author/build"
	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
)

// Options say how a module is tested.
type Options struct {
	// Cases is the folder of golden cases, and of world.yaml; by default testdata beside the module.
	Cases string
	// Run selects cases by TOPIC/CASE, as -run of go test does; nothing is simulated then.
	Run      string
	Update   bool
	Seeds    int
	With     []string
	Settings map[string]string
	Except   []string
	Keep     []string
	// Replay runs the file of a finding again, and nothing else.
	Replay string
	// Messages gets what is said of a module that is built anew; nil: nobody.
	Messages io.Writer
}

// Report is what came of testing a module.
type Report struct {
	Plugin  string  `json:"plugin"`
	Version string  `json:"version,omitempty"`
	Module  string  `json:"module"`
	Size    int     `json:"size"` // bytes
	Cases   []Tried `json:"cases,omitempty"`
	Wakes   []Event `json:"wakes,omitempty"`
	// Runs, Syncs and Writes are those of the simulation, 0 where there is no world.
	Runs     int            `json:"runs,omitempty"`
	Syncs    int            `json:"syncs,omitempty"`
	Writes   int            `json:"writes,omitempty"`
	Findings []pipe.Finding `json:"findings,omitempty"`
}

// Tried is a case that was run.
type Tried struct {
	Name   string `json:"name"`
	Fuel   int64  `json:"fuel"`   // units, the most of its syncs
	Memory int64  `json:"memory"` // bytes
	Failed bool   `json:"failed,omitempty"`
}

// Event is one of wakes.yaml.
type Event struct {
	Name   string `json:"name"`
	Failed bool   `json:"failed,omitempty"`
}

// Find returns the module that a path names: a file, builtin:NAME, or the only module in a folder. Where the folder has
// the plugin's source in Go the module is built anew if it is missing or older; messages gets what is to be known of
// that.
func Find(ctx context.Context, path string, messages io.Writer) (*plugins.Plugin, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return plugins.Named(path)
	}
	found, err := filepath.Glob(filepath.Join(path, "*.wasm"))
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(f string) bool { return strings.HasSuffix(f, ".debug.wasm") })
	if len(found) > 1 {
		return nil, fmt.Errorf("%s: there are several modules in this folder: name one of %s", path,
			strings.Join(found, ", "))
	}

	module := strings.Join(found, "")
	switch {
	case build.IsPlugin(path):
		if module, err = build.Fresh(ctx, path, module, messages); err != nil {
			return nil, err
		}
	case module == "":
		return nil, fmt.Errorf("%s: there is no module in this folder: run windlass plugin build", path)
	default:
		if newer := newerThan(path, module); newer != "" {
			fmt.Fprintf(messages, "warning: %s is older than %s: build it anew, or what you see is of an older source\n", module,
				newer)
		}
	}

	return plugins.Named(module)
}

// foreign are the endings of sources in other languages, which only their authors know how to build.
var foreign = []string{".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".ts", ".zig", ".go", ".wat"}

// newerThan returns a source in a module's folder that is newer than the module, empty where there is none.
func newerThan(folder, module string) string {
	built, err := os.Stat(module)
	if err != nil {
		return ""
	}
	newer := ""
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || newer != "" || d.IsDir() || !slices.Contains(foreign, filepath.Ext(path)) {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(built.ModTime()) {
			newer = path
		}

		return nil
	})

	return newer
}

// Module tests the module that a path names: its golden cases, and, where there is a world.yaml among them, a
// simulation under faults.
func Module(ctx context.Context, path string, o Options) (*Report, error) {
	if o.Messages == nil {
		o.Messages = io.Discard
	}
	p, err := Find(ctx, path, o.Messages)
	if err != nil {
		return nil, err
	}
	m, err := guest.Load(ctx, p, sandbox.Options{})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	r := &Report{Plugin: m.Manifest().Name, Version: m.Manifest().Version, Module: p.String(), Size: p.Size}
	if o.Replay != "" {
		again, err := Replay(ctx, m, o.Replay)
		if err != nil {
			return nil, err
		}
		r.Runs, r.Syncs, r.Findings = again.Runs, again.Syncs, again.Findings
		return r, nil
	}
	if o.Cases == "" {
		folder := path
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			folder = filepath.Dir(path)
		}
		o.Cases = filepath.Join(folder, "testdata")
	}
	pattern, err := golden.NewPattern(o.Run)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	world := filepath.Join(o.Cases, "world.yaml")
	_, err = os.Stat(world)
	simulated := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	events, err := golden.WakesFiles(o.Cases)
	if err != nil {
		return nil, err
	}
	cases, err := golden.Cases(o.Cases)
	if err != nil && !((simulated || len(events) > 0) && errors.Is(err, golden.ErrNoCases)) {
		return nil, fmt.Errorf("%w, and neither a wakes.yaml nor a world.yaml, which a simulation begins with", err)
	}
	for _, in := range pattern.Of(cases) {
		c, err := Golden(m, in, o.Update)
		if err != nil {
			return nil, err
		}
		r.Cases = append(r.Cases, Tried{in.ID(), c.Stats.Fuel, c.Stats.Memory, len(c.Findings) > 0})
		r.Findings = append(r.Findings, c.Findings...)
	}
	for _, file := range events {
		if err := r.checkWakes(m, file, pattern); err != nil {
			return nil, err
		}
	}
	if o.Run != "" {
		if len(r.Cases)+len(r.Wakes) == 0 {
			return nil, fmt.Errorf("--run %s: none of the %d cases in %s, and no event, has such a name", o.Run, len(cases),
				o.Cases)
		}
		return r, nil
	}
	if !simulated || o.Update {
		return r, nil
	}
	q := pipe.Request{World: world, With: o.With, Settings: o.Settings, Seeds: o.Seeds, Except: o.Except, Keep: o.Keep,
		Findings: filepath.Join(o.Cases, "findings")}
	if crds := filepath.Join(filepath.Dir(o.Cases), "crd"); pathExists(crds) {
		q.Definitions = []string{crds}
	}
	s, err := Explore(ctx, m, q)
	if err != nil {
		return nil, err
	}
	r.Runs, r.Syncs, r.Writes = s.Runs, s.Syncs, s.Writes
	r.Findings = append(r.Findings, s.Findings...)
	return r, nil
}

// checkWakes makes the events of a file happen, and reports those that the pattern selects.
func (r *Report) checkWakes(m *guest.Module, file string, pattern golden.Pattern) error {
	w, err := checkWakes(m, file)
	if err != nil {
		return err
	}

	next := 0 // finding
	for _, e := range w.Cases {
		selected := pattern.Selects(e.Topic, e.Name)
		if selected {
			r.Wakes = append(r.Wakes, Event{e.Topic + "/" + e.Name, e.Failed != ""})
		}
		if e.Failed == "" {
			continue
		}
		if selected {
			r.Findings = append(r.Findings, w.Findings[next])
		}
		next++
	}

	return nil
}

func pathExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Text is the report for people.
func (r *Report) Text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s (%s, %d bytes)\n", strings.TrimSpace(r.Plugin+" "+r.Version), r.Module, r.Size)
	for _, c := range r.Cases {
		verdict := "ok"
		if c.Failed {
			verdict = "FAILED"
		}
		fmt.Fprintf(&s, "case %-40s %-6s fuel %9d  memory %5d KiB\n", c.Name, verdict, c.Fuel, c.Memory>>10)
	}

	if len(r.Wakes) > 0 {
		failed := 0
		for _, e := range r.Wakes {
			if e.Failed {
				failed++
			}
		}
		fmt.Fprintf(&s, "wakes: %d events, %d of which wake other keys\n", len(r.Wakes), failed)
	}
	if r.Runs > 0 {
		fmt.Fprintf(&s, "simulated: %d runs, %d syncs, %d writes in the undisturbed run\n", r.Runs, r.Syncs, r.Writes)
	}

	for _, f := range r.Findings {
		s.WriteString("\n" + f.Text)
	}
	if len(r.Findings) == 0 {
		s.WriteString("nothing found\n")
	} else {
		fmt.Fprintf(&s, "\n%d found\n", len(r.Findings))
	}
	return s.String()
}
