// Package guest runs a plugin's syncs without a manager: in a module, or in the process of the plugin's author.
package guest

import (
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
)

// Perform answers what a guest performs in the middle of a sync: both are messages of the ABI. Its error ends the sync.
type Perform = func(request []byte) (outcome []byte, err error)

// Guest is a plugin that can be called.
type Guest interface {
	Manifest() *abi.Manifest
	// Configure passes the plugin its settings; the error is what it says against them.
	Configure(s *abi.Settings) error
	// Sync hands over a request and returns the answer, which belongs to the caller. Its error is that there is no answer:
	// a panic, a trap, a refused perform.
	Sync(request []byte, perform Perform) (answer []byte, stats Stats, err error)
}

// Stats are what a sync has used, 0 where that isn't known.
type Stats struct {
	Fuel   int64 `json:"fuel,omitempty"`   // units of the sandbox's meter
	Memory int64 `json:"memory,omitempty"` // bytes of linear memory
}

// Module is a plugin's module in the sandbox.
type Module struct {
	loaded   *plugins.Loaded
	ctx      context.Context
	settings []byte // nil: the defaults
}

// Load compiles a plugin. Close frees it.
func Load(ctx context.Context, p *plugins.Plugin, o sandbox.Options) (*Module, error) {
	l, err := plugins.Open(ctx, p, o, nil)
	if err != nil {
		return nil, err
	}
	return &Module{loaded: l, ctx: ctx}, nil
}

// Close frees the module.
func (m *Module) Close() error { return m.loaded.Close(context.WithoutCancel(m.ctx)) }

// Sandbox is the module itself.
func (m *Module) Sandbox() *sandbox.Module { return m.loaded.Module }

// Manifest is the module's.
func (m *Module) Manifest() *abi.Manifest { return m.loaded.Manifest }

// Configure passes the module its settings.
func (m *Module) Configure(s *abi.Settings) error {
	m.settings = abi.AppendSettings(nil, s)
	return m.loaded.Module.Configure(m.ctx, m.settings)
}

// Sync is one sync in the sandbox.
func (m *Module) Sync(request []byte, perform Perform) (answer []byte, stats Stats, err error) {
	var outcomes [][]byte
	call := &sandbox.Call{
		Size:  len(request),
		Write: func(b []byte) { copy(b, request) },
		Perform: func(_ context.Context, in []byte) ([]byte, error) {
			out, err := perform(append([]byte(nil), in...)) // the guest's memory is not ours to keep
			outcomes = append(outcomes, out)
			return out, err
		},
	}
	used, err := m.loaded.Module.Sync(m.ctx, call, func(b []byte) error {
		answer = append([]byte{}, b...)
		return nil
	})
	if sandbox.Debuggable(err) {
		err = m.explainTrap(err, request, outcomes)
	}
	return answer, Stats{Fuel: used.Fuel, Memory: used.Memory}, err
}

// explainTrap adds to a trap where in its source the plugin panicked or ran out of memory, if the module's debug form
// lies beside it.
func (m *Module) explainTrap(err error, request []byte, outcomes [][]byte) error {
	form, missing := plugins.DebugForm(m.loaded.Plugin)
	if missing != nil || form == nil {
		return err
	}
	n := 0
	trap, failed := sandbox.Debug(m.ctx, form, sandbox.Options{Name: m.loaded.Name,
		MemoryLimit: m.loaded.Module.MemoryLimit(), Helpers: plugins.Helpers}, m.settings, &sandbox.Call{
		Size:  len(request),
		Write: func(b []byte) { copy(b, request) },
		Perform: func(context.Context, []byte) ([]byte, error) {
			if n++; n > len(outcomes) {
				return nil, errors.New("the debug form performs more than the module did: build both again")
			}
			return outcomes[n-1], nil
		},
	}, err)
	if failed != nil || trap == nil {
		return err
	}
	return fmt.Errorf("%s\n%w", trap, err)
}
