// Package replay runs recorded syncs again, in the sandbox and with the recorded outcomes.
package replay

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/sandbox"
)

// deadline is how long a sync may take: the interpreter is slow, and fuel bounds it anyway.
const deadline = 10 * time.Minute

// Options say what the syncs run on.
type Options struct {
	// Plugin is run in place of the recorded modules; nil: those, which must be built in.
	Plugin      *plugins.Plugin
	Interpreter bool
	// Files are the contents of the settings that are files, by name; of those a recording has only digests.
	Files map[string][]byte
	// Key chooses syncs: "namespace/name" or "name"; empty: all.
	Key string
}

// Verdict is what became of a sync.
type Verdict string

// The verdicts.
const (
	Same      Verdict = "same"      // bit for bit
	Different Verdict = "different" // Diff tells how
	Skipped   Verdict = "skipped"   // Why tells why it can't be compared
)

// Result is one sync that was run again.
type Result struct {
	Number  int       `json:"number"` // in the recording, from 1
	Key     string    `json:"key"`
	Time    time.Time `json:"time"`
	Ended   string    `json:"ended"` // as recorded: ok, error, trap, …
	Verdict Verdict   `json:"verdict"`
	Why     string    `json:"why,omitempty"`
	Diff    string    `json:"diff,omitempty"`
	// Trap tells where in its source the module trapped, if its debug form lies beside it.
	Trap string `json:"trap,omitempty"`
}

