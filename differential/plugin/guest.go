package plugin

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/guest"
	"github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/sdk"
)

// Plugins in this process have the host's pure functions too.
func init() {
	sdk.Helpers = module.CallHelper
}

// inProcess is a plugin in this process: that its module answers the same is the conformance tests' matter.
type inProcess struct {
	plugin   *sdk.Plugin
	manifest *abi.Manifest
	settings *abi.Settings
}

// InProcess returns a plugin as a guest.
func InProcess(p *sdk.Plugin) guest.Guest { return &inProcess{plugin: p, manifest: p.Manifest()} }

func (g *inProcess) Manifest() *abi.Manifest { return g.manifest }

func (g *inProcess) Configure(s *abi.Settings) error {
	g.settings = s
	if g.plugin.Check != nil {
		return g.plugin.Check(s)
	}
	return nil
}

func (g *inProcess) Sync(request []byte, perform guest.Perform) ([]byte, guest.Stats, error) {
	var r abi.SyncRequest
	if err := abi.DecodeRequest(request, &r); err != nil {
		return nil, guest.Stats{}, err
	}
	a := sdk.Run(g.plugin, &r, g.settings, func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		b, err := perform(abi.AppendPerform(nil, p))
		if err != nil {
			return nil, err
		}
		var out abi.PerformResponse
		return &out, abi.DecodePerformed(b, &out)
	})
	return abi.AppendResponse(nil, a), guest.Stats{}, nil
}
