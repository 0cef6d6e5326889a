package effects

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// A sync wakes so many keys of its siblings, however it spreads them over performs, groups and its answer.
func TestASyncWakesSoMany(t *testing.T) {
	woken := 0
	w := &Writer{lasting: &lasting{}, Options: Options{Plugin: "p", Controller: &abi.Controller{Name: "c"},
		Wake: func(abi.KeyRef, int32, abi.KeyRef) { woken++ }}}
	wakes := func(n int) []abi.Effect {
		group := abi.Effect{Kind: abi.EffectGroup}
		for range n {
			group.Members = append(group.Members, abi.Effect{Kind: abi.EffectWake, Wake: &abi.Wake{}})
		}
		return []abi.Effect{group}
	}

	s := w.Begin(abi.KeyRef{Name: "k"}, nil)
	for range 2 {
		if _, err := s.Perform(t.Context(), wakes(wakesMax/2-1)); err != nil {
			t.Fatal(err)
		}
	}

	last := wakes(2)
	if err := s.Check(last); err != nil {
		t.Fatal(err)
	}

	if err := s.Finish(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if woken != wakesMax {
		t.Errorf("%d keys were woken", woken)
	}

	if _, err := s.Perform(t.Context(), wakes(1)); err == nil || Refused(err) ||
		!strings.Contains(err.Error(), "too many keys of the plugin's controllers that a sync wakes, the limit is 10000") ||
		!strings.Contains(err.Error(), `plugin "p": controller c: key k`) {
		t.Errorf("one more: %v", err)
	}

	if _, err := w.Begin(abi.KeyRef{Name: "k"}, nil).Perform(t.Context(), wakes(wakesMax+1)); err == nil {
		t.Errorf("one more at once: %v", err)
	}
	if woken != wakesMax {
		t.Errorf("%d keys were woken, though those were refused", woken)
	}
}
