package conformance

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/check"
	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
	"github.com/windlass-dev/windlass/sdk/plugintest/watchdog"
)

var update = flag.Bool("update", false, "write what comes out of golden cases into their files, under want")

// checkGolden runs a plugin natively on all its golden cases.
func checkGolden(t *testing.T, p builtin.Plugin) {
	g := watched{guesttest.Native(p.Native)}
	eachCase(t, p, func(t *testing.T, c *golden.Case) {
		r, err := check.Golden(g, c, *update)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			t.Error(f.Text)
		}
	})
}

// checkModule runs all golden cases in the built module: it does what the plugin does natively.
func checkModule(t *testing.T, p builtin.Plugin) {
	found, err := plugins.Named("builtin:" + p.Native.Name)
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

	g := watched{guesttest.Native(p.Native)}
	eachCase(t, p, func(t *testing.T, c *golden.Case) {
		if d := cmp.Diff(caseOutput(t, g, c), caseOutput(t, m, c)); d != "" {
			t.Errorf("the module behaves differently from the same code run natively (run make plugins if the module is old) "+
				"(-native +sandboxed):\n%s", d)
		}
	})
}

// eachCase runs a test for each golden case of a plugin, by topic and name.
func eachCase(t *testing.T, p builtin.Plugin, f func(t *testing.T, c *golden.Case)) {
	t.Helper()
	cases, err := golden.Cases(testdata(p))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID(), func(t *testing.T) { f(t, c) })
	}
}

// caseOutput runs a case on the declared fields and returns what came out.
func caseOutput(t *testing.T, g guest.Guest, c *golden.Case) string {
	t.Helper()
	out, _, err := c.Run(g, true)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkWakes checks which events wake which keys, by the plugin's files that say so.
func checkWakes(t *testing.T, p builtin.Plugin) {
	files, err := filepath.Glob(filepath.Join(testdata(p), "wakes*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Errorf("no %s says which events wake which keys", filepath.Join(testdata(p), "wakes*.yaml"))
	}

	for _, f := range files {
		r, err := check.Do(t.Context(), guesttest.Native(p.Native), pipe.Request{Do: "wakes", File: f})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Cases {
			t.Run(e.Name, func(t *testing.T) {
				if e.Failed != "" {
					t.Error(e.Failed)
				}
			})
		}
	}
}

// watched is a guest in this process whose syncs end.
type watched struct{ guest.Guest }

func (w watched) Sync(request []byte, perform guest.Perform) (answer []byte, stats guest.Stats, err error) {
	endless := watchdog.Run(func(here func()) {
		here()
		answer, stats, err = w.Guest.Sync(request, perform)
	})
	if endless == nil {
		return answer, stats, err
	}

	var r abi.SyncRequest
	if err := abi.DecodeRequest(request, &r); err != nil {
		return nil, guest.Stats{}, errors.Join(endless, err)
	}

	return nil, guest.Stats{}, fmt.Errorf("the sync of %s %s: %w", w.Manifest().Controllers[r.Controller].Name,
		r.Key.String(), endless)
}
