// Package plugintest tests plugins: on golden files, and in a simulated cluster with faults.
//
// The controller runs natively, in the test's process, so that coverage and a debugger work. All around it is windlass
// itself, as a program that the test starts: it takes the snapshots, checks and does the effects, and simulates the
// cluster. It is found by $WINDLASS, on the PATH, or as _output/windlass in a folder above the test's.
//
//	func TestCases(t *testing.T)      { plugintest.Golden(t, webapp.Plugin, "testdata") }
//	func TestWakes(t *testing.T)      { plugintest.Wakes(t, webapp.Plugin, "testdata/wakes.yaml") }
//	func TestSimulation(t *testing.T) { plugintest.Run(t, webapp.Plugin, plugintest.Options{}) }
package plugintest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
)

var update = flag.Bool("update", false, "write what comes out of golden cases into their files, under want")

// Golden runs the cases of a folder. Each document of its files TOPIC.yaml is a case: its name, the objects, the key
// and the time, and at the end, under want, what the sync does; go test -update writes that. go test -run takes a case
// by its topic and its name, such as -run TestCases/scale/down.
//
// Each case runs on objects cut to the declared fields, twice, and on whole objects: it must come out the same.
func Golden(t *testing.T, p *sdk.Plugin, folder string) {
	t.Helper()
	all, err := runWindlass(t, p, pipe.Request{Do: "cases", File: folder})
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range all.Cases {
		t.Run(c.Topic+"/"+c.Name, func(t *testing.T) {
			r, err := runWindlass(t, p, pipe.Request{Do: "golden", File: c.File, Case: c.Name, Update: *update})
			reportFindings(t, r, err)
		})
	}
}

// Wakes makes the events of a file, such as testdata/wakes.yaml, happen, each in the world that the file has, and
// compares the keys that it wakes with those that the file names. Nothing is synced: it is the Reads that are tested.
func Wakes(t *testing.T, p *sdk.Plugin, file string) {
	t.Helper()
	r, err := runWindlass(t, p, pipe.Request{Do: "wakes", File: file})
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

// Options say in what world a plugin is simulated.
type Options struct {
	// World is the file that the simulation begins with, by default testdata/world.yaml: objects, and under `then` what
	// people do later. With `until: 72h` the clock goes on for three days after each of these, for a controller that works
	// again and again.
	World string
	// CRDs are files, or folders of files, with CustomResourceDefinitions; by default the folder crd where there is one.
	CRDs []string
	// With are plugins that run in the same cluster: builtin:NAME, or a module's file.
	With []string
	// Settings are the plugin's, by name.
	Settings map[string]string
	// Seeds is how many runs are out of order, by default 10.
	Seeds int
	// Except are checks that the controller is meant not to pass.
	Except []Check
	// Keep are resources, such as v1/persistentvolumeclaims, whose objects may stay when the key's object is gone.
	Keep []string
}

// Report is what came of a simulation.
type Report struct {
	Runs, Syncs int
	Writes      int // of the undisturbed run
	Findings    []Finding
}

// Finding is something that is wrong with a plugin.
type Finding struct {
	Check Check
	// Scenario is what was done in the run, Seed the order of its events, 0 for the undisturbed one.
	Scenario string
	Seed     int64
	// Step is the first step at which it shows, At what that was.
	Step    int
	At      string
	Message string
	Detail  string
	// File runs it again, by [Replay].
	File string

	text string
}

// String reports all of it.
func (f Finding) String() string { return f.text }

// Run simulates a world, undisturbed and then under faults, and fails the test with each thing that is wrong. The files
// that run it again are written to testdata/findings.
func Run(t *testing.T, p *sdk.Plugin, o Options) {
	t.Helper()
	r, err := runWindlass(t, p, o.request("testdata/findings"))
	reportFindings(t, r, err)
	if err == nil {
		t.Logf("%d runs, %d syncs, %d writes in the undisturbed run", r.Runs, r.Syncs, r.Writes)
	}
}

// Find is Run that gives what is wrong in place of failing the test, and writes no files.
func Find(t *testing.T, p *sdk.Plugin, o Options) (*Report, error) {
	t.Helper()
	r, err := runWindlass(t, p, o.request(""))
	if err != nil {
		return nil, err
	}
	report := &Report{Runs: r.Runs, Syncs: r.Syncs, Writes: r.Writes}
	for _, f := range r.Findings {
		report.Findings = append(report.Findings, Finding{
			Check: Check(f.Check), Scenario: f.Scenario, Seed: f.Seed, Step: f.Step, At: f.At, Message: f.Message,
			Detail: f.Detail, File: f.File, text: f.Text,
		})
	}
	return report, nil
}

// Replay runs the file of a finding again, and fails the test if it is still so.
func Replay(t *testing.T, p *sdk.Plugin, file string) {
	t.Helper()
	r, err := runWindlass(t, p, pipe.Request{Do: "replay", File: file})
	reportFindings(t, r, err)
}

func (o *Options) request(findings string) pipe.Request {
	q := pipe.Request{Do: "explore", World: o.World, Definitions: o.CRDs, With: o.With, Settings: o.Settings,
		Seeds: o.Seeds, Keep: o.Keep, Findings: findings}
	if q.World == "" {
		q.World = filepath.Join("testdata", "world.yaml")
	}
	if _, err := os.Stat("crd"); err == nil && o.CRDs == nil {
		q.Definitions = []string{"crd"}
	}
	for _, c := range o.Except {
		q.Except = append(q.Except, string(c))
	}
	return q
}

func reportFindings(t *testing.T, r *pipe.Response, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Error(f.Text)
	}
}
