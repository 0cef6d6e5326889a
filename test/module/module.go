// Package module runs a plugin's built module in the sandbox beside the same code compiled natively.
package module

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/sdk"
)

// Plugins that run natively have the host's pure functions too.
func init() {
	sdk.Helpers = module.CallHelper
}

// Perform answers performed effects.
type Perform = func(*abi.PerformRequest) (*abi.PerformResponse, error)

// Module is a plugin in the sandbox, with the defaults of its settings.
type Module struct{ loaded *plugins.Loaded }

// Open loads the module that make plugins has built.
func Open(t testing.TB, p *sdk.Plugin) *Module {
	t.Helper()
	found, err := plugins.Named("builtin:" + p.Name)
	if err != nil {
		t.Fatalf("%v: run make plugins", err)
	}
	loaded, err := plugins.Open(t.Context(), found, sandbox.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loaded.Close(context.Background()) })
	p.Manifest() // numbers the views
	return &Module{loaded}
}

// Run is one sync in the sandbox, as sdk.Run is natively.
func (m *Module) Run(t testing.TB, r *abi.SyncRequest, perform Perform) *abi.SyncResponse {
	t.Helper()
	a, _ := m.Measure(t, r, perform)
	return a
}

// Measure is Run, and returns what the sync took.
func (m *Module) Measure(t testing.TB, r *abi.SyncRequest, perform Perform) (*abi.SyncResponse, sandbox.Stats) {
	t.Helper()
	a := &abi.SyncResponse{}
	// the guest's memory is not ours to keep
	c := newCall(r, func(request []byte) ([]byte, error) { return answerPerform(bytes.Clone(request), perform) })
	stats, err := m.loaded.Module.Sync(t.Context(), c, func(b []byte) error {
		return abi.DecodeResponse(bytes.Clone(b), a)
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, stats
}

func newCall(r *abi.SyncRequest, perform func([]byte) ([]byte, error)) *sandbox.Call {
	return &sandbox.Call{
		Size:    abi.SizeRequest(r),
		Write:   func(b []byte) { abi.AppendRequest(b[:0], r) },
		Perform: func(_ context.Context, b []byte) ([]byte, error) { return perform(b) },
	}
}

func answerPerform(request []byte, perform Perform) ([]byte, error) {
	var r abi.PerformRequest
	if err := abi.DecodePerform(request, &r); err != nil {
		return nil, err
	}
	a, err := perform(&r)
	if err != nil {
		return nil, err
	}
	return abi.AppendPerformed(nil, a), nil
}

// Succeed answers performed effects: all are done, and what was made has a name.
func Succeed(r *abi.PerformRequest) (*abi.PerformResponse, error) {
	return &abi.PerformResponse{Outcomes: succeed(r.Effects)}, nil
}

func succeed(effects []abi.Effect) (l []abi.Outcome) {
	for i := range effects {
		e := &effects[i]
		o := abi.Outcome{Name: e.Name, Members: succeed(e.Members)}
		if o.Name == "" {
			o.Name = "made-" + strconv.Itoa(i)
		}
		l = append(l, o)
	}
	return l
}

// Agree fails the test unless the module performs and answers byte for byte what the same code does natively.
func Agree(t *testing.T, p *sdk.Plugin, requests ...*abi.SyncRequest) {
	t.Helper()
	m := Open(t, p)
	for i, r := range requests {
		// What is performed, and in the end the answer.
		var native, sandboxed [][]byte
		a := sdk.Run(p, r, settings(p), func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
			native = append(native, abi.AppendPerform(nil, r))
			return Succeed(r)
		})
		native = append(native, abi.AppendResponse(nil, a))
		c := newCall(r, func(b []byte) ([]byte, error) {
			sandboxed = append(sandboxed, bytes.Clone(b))
			return answerPerform(b, Succeed)
		})
		_, err := m.loaded.Module.Sync(t.Context(), c, func(b []byte) error {
			sandboxed = append(sandboxed, bytes.Clone(b))
			return nil
		})
		if err != nil || a.Error != "" {
			t.Errorf("request %d: sandboxed error %v, native error %q", i, err, a.Error)
		}
		if d := difference(native, sandboxed); d != "" {
			t.Errorf("request %d: %s", i, d)
		}
	}
}

func difference(native, sandboxed [][]byte) string {
	for i := range max(len(native), len(sandboxed)) {
		switch {
		case i >= len(native) || i >= len(sandboxed):
			return fmt.Sprintf("natively %d messages, sandboxed %d", len(native), len(sandboxed))
		case !bytes.Equal(native[i], sandboxed[i]):
			return fmt.Sprintf("message %d: native\n%q\nsandboxed\n%q", i, native[i], sandboxed[i])
		}
	}
	return ""
}

// settings are the defaults.
func settings(p *sdk.Plugin) *sdk.Settings {
	s := &sdk.Settings{}
	for _, x := range p.Settings {
		s.Values = append(s.Values, x.Default)
	}
	return s
}
