package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/bench/scenario"
	"github.com/windlass-dev/windlass/bench/subject"
)

// In the short form the scenarios of a base share clusters; in the full form each has its own, but for what follows a start.
func TestGroup(t *testing.T) {
	a, b := &scenario.Base{}, &scenario.Base{}
	o := Options{Scenarios: []*scenario.Scenario{{Name: "start", Base: a, Start: true}, {Name: "one", Base: a}, {Name: "other", Base: b}, {Name: "two", Base: a}}}
	names := func() string {
		var all []string
		for _, g := range group(o) {
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
}

// What is left is guessed in proportion to what has been done.
func TestPace(t *testing.T) {
	a, b := &scenario.Base{}, &scenario.Base{}
	o := Options{Pairs: 3, Kinds: []subject.Kind{subject.Native, subject.Windlass}, Scenarios: []*scenario.Scenario{{Base: a}, {Base: a}, {Base: a}, {Base: b}}}
	groups := group(o)
	p := newPace(groups, o)
	if got := p.left(); got != "" {
		t.Errorf("before the first run: %q", got)
	}
	p.ran(groups[0], 70*time.Second) // twice as slow as expected
	if got, want := p.left(), ", about 9 min left"; got != want {
		t.Errorf("after the first run: got %q, want %q", got, want)
	}
	for range 5 {
		p.ran(groups[0], 70*time.Second)
	}
	for range 5 {
		p.ran(groups[1], 30*time.Second)
	}
	if got, want := p.left(), ", less than a minute left"; got != want {
		t.Errorf("before the last run: got %q, want %q", got, want)
	}
}
