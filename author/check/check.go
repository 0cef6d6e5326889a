// Package check does what `windlass plugin test` and package sdk/plugintest ask for: golden cases, simulations, and
// findings run again.
package check

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/author/simulator"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
)

// Do does a job.
func Do(ctx context.Context, g guest.Guest, q pipe.Request) (*pipe.Response, error) {
	switch q.Do {
	case "cases":
		return listCases(q.File)
	case "golden":
		return runCase(g, q)
	case "wakes":
		return checkWakes(g, q.File)
	case "explore":
		return Explore(ctx, g, q)
	case "replay":
		return Replay(ctx, g, q.File)
	}
	return nil, fmt.Errorf("windlass doesn't know the job %q: it is older than the SDK, use a newer windlass", q.Do)
}

// listCases names the cases of a folder.
func listCases(folder string) (*pipe.Response, error) {
	cases, err := golden.Cases(folder)
	if err != nil {
		return nil, err
	}

	r := &pipe.Response{}
	for _, c := range cases {
		r.Cases = append(r.Cases, pipe.Case{File: c.File, Topic: c.Topic(), Name: c.Name})
	}

	return r, nil
}

// runCase runs the case that a job names.
func runCase(g guest.Guest, q pipe.Request) (*pipe.Response, error) {
	cases, err := golden.ReadFile(q.File)
	if err != nil {
		return nil, err
	}

	for _, c := range cases {
		if c.Name != q.Case {
			continue
		}
		r, err := Golden(g, c, q.Update)
		if err != nil {
			return nil, err
		}

		return &pipe.Response{Syncs: r.Syncs, Findings: r.Findings}, nil
	}

	return nil, fmt.Errorf("%s: there is no case %s", q.File, q.Case)
}

// checkWakes makes the events of a file happen.
func checkWakes(g guest.Guest, file string) (*pipe.Response, error) {
	all, err := golden.CheckWakes(g, file)
	if err != nil {
		return nil, err
	}

	topic := strings.TrimSuffix(filepath.Base(file), ".yaml")
	r := &pipe.Response{}
	for _, x := range all {
		r.Cases = append(r.Cases, pipe.Case{File: file, Topic: topic, Name: x.What, Failed: x.Wrong})
		if x.Wrong != "" {
			r.Findings = append(r.Findings, finding(simulator.Finding{
				Check: "wakes", Scenario: simulator.Scenario{Kind: topic + "/" + x.What}, Step: 1,
				Message: file + ": the event " + x.Wrong,
			}))
		}
	}

	return r, nil
}

// Case is what came of a golden case.
type Case struct {
	Syncs    int
	Stats    guest.Stats // the most of them
	Findings []pipe.Finding
}

// Golden runs a case: on the declared fields, once more, and on whole objects; then it compares what came out with what
// should.
func Golden(g guest.Guest, in *golden.Case, update bool) (*Case, error) {
	c := &Case{}
	run := func(cut bool) (string, error) {
		out, stats, err := in.Run(g, cut)
		c.Syncs++
		c.Stats.Fuel, c.Stats.Memory = max(c.Stats.Fuel, stats.Fuel), max(c.Stats.Memory, stats.Memory)

		return out, err
	}
	find := func(check simulator.Check, message, detail string) {
		f := simulator.Finding{
			Check: check, Scenario: simulator.Scenario{Kind: "case " + in.ID()}, Step: 1, Message: message, Detail: detail,
		}
		c.Findings = append(c.Findings, finding(f))
	}

	got, err := run(true)
	if err != nil {
		return nil, err
	}
	again, err := run(true)
	if err != nil {
		return nil, err
	}
	if d := record.Diff(got, again); d != "" {
		find(simulator.Determinism,
			"the same call twice gives two answers: it depends on a package variable, on the order of a map, or on chance", d)
	}

	whole, err := run(false)
	if err != nil {
		return nil, err
	}
	if d := record.Diff(whole, got); d != "" {
		missing, err := in.Undeclared(g)
		if err != nil {
			return nil, err
		}
		find(simulator.Fields,
			"it reads fields that it doesn't declare, and would decide otherwise if it saw them: declare "+strings.Join(missing,
				"; "),
			"-whole objects +declared fields\n"+d)

		return c, nil
	}

	if err := in.Asserts(got); err != nil {
		return nil, err
	}
	if update {
		return c, in.Update(got)
	}
	holds, err := in.Holds(got)
	if err != nil {
		return nil, err
	}
	if !holds {
		want, err := in.Wanted()
		if err != nil {
			return nil, err
		}
		d := record.Diff(want, got)
		find("golden", fmt.Sprintf("%s:%d wants something else (-want +got); if the output is right, run with -update "+
			"(windlass plugin test: --update)", in.File, in.Line), d)
	}

	return c, nil
}

