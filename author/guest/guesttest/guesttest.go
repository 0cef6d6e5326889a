// Package guesttest calls a plugin that runs in a test's own process.
package guesttest

import (
	"fmt"
	"runtime/debug"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/sdk"
)

// Plugins that run natively have the host's pure functions too.
func init() { sdk.Helpers = module.CallHelper }

// Native is a plugin that runs in this process. That it panics is a sync's error.
func Native(p *sdk.Plugin) guest.Guest { return &native{plugin: p, manifest: p.Manifest()} }

type native struct {
	plugin   *sdk.Plugin
	manifest *abi.Manifest
	settings *abi.Settings
}

func (n *native) Manifest() *abi.Manifest { return n.manifest }

func (n *native) Configure(s *abi.Settings) error {
	n.settings = s
	if n.plugin.Check != nil {
		return n.plugin.Check(s)
	}

	return nil
}

func (n *native) Sync(request []byte, perform guest.Perform) (answer []byte, stats guest.Stats, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	var r abi.SyncRequest
	if err := abi.DecodeRequest(request, &r); err != nil {
		return nil, stats, err
	}

	a := sdk.Run(n.plugin, &r, n.settings, func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		b, err := perform(abi.AppendPerform(nil, p))
		if err != nil {
			return nil, err
		}
		var out abi.PerformResponse

		return &out, abi.DecodePerformed(b, &out)
	})

	return abi.AppendResponse(nil, a), stats, nil
}
