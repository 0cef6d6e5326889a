package goldentest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/host/golden"
	"github.com/windlass-dev/windlass/host/guest"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/sdk"
)

// Module runs all cases of a folder in the built module: it does what the plugin does natively.
func Module(t *testing.T, p *sdk.Plugin, folder string) {
	t.Helper()
	found, err := plugins.Named("builtin:" + p.Name)
	if err != nil {
		t.Fatalf("%v: run make plugins", err)
	}
	m, err := guest.Load(t.Context(), found, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	g := watched{Native(p)}
	eachCase(t, folder, func(t *testing.T, c *golden.Case) {
		if d := cmp.Diff(caseOutput(t, g, c, true), caseOutput(t, m, c, true)); d != "" {
			t.Errorf("the module behaves differently from the same code run natively (run make plugins if the module is old) "+
				"(-native +sandboxed):\n%s", d)
		}
	})
}
