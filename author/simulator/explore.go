package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/record"
)

// Options say what is explored.
type Options struct {
	World *World
	// Definitions are CustomResourceDefinitions, beside those among the world's objects.
	Definitions []json.RawMessage
	// With are plugins that run beside the one under test.
	With []guest.Guest
	// Seeds is how many runs are out of order, by default 10.
	Seeds int
	// Except are checks that don't count.
	Except []Check
	// Keep are resources, as abi.Resource.String gives them, whose objects may stay when the key's object is gone.
	Keep []string
}

// Report is what came of it.
type Report struct {
	Runs   int `json:"runs"`
	Syncs  int `json:"syncs"`
	Writes int `json:"writes"` // of the undisturbed run
	// Asked are the controllers and lazy views of the asks of the undisturbed run, of each of which some have failed.
	Asked    []string  `json:"asked,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// writesTried is at how many writes each fault is done at most: spread over all that there are.
const writesTried = 25

// Explore runs a plugin's controllers in a world, undisturbed and under faults, and reports what they should do
// otherwise: at most one finding of each check.
func Explore(ctx context.Context, g guest.Guest, o Options) (*Report, error) {
	x, err := newExplorer(ctx, g, o)
	if err != nil {
		return nil, err
	}
	if err := x.runScenarios(); err != nil {
		return nil, err
	}
	return x.report, nil
}

// Rerun runs one scenario again and reports what it still shows.
func Rerun(ctx context.Context, g guest.Guest, o Options, f *Finding) (*Report, error) {
	x, err := newExplorer(ctx, g, o)
	if err != nil {
		return nil, err
	}
	base, err := x.runScenario(Scenario{Kind: Undisturbed})
	if err != nil {
		return nil, err
	}
	if f.Scenario.Kind != Undisturbed && base != nil {
		if err := x.compare(base, f.Scenario); err != nil {
			return nil, err
		}
	}
	x.report.Findings = slices.DeleteFunc(x.report.Findings, func(got Finding) bool { return got.Check != f.Check })
	return x.report, nil
}

type explorer struct {
	ctx     context.Context
	setting *setting
	options Options
	report  *Report
	base    *end
}

func newExplorer(ctx context.Context, g guest.Guest, o Options) (*explorer, error) {
	x := &explorer{ctx: ctx, options: o, report: &Report{}, setting: &setting{world: o.World, keep: o.Keep}}
	for i, raw := range o.Definitions {
		crd, err := parseJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("definition %d: %w", i, err)
		}
		if crd.GetKind() == "CustomResourceDefinition" {
			x.setting.crds = append(x.setting.crds, crd)
		}
	}
	for i, plugin := range append([]guest.Guest{g}, o.With...) {
		for j := range plugin.Manifest().Controllers {
			x.setting.controllers = append(x.setting.controllers, &Controller{Guest: plugin, Index: int32(j), Tested: i == 0})
		}
	}
	return x, nil
}

// hasFinding reports whether there is a finding of the check.
func (x *explorer) hasFinding(c Check) bool {
	return slices.ContainsFunc(x.report.Findings, func(f Finding) bool { return f.Check == c })
}

func (x *explorer) addFinding(f Finding) {
	if x.hasFinding(f.Check) || slices.Contains(x.options.Except, f.Check) {
		return
	}
	x.report.Findings = append(x.report.Findings, f)
}

// runScenario runs a scenario; it returns nothing where the run had to be given up.
func (x *explorer) runScenario(s Scenario) (*end, error) {
	r, err := newRun(x.ctx, x.setting, s, x.addFinding)
	if err != nil {
		return nil, err
	}
	x.report.Runs++
	e, err := r.playScenario()
	x.report.Syncs += r.syncs
	if errors.Is(err, errStop) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s, step %d: %w", s, r.step, err)
	}
	return e, nil
}

func (x *explorer) runScenarios() error {
	base, err := x.runScenario(Scenario{Kind: Undisturbed})
	if err != nil || base == nil {
		return err
	}

	x.report.Writes, x.report.Asked = len(base.writes), distinct(base.asks)
	scenarios := []Scenario{{Kind: Undisturbed, Foreground: true}, {Kind: OtherTime}, {Kind: Resynced}, {Kind: Labelled},
		{Kind: Bystanding}, {Kind: NoChildren}, {Kind: Held}, {Kind: Zeroed}}
	seeds := x.options.Seeds
	if seeds == 0 {
		seeds = 10
	}
	for i := range seeds {
		scenarios = append(scenarios, Scenario{Kind: Shuffled, Seed: int64(i + 1), Foreground: i%2 == 1})
	}

	every := max(1, (len(base.writes)+writesTried-1)/writesTried)
	for n := 1; n <= len(base.writes); n++ {
		// Those that nothing like them follows are tried in any case: what comes later doesn't make good for them.
		if (n-1)%every != 0 && slices.Contains(base.writes[n:], base.writes[n-1]) {
			continue
		}
		for _, kind := range []string{CrashBefore, CrashAfter, Forbid, Conflict} {
			if kind != Conflict || strings.HasPrefix(base.writes[n-1], "update ") ||
				strings.HasPrefix(base.writes[n-1], "patch ") {
				scenarios = append(scenarios, Scenario{Kind: kind, Write: n})
			}
		}
	}

	scenarios = append(scenarios, failingAsks(base.asks)...)
	for _, s := range scenarios {
		if err := x.compare(base, s); err != nil {
			return err
		}
	}
	return nil
}

// verdicts tell what it means that a scenario ends otherwise.
var verdicts = map[string]struct {
	check   Check
	message string
}{
	Shuffled:    {Order, "events in another order, later caches and repeated syncs end in another state: decide by what the snapshot holds now, not by which event came"},
	CrashBefore: {Crash, "a crash before a write ends in another state: what is needed to go on must be in the objects, and be looked at again by each sync"},
	CrashAfter:  {Crash, "a crash after a write ends in another state: the sync that comes next must find what this one has made, and not count on having done the rest"},
	Forbid:      {Refused, "a write that was refused once ends in another state: return the error, so that the key is tried again"},
	Conflict:    {Refused, "a write that met somebody else's change ends in another state: return the error, so that the key is tried again"},
	AskFails:    {Asked, "a sync that was ended where its ask failed ends in another state: the next sync must do what this one hasn't"},
	OtherTime:   {Clock, "at another time it ends in another state: take the time from Call.Now alone"},
	Bystanding:  {Bystander, "objects that belong to somebody else, with the same labels, change what it ends in: look at the controlling owner, not at the labels alone"},
}

// compare runs a scenario and compares its end with the undisturbed one.
func (x *explorer) compare(base *end, s Scenario) error {
	v, compared := verdicts[s.Kind]
	if compared && x.hasFinding(v.check) {
		return nil
	}

	e, err := x.runScenario(s)
	if err != nil || e == nil {
		return err
	}
	if s.Kind == NoChildren {
		x.compareStatuses(base, e, s)
		return nil
	}
	if !compared {
		return nil
	}

	d := difference(base, e)
	if d == "" {
		return nil
	}

	f := Finding{Check: v.check, Scenario: s, Message: v.message, Detail: d, Steps: e.steps, Step: len(e.steps)}
	if s.Kind == Shuffled && s.Until == 0 {
		if f.Scenario, f.Detail, err = x.firstDivergence(base, s, len(e.steps), d); err != nil {
			return err
		}
		f.Step = f.Scenario.Until
	} else {
		for i, step := range e.steps {
			if strings.Contains(step, "the process crashes") || s.Kind == Forbid &&
				strings.Contains(step, "exceeded quota: simulated") || s.Kind == Conflict &&
				strings.Contains(step, "has been modified") || s.Kind == AskFails && strings.Contains(step, "; the ask for ") {
				f.Step = i + 1
				break
			}
		}
	}

	if f.Step > 0 && f.Step <= len(e.steps) {
		f.At, f.Steps = e.steps[f.Step-1], e.steps[:f.Step]
	}
	if s.Write > 0 && s.Write <= len(base.writes) {
		f.Message = fmt.Sprintf("%s (%s)", f.Message, base.writes[s.Write-1])
	}
	x.addFinding(f)
	return nil
}

// firstDivergence finds the first step of a run that is out of order after which it ends otherwise, even where all goes
// in order from there on.
func (x *explorer) firstDivergence(base *end, s Scenario, steps int, d string) (Scenario, string, error) {
	good, bad := 0, steps
	quiet := *x
	quiet.report = &Report{}
	for good+1 < bad {
		s.Until = (good + bad) / 2
		e, err := quiet.runScenario(s)
		if err != nil {
			return s, d, err
		}
		if e == nil {
			break
		}
		if now := difference(base, e); now != "" {
			bad, d = s.Until, now
		} else {
			good = s.Until
		}
	}
	s.Until = bad
	x.report.Runs += quiet.report.Runs
	x.report.Syncs += quiet.report.Syncs
	return s, d, nil
}

// difference shows how a run ended otherwise than the undisturbed one.
func difference(base, e *end) string {
	if d := record.Diff(strings.Join(base.settled, "---\n"), strings.Join(e.settled, "---\n")); d != "" {
		return "when all has settled (-undisturbed +here):\n" + d
	}
	if d := record.Diff(strings.Join(base.deleted, "---\n"), strings.Join(e.deleted, "---\n")); d != "" {
		return "after the key's object was deleted (-undisturbed +here):\n" + d
	}
	return ""
}

// compareStatuses compares what the keys' statuses say where no child could be made.
func (x *explorer) compareStatuses(base, e *end, s Scenario) {
	for title, was := range base.statuses {
		now, ok := e.statuses[title]
		if !ok {
			continue
		}
		what := ""
		if was.text == now.text && was.tells {
			what = "the status of " + title
		}
		for _, name := range slices.Sorted(maps.Keys(was.numbers)) {
			if now.numbers[name] == was.numbers[name] && !strings.Contains(strings.ToLower(name), "desired") {
				what = "status." + name + " of " + title
			}
		}
		if what == "" {
			continue
		}
		x.addFinding(Finding{
			Check: Status, Scenario: s, Step: len(e.steps), Steps: e.steps,
			Message: fmt.Sprintf("%s says the same where none of its objects could be created as where all were: count what the views hold, not what should be", what),
			Detail:  was.text,
		})
	}
}
