package disruption

import (
	"slices"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
)

// tailOf is how many bytes at the end of a pod's UID tell it from others.
const tailOf = 8

// tellOfRivals tells each pod that the budget has selected since the last sync if others select it, too. The state is
// which pods it has looked at: the ends of their UIDs, in the order of their names.
func (r *run) tellOfRivals() {
	state := make([]byte, 0, tailOf*len(r.pods))
	for _, p := range r.pods {
		state = append(state, tail(p)...)
	}
	before := r.c.State()
	if string(before) == string(state) {
		return
	}
	r.c.SetState(state)

	looked := make(map[string]bool, len(before)/tailOf)
	for b := range slices.Chunk(before, tailOf) {
		looked[string(b)] = true
	}
	for _, p := range r.pods {
		if !looked[tail(p)] {
			r.tellOfRivalsOf(p)
		}
	}
}

// tellOfRivalsOf tells a pod if several budgets select it. All of them count it; the first by name is named, as if that
// one were chosen.
func (r *run) tellOfRivalsOf(p *Pod) {
	first, n := "", 0
	for _, b := range rivals.List(r.c) {
		if labels.Selects(b.Spec.Selector, p.Labels) && labels.Check(b.Spec.Selector) == nil {
			if n++; n == 1 {
				first = b.Name
			}
		}
	}
	if n > 1 {
		r.c.Event(p, corev1.EventTypeWarning, "MultiplePodDisruptionBudgets", `Pod "`+p.Namespace+`"/"`+p.Name+
			`" matches multiple PodDisruptionBudgets.  Chose "`+first+`" arbitrarily.`)
	}
}

// tail is the end of a pod's UID.
func tail(p *Pod) string { return string(p.UID[max(len(p.UID)-tailOf, 0):]) }
