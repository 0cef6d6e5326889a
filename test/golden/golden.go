// Package golden runs a plugin natively on the cases of package host/golden, and its module beside it.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/golden"
	"github.com/windlass-dev/windlass/host/guest"
	"github.com/windlass-dev/windlass/sdk"
	_ "github.com/windlass-dev/windlass/sdk/plugintest" // has the flag -update
	_ "github.com/windlass-dev/windlass/test/module"    // gives plugins the host's pure functions
)

func update() bool { return flag.Lookup("update").Value.String() == "true" }

// Run runs all cases of a folder.
func Run(t *testing.T, p *sdk.Plugin, folder string) {
	t.Helper()
	g := &native{plugin: p, manifest: p.Manifest()}
	each(t, folder, func(t *testing.T, in string) { run(t, g, in) })
}

func each(t *testing.T, folder string, f func(t *testing.T, in string)) {
	t.Helper()
	cases, err := golden.Cases(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range cases {
		t.Run(golden.Name(in), func(t *testing.T) { f(t, in) })
	}
}

func run(t *testing.T, g guest.Guest, in string) {
	projected, whole := output(t, g, in, true), output(t, g, in, false)
	if d := cmp.Diff(whole, projected); d != "" {
		missing, err := golden.Undeclared(g, in)
		if err != nil {
			t.Fatal(err)
		}
		t.Fatalf("on the declared fields alone the plugin answers otherwise than on whole objects: declare %s (-whole +projected):\n%s", strings.Join(missing, "; "), d)
	}
	out := golden.Out(in)
	if update() {
		if err := os.WriteFile(out, []byte(projected), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("%v: run go test with -update, then read what it wrote", err)
	}
	if d := cmp.Diff(string(want), projected); d != "" {
		t.Fatalf("%s (-want +got):\n%s", out, d)
	}
}

// output runs a case and gives what came out.
func output(t *testing.T, g guest.Guest, in string, cut bool) string {
	t.Helper()
	out, _, err := golden.Run(g, in, cut)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// native is a plugin in this process.
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

func (n *native) Sync(request []byte, perform guest.Perform) ([]byte, guest.Stats, error) {
	var r abi.SyncRequest
	if err := abi.DecodeRequest(request, &r); err != nil {
		return nil, guest.Stats{}, err
	}
	a := sdk.Run(n.plugin, &r, n.settings, func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		b, err := perform(abi.AppendPerform(nil, p))
		if err != nil {
			return nil, err
		}
		var out abi.PerformResponse
		return &out, abi.DecodePerformed(b, &out)
	})
	return abi.AppendResponse(nil, a), guest.Stats{}, nil
}
