package golden

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/module"
)

// Module runs all cases of a folder in the built module: it does what the plugin does natively.
func Module(t *testing.T, p *sdk.Plugin, folder string) {
	t.Helper()
	m := module.Open(t, p)
	each(t, folder, func(t *testing.T, in string) {
		sandboxed := sync(t, p, in, true, func(_ *sdk.Plugin, r *abi.SyncRequest, s *sdk.Settings, perform module.Perform) *abi.SyncResponse {
			m.Configure(t, s)
			return m.Run(t, r, perform)
		})
		if d := cmp.Diff(sync(t, p, in, true, sdk.Run), sandboxed); d != "" {
			t.Errorf("the module does otherwise than the same code natively (run make plugins if it is old) (-native +sandboxed):\n%s", d)
		}
	})
}