// Run runs the syncs of a recording, and reports each. The error is that of a module that can't be had or run at all.
func Run(ctx context.Context, f *record.File, o Options, each func(Result)) error {
	modules := make([]*module, len(f.Sources))
	defer func() {
		for _, m := range modules {
			if m != nil {
				_ = m.Close(context.WithoutCancel(ctx))
			}
		}
	}()

	for i := range f.Syncs {
		s := &f.Syncs[i]
		key := describe(s.Key)
		if o.Key != "" && o.Key != key {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r := Result{Number: i + 1, Key: key, Time: s.Start, Ended: s.Result, Verdict: Skipped}
		switch {
		case s.Cut:
			r.Why = fmt.Sprintf("its %d bytes were more than the recorder keeps: raise recordings.bytes", s.Bytes)
		case s.Redacted:
			r.Why = "secrets were wiped from it"
		case s.Request == nil:
			r.Why = "it ended before the plugin was called: " + s.Error
		default:
			m := modules[s.Source]
			if m == nil {
				var err error
				if m, err = openModule(ctx, &f.Sources[s.Source], f.Controller, &o); err != nil {
					return err
				}
				modules[s.Source] = m
			}
			if m.missing != "" {
				r.Why = m.missing
				break
			}
			if err := m.replaySync(ctx, s, &r); err != nil {
				return fmt.Errorf("sync %d, %s: %w", r.Number, key, err)
			}
		}
		each(r)
	}
	return nil
}

// module is what the syncs of a source run on.
type module struct {
	*sandbox.Module
	source *record.Source
	index  int32 // of the controller in this module's manifest
	// manifest is this module's, which may be another one than the source's.
	manifest *abi.Manifest
	missing  string // why its syncs can't be run

	options   sandbox.Options
	settings  []byte
	debugForm []byte
}

// Find finds a source's module among those that are built in.
func Find(s *record.Source) (*plugins.Plugin, error) {
	all, _ := plugins.Builtin{}.Modules()
	for _, p := range all {
		if p.Digest == s.Digest {
			return p, nil
		}
	}
	return nil, fmt.Errorf("the recorded module of plugin %s %s (%s, from %s) isn't built into this windlass: name its file, or another version, with --plugin", s.Plugin, s.Version, s.Digest, s.Origin)
}

func openModule(ctx context.Context, s *record.Source, controller string, o *Options) (_ *module, err error) {
	p := o.Plugin
	if p == nil {
		if p, err = Find(s); err != nil {
			return nil, err
		}
	}

	options := sandbox.Options{Name: p.Name, MemoryLimit: memoryLimit(s), Budget: s.Fuel, Deadline: deadline,
		Interpreter: o.Interpreter, Helpers: plugins.Helpers, Log: func(int32, string) {}}
	wasm, err := p.Wasm()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	loaded, err := sandbox.Load(ctx, wasm, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}

	m := &module{Module: loaded, source: s, options: options}
	defer func() {
		if err != nil {
			_ = loaded.Close(context.WithoutCancel(ctx))
		}
	}()

	text, err := loaded.Manifest(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}

	if m.manifest, err = abi.DecodeManifest(text); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	m.index = -1
	for i := range m.manifest.Controllers {
		if m.manifest.Controllers[i].Name == controller {
			m.index = int32(i)
		}
	}
	if m.index < 0 {
		return nil, fmt.Errorf("%s: the plugin has no controller %s, which the recording is of", p, controller)
	}

	settings, missing := settings(s, m.manifest, o.Files)
	if m.missing = missing; missing != "" {
		return m, nil
	}

	m.settings = abi.AppendSettings(nil, settings)
	if err := loaded.Configure(ctx, m.settings); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	m.debugForm, err = plugins.DebugForm(p)
	return m, err
}

func memoryLimit(s *record.Source) int64 {
	if s.Memory == 0 {
		return sandbox.DefaultMemoryLimit
	}
	return s.Memory
}

// settings returns the recorded settings that a module has, by name; one that the recording doesn't know has its
// default.
func settings(s *record.Source, m *abi.Manifest, files map[string][]byte) (*abi.Settings, string) {
	out := &abi.Settings{}
	for _, want := range m.Settings {
		value := want.Default
		for _, x := range s.Settings {
			if x.Name != want.Name {
				continue
			}
			value = x.Value
			if x.Digest == "" || x.Digest == record.DigestOf(nil) {
				break
			}

			file, given := files[x.Name]
			if !given {
				return nil, fmt.Sprintf("setting %s is a file, and a recording has only the file's digest: name the file with "+
					"--file %s=PATH", x.Name, x.Name)
			}
			if got := record.DigestOf(file); got != x.Digest {
				return nil, fmt.Sprintf("setting %s was a file with digest %s, but the one that --file names has %s", x.Name,
					x.Digest, got)
			}
			value = string(file)
		}
		out.Values = append(out.Values, value)
	}
	return out, ""
}

// replaySync runs one sync and compares. The error is that the caller has given up.
func (m *module) replaySync(ctx context.Context, s *record.Sync, r *Result) error {
	request, err := m.request(s.Request)
	if err != nil {
		r.Why = "its call can't be read: " + err.Error()
		return nil
	}

	tape, again := &record.Tape{Recorded: s.Performs}, record.Sync{}
	_, err = m.Sync(ctx, tapedCall(request, tape), func(b []byte) error {
		again.Answer, again.Answered = bytes.Clone(b), true
		return nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		again.Error = err.Error()
	}

	again.Performs = tape.Made
	if sandbox.Debuggable(err) && m.debugForm != nil {
		r.Trap = m.findTrap(ctx, tapedCall(request, &record.Tape{Recorded: s.Performs}), err)
	}

	r.Verdict = Same
	if tape.Whole() && again.Answered == s.Answered && bytes.Equal(again.Answer, s.Answer) {
		return nil
	}

	r.Verdict = Different
	if tape.Strayed {
		r.Why = "it performs something else in the middle of the sync, whose outcome the recording doesn't have: what comes after is not known"
	}

	r.Diff = record.Diff(readable(s, m.source.Manifest).YAML(), readable(&again, m.manifest).YAML())
	if r.Diff == "" {
		r.Diff = fmt.Sprintf("the same effects in other bytes:\n-%x\n+%x\n", s.Answer, again.Answer)
	}
	return nil
}

// findTrap makes a call again in the module's debug form, and reports where that traps.
func (m *module) findTrap(ctx context.Context, call *sandbox.Call, failed error) string {
	t, err := sandbox.Debug(ctx, m.debugForm, m.options, m.settings, call, failed)
	switch {
	case err != nil:
		return err.Error()
	case t == nil:
		return "the debug form doesn't trap: it is of another source, build both again"
	}
	return t.String()
}

// tapedCall returns a call whose performs are answered by a tape.
func tapedCall(request []byte, tape *record.Tape) *sandbox.Call {
	return &sandbox.Call{
		Size: len(request), Write: func(b []byte) { copy(b, request) },
		Perform: func(_ context.Context, in []byte) ([]byte, error) { return tape.Perform(in) },
	}
}

// request is the recorded call with the controller's index in this module's manifest.
func (m *module) request(b []byte) ([]byte, error) {
	var r abi.SyncRequest
	if err := abi.DecodeRequest(b, &r); err != nil {
		return nil, err
	}
	if r.Controller == m.index {
		return b, nil
	}
	r.Controller = m.index
	return abi.AppendRequest(nil, &r), nil
}

// readable is all that a sync has done, performs included.
func readable(s *record.Sync, manifest *abi.Manifest) (out record.Answer) {
	if s.Answered {
		var a abi.SyncResponse
		if err := abi.DecodeResponse(s.Answer, &a); err != nil {
			out.Failed = fmt.Sprintf("malformed answer of %d bytes: %v", len(s.Answer), err)
		} else {
			out = record.Describe(&a, manifest)
		}
	} else {
		out.Failed = "no answer: " + s.Error
	}
	for _, p := range s.Performs {
		var in abi.PerformRequest
		if err := abi.DecodePerform(p.In, &in); err != nil {
			out.Performed = append(out.Performed, record.Note{Do: fmt.Sprintf("malformed request of %d bytes: %v", len(p.In),
				err)})
			continue
		}
		out.Performed = append(out.Performed, record.Notes(in.Effects)...)
	}
	return out
}

// Warnings tell what makes a comparison with another module questionable.
func Warnings(ctx context.Context, f *record.File, p *plugins.Plugin) []string {
	i, err := plugins.Inspect(ctx, p)
	if err != nil {
		return nil // Run says it
	}
	var out []string
	for _, s := range f.Sources {
		a, b := controllerOf(s.Manifest, f.Controller), controllerOf(i.Manifest, f.Controller)
		if a == nil || b == nil {
			continue
		}
		if d := differing(a, b); d != "" {
			out = append(out, fmt.Sprintf("view %s isn't declared as in the recorded plugin %s %s: the new module gets the recorded snapshots, which are those of the old views", d, s.Plugin, s.Version))
		}
	}
	return out
}

func controllerOf(m *abi.Manifest, name string) *abi.Controller {
	for i := range m.Controllers {
		if m.Controllers[i].Name == name {
			return &m.Controllers[i]
		}
	}
	return nil
}

// differing names the first view that two controllers declare differently.
func differing(a, b *abi.Controller) string {
	for i := range max(len(a.Views), len(b.Views)) {
		if i >= len(a.Views) {
			return b.Views[i].Name
		}
		only := func(v abi.View) []byte {
			return abi.AppendManifest(nil, &abi.Manifest{Controllers: []abi.Controller{{Views: []abi.View{v}}}})
		}
		if i >= len(b.Views) || !bytes.Equal(only(a.Views[i]), only(b.Views[i])) {
			return a.Views[i].Name
		}
	}
	return ""
}

func describe(k abi.KeyRef) string { return strings.TrimPrefix(k.Namespace+"/"+k.Name, "/") }
