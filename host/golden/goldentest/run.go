package goldentest

import (
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/host/golden"
	"github.com/windlass-dev/windlass/host/guest"
	"github.com/windlass-dev/windlass/sdk"
	_ "github.com/windlass-dev/windlass/sdk/plugintest" // has the flag -update
)

func isUpdating() bool { return flag.Lookup("update").Value.String() == "true" }

// Run runs a plugin natively on all cases of a folder; with go test -update it writes what comes out.
func Run(t *testing.T, p *sdk.Plugin, folder string) {
	t.Helper()
	g := watched{Native(p)}
	eachCase(t, folder, func(t *testing.T, c *golden.Case) { runCase(t, g, c) })
}

// eachCase runs a test for each case of a folder, by topic and name.
func eachCase(t *testing.T, folder string, f func(t *testing.T, c *golden.Case)) {
	t.Helper()
	cases, err := golden.Cases(folder)
	if err != nil {
		t.Fatal(err)
	}

	for len(cases) > 0 {
		n := 1
		for n < len(cases) && cases[n].File == cases[0].File {
			n++
		}
		of := cases[:n]
		cases = cases[n:]
		t.Run(of[0].Topic(), func(t *testing.T) {
			for _, c := range of {
				t.Run(c.Name, func(t *testing.T) { f(t, c) })
			}
		})
	}
}

func runCase(t *testing.T, g guest.Guest, c *golden.Case) {
	projected, whole := caseOutput(t, g, c, true), caseOutput(t, g, c, false)
	if d := cmp.Diff(whole, projected); d != "" {
		missing, err := c.Undeclared(g)
		if err != nil {
			t.Fatal(err)
		}
		t.Fatalf("on the declared fields alone the plugin answers otherwise than on whole objects: declare %s "+
			"(-whole +projected):\n%s", strings.Join(missing, "; "), d)
	}

	if isUpdating() {
		if err := c.Update(projected); err != nil {
			t.Fatal(err)
		}

		return
	}
	want, err := c.Wanted()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, projected); d != "" {
		t.Fatalf("%s:%d: case %s (-want +got):\n%s", c.File, c.Line, c.Name, d)
	}
}

// caseOutput runs a case and returns what came out.
func caseOutput(t *testing.T, g guest.Guest, c *golden.Case, cut bool) string {
	t.Helper()
	out, _, err := c.Run(g, cut)
	if err != nil {
		t.Fatal(err)
	}

	return out
}
