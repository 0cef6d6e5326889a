package conformance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/author/check"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
	"github.com/windlass-dev/windlass/test/worlds"
)

// options are what a plugin's testdata/simulation.yaml may say of its simulation; package plugintest has the same for
// authors.
type options struct {
	// None is why there is no simulation, and no world.yaml.
	None string `json:"none"`
	// With are plugins that run in the same cluster: builtin:NAME.
	With []string `json:"with"`
	// Settings are the plugin's, by name.
	Settings map[string]string `json:"settings"`
	// Seeds is how many runs are out of order, 0 for the simulator's default.
	Seeds int `json:"seeds"`
	// Except are checks that the controller is meant not to pass, each with the reason.
	Except map[string]string `json:"except"`
	// Keep are resources whose objects may stay when the key's object is gone.
	Keep []string `json:"keep"`
	// Unasked are lazy views that the undisturbed run doesn't ask for, so that no such ask fails, each with the reason.
	Unasked map[string]string `json:"unasked"`
}

// simulation runs a plugin natively in a simulated cluster that begins with testdata/world.yaml, undisturbed and then
// under faults.
func simulation(t *testing.T, p builtin.Plugin) {
	world, o := filepath.Join(testdata(p), "world.yaml"), optionsOf(t, p)
	if o.None != "" {
		if _, err := os.Stat(world); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("simulation.yaml says that there is no simulation (%s), and there is a world.yaml (%v)", o.None, err)
		}
		return
	}

	q := pipe.Request{World: world, With: o.With, Settings: o.Settings, Seeds: o.Seeds, Keep: o.Keep,
		Findings: filepath.Join(testdata(p), "findings")}
	if worlds.Raced {
		q.Seeds = 1 // of what is out of order: what runs at once is the same in each
	}
	r, err := check.Explore(t.Context(), elsewhen{guesttest.Native(p.Native), t}, q)
	if err != nil {
		t.Fatal(err)
	}
	meant := map[string]bool{}
	for _, f := range r.Findings {
		if o.Except[f.Check] == "" {
			t.Error(f.Text)
			continue
		}
		meant[f.Check] = true
		if err := os.Remove(f.File); err != nil {
			t.Error(err)
		}
	}
	for name, why := range o.Except {
		if !meant[name] {
			t.Errorf("simulation.yaml excepts %s (%q), and nothing is found: take it out", name, why)
		}
	}
	t.Logf("%d runs, %d syncs, %d writes in the undisturbed run", r.Runs, r.Syncs, r.Writes)
	for _, c := range p.Native.Manifest().Controllers {
		for _, v := range c.Views {
			what := c.Name + " " + v.Name
			switch asked, why := slices.Contains(r.Asked, what), o.Unasked[what]; {
			case v.Lazy && !asked && why == "":
				t.Errorf("the undisturbed run doesn't ask for %s, so no such ask has failed: extend its world", what)
			case asked && why != "":
				t.Errorf("simulation.yaml says that %s isn't asked for (%q), and it is: take it out", what, why)
			}
		}
	}
	if r.Writes == 0 {
		t.Error("the undisturbed run writes nothing: its world has nothing for the plugin to do")
	}
}

func optionsOf(t *testing.T, p builtin.Plugin) (o options) {
	text, err := os.ReadFile(filepath.Join(testdata(p), "simulation.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return o
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &o); err != nil {
		t.Fatalf("simulation.yaml: %v", err)
	}
	return o
}

// elsewhen is a plugin in this process that can be called as if its clock showed another time.
type elsewhen struct {
	guest.Guest
	t *testing.T
}

// SyncElsewhen is Sync where it is the year 2000.
func (e elsewhen) SyncElsewhen(request []byte, perform guest.Perform) (answer []byte, stats guest.Stats, err error) {
	synctest.Test(e.t, func(*testing.T) { answer, stats, err = e.Sync(request, perform) })
	return answer, stats, err
}
