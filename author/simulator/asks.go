package simulator

import (
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/syncer"
)

// failedAsk is the ask that a scenario has fail, in the sync that asks.
type failedAsk struct {
	what   string
	writes int // of controllers under test before it
}

// nowhere is no path that a view can be asked by, so that the host can't answer who asks by it.
const nowhere = "simulator.windlass.dev/fails"

// failAsk counts what a controller under test asks for, and has the one fail that the scenario is about. It fails in
// the host as one does whose view can't be delivered.
func (r *run) failAsk(s *slot, all []abi.Effect) {
	if !s.Tested {
		return
	}
	for i := range all {
		e := &all[i]
		r.failAsk(s, e.Members)
		if e.Kind != abi.EffectView || e.Ask == nil {
			continue
		}
		m, what := s.manifest(), fmt.Sprint(e.Ask.View)
		if v := int(e.Ask.View); v >= 0 && v < len(m.Views) {
			what = m.Views[v].Name
		}
		r.asks = append(r.asks, m.Name+" "+what)
		if r.scenario.Kind == AskFails && r.scenario.Ask == len(r.asks) {
			broken := *e.Ask
			broken.Path = nowhere
			e.Ask = &broken
			r.failedAsk = &failedAsk{r.asks[len(r.asks)-1], len(r.writes)}
			r.busy++
		}
	}
}

// checkFailedAsk looks at the outcome of a sync one of whose asks was made to fail: the host has ended it there.
func (r *run) checkFailedAsk(o *syncer.Outcome) error {
	failed := r.failedAsk
	if failed == nil {
		return nil
	}
	r.failedAsk = nil
	if r.step > 0 && r.step <= len(r.log) {
		r.log[r.step-1] += "; the ask for " + failed.what + " fails"
	}

	switch {
	case o.Accepted || len(r.writes) > failed.writes:
		r.found(Finding{Check: Asked, Message: fmt.Sprintf(
			"the ask for %s has failed, and the answer is performed all the same: what isn't known counts as an empty list",
			failed.what)})
	case !effects.AskFailed(o.Err):
		return fmt.Errorf("the ask for %s was to fail: %w", failed.what, o.Err)
	}
	return nil
}

// distinct returns each text once, in order.
func distinct(texts []string) []string {
	texts = slices.Sorted(slices.Values(texts))
	return slices.Compact(texts)
}

// asksTried is how many asks for the same fail at most: the first ones, and others spread over all.
const asksTried = 6

// failingAsks returns which of the asks of the undisturbed run are to fail: some for each view, the first and the last
// among them.
func failingAsks(asks []string) (scenarios []Scenario) {
	of := map[string][]int{}
	var order []string
	for i, what := range asks {
		if of[what] == nil {
			order = append(order, what)
		}
		of[what] = append(of[what], i+1)
	}
	for _, what := range order {
		all, last := of[what], 0
		for i := range min(len(all), asksTried) {
			n := all[i*(len(all)-1)/max(min(len(all), asksTried)-1, 1)]
			if n != last {
				scenarios = append(scenarios, Scenario{Kind: AskFails, Ask: n})
			}
			last = n
		}
	}
	return scenarios
}
