package lab

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/bench/scenario"
	"github.com/windlass-dev/windlass/bench/subject"
)

// In the short form the scenarios of a base share clusters; in the full form each has its own, but for what follows a
// start that takes long to prepare.
func TestGroup(t *testing.T) {
	a, b := &scenario.Base{Prepare: func(context.Context, *scenario.World) error { return nil }}, &scenario.Base{}
	o := Options{Scenarios: []*scenario.Scenario{{Name: "start", Base: a, Start: true}, {Name: "one", Base: a},
		{Name: "other", Base: b}, {Name: "two", Base: a}}}
	names := func() string {
		var all []string
		for _, g := range groupScenarios(o) {
			var names []string
			for _, s := range g.scenarios {
				names = append(names, s.Name)
			}
			all = append(all, strings.Join(names, " "))
		}
		return strings.Join(all, ", ")
	}
	if got, want := names(), "start one two, other"; got != want {
		t.Errorf("short: got %q, want %q", got, want)
	}
	o.Full = true
	if got, want := names(), "start one, other, two"; got != want {
		t.Errorf("full: got %q, want %q", got, want)
	}
	a.Prepare = nil
	if got, want := names(), "start, one, other, two"; got != want {
		t.Errorf("full, with nothing to prepare: got %q, want %q", got, want)
	}
}

// What is short has more pairs, as far as they fit and not without end.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		more, first time.Duration
		want        int
	}{{0, time.Second, 3}, {6 * time.Minute, 3 * time.Minute, 3}, {6 * time.Minute, 70 * time.Second, 5},
		{6 * time.Minute, time.Second, 9}, {6 * time.Minute, 0, 9}} {
		if got := (Options{Pairs: 3, More: c.more}).pairsFor(c.first); got != c.want {
			t.Errorf("%v more, %v for the first: got %d pairs, want %d", c.more, c.first, got, c.want)
		}
	}
	if got := (Options{Pairs: 20, More: time.Hour}).pairsFor(time.Second); got != 20 {
		t.Errorf("twenty are asked for: got %d", got)
	}
}

// What is left is guessed in proportion to what has been done.
func TestPace(t *testing.T) {
	a, b := &scenario.Base{}, &scenario.Base{}
	o := Options{Pairs: 3, Kinds: []subject.Kind{subject.Native, subject.Windlass},
		Scenarios: []*scenario.Scenario{{Base: a}, {Base: a}, {Base: a}, {Base: b}}}
	groups := groupScenarios(o)
	p := newPace(groups, o)
	if got := p.timeLeft(); got != "" {
		t.Errorf("before the first run: %q", got)
	}
	p.finishRun(groups[0], 70*time.Second) // twice as slow as expected
	if got, want := p.timeLeft(), ", about 9 min left"; got != want {
		t.Errorf("after the first run: got %q, want %q", got, want)
	}
	p.addRuns(groups[1], 6)
	if got, want := p.timeLeft(), ", about 12 min left"; got != want {
		t.Errorf("with more runs: got %q, want %q", got, want)
	}
	for range 5 {
		p.finishRun(groups[0], 70*time.Second)
	}
	for range 11 {
		p.finishRun(groups[1], 30*time.Second)
	}
	if got, want := p.timeLeft(), ", less than a minute left"; got != want {
		t.Errorf("before the last run: got %q, want %q", got, want)
	}
}