// Explore simulates a world.
func Explore(ctx context.Context, g guest.Guest, q pipe.Request) (*pipe.Response, error) {
	world, err := simulator.ReadWorld(q.World)
	if err != nil {
		return nil, err
	}

	recorded := &simulator.Recorded{Plugin: g.Manifest().Name, World: world, With: q.With, Keep: q.Keep,
		Settings: q.Settings}
	if recorded.Definitions, err = simulator.ReadManifests(q.Definitions...); err != nil {
		return nil, err
	}

	o, done, err := options(ctx, g, recorded)
	defer done()
	if err != nil {
		return nil, err
	}

	o.Seeds = q.Seeds
	for _, c := range q.Except {
		o.Except = append(o.Except, simulator.Check(c))
	}

	report, err := simulator.Explore(ctx, g, o)
	if err != nil {
		return nil, err
	}

	for i := range report.Findings {
		if q.Findings == "" {
			break
		}
		recorded.Finding = report.Findings[i]
		if report.Findings[i].File, err = recorded.Write(q.Findings); err != nil {
			return nil, err
		}
	}
	return response(report), nil
}

// Replay runs a finding again.
func Replay(ctx context.Context, g guest.Guest, file string) (*pipe.Response, error) {
	recorded, err := simulator.ReadRecorded(file)
	if err != nil {
		return nil, err
	}
	o, done, err := options(ctx, g, recorded)
	defer done()
	if err != nil {
		return nil, err
	}
	report, err := simulator.Rerun(ctx, g, o, &recorded.Finding)
	if err != nil {
		return nil, err
	}
	for i := range report.Findings {
		report.Findings[i].File = file
	}
	return response(report), nil
}

// options make what a simulation needs beside the plugin; done frees it.
func options(ctx context.Context, g guest.Guest, r *simulator.Recorded) (o simulator.Options, done func(), err error) {
	var loaded []*guest.Module
	done = func() {
		for _, m := range loaded {
			_ = m.Close()
		}
	}
	o = simulator.Options{World: r.World, Keep: r.Keep, Definitions: r.Definitions}
	for _, name := range r.With {
		p, err := plugins.Named(name)
		if err != nil {
			return o, done, err
		}
		m, err := guest.Load(ctx, p, sandbox.Options{})
		if err != nil {
			return o, done, err
		}
		loaded = append(loaded, m)
		o.With = append(o.With, m)
	}
	settings, err := golden.Settings(g.Manifest(), r.Settings)
	if err != nil {
		return o, done, err
	}
	return o, done, g.Configure(settings)
}

func response(r *simulator.Report) *pipe.Response {
	out := &pipe.Response{Runs: r.Runs, Syncs: r.Syncs, Writes: r.Writes, Asked: r.Asked}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, finding(f))
	}
	return out
}

func finding(f simulator.Finding) pipe.Finding {
	return pipe.Finding{
		Check: string(f.Check), Scenario: f.Scenario.String(), Seed: f.Scenario.Seed, Step: f.Step, At: f.At,
		Message: f.Message, Detail: f.Detail, File: f.File, Text: f.String(),
	}
}
