package horizontalpodautoscaler

import (
	"strconv"
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
)

// fetchPods gets the target's pods, and apart from them those that its selector matches and that have ended, as a Job's
// do: they share no load. An autoscaler publishes the selector of its target, so that each can see whether others scale
// the same pods.
func (r *run) fetchPods() error {
	if len(r.selects.MatchLabels)+len(r.selects.MatchExpressions) == 0 { // of blanks, say
		return r.unselected("SelectorRequired", "InvalidSelector", "selector is required",
			"the HPA target's scale is missing a selector")
	}
	r.publish(r.selects)

	for _, p := range pods.Ask(r.c, abi.Ask{Namespace: r.hpa.Namespace,
		Selector: wire.Append(nil, unsafe.Pointer(r.selects), &metav1.LabelSelectorTable)}) {
		if p.ended() {
			r.ended = append(r.ended, p)
		} else {
			r.pods = append(r.pods, p)
		}
	}

	var kinds []wire.StringMap // replicas mostly have the same labels
	for _, p := range r.pods {
		if n := len(kinds); n == 0 || !wire.EqualMaps(kinds[n-1], p.Labels) {
			kinds = append(kinds, p.Labels)
		}
	}

	if len(kinds) == 0 {
		return nil
	}
	facts, err := r.c.Facts(r.hpa.Namespace, carried(kinds)...)
	if err != nil {
		return err
	}

	for i := range facts {
		if other := facts[i].Key.Name; other != r.hpa.Name && overlaps(string(facts[i].Data), kinds) {
			message := "pods by selector " + r.selector + " are controlled by more than one HPA (e.g. [" +
				r.describe(r.hpa.Name) +
				" " + r.describe(other) + "])"
			return r.unselected("AmbiguousSelector", "AmbiguousSelector", message, message)
		}
	}
	return nil
}

// Selectors are as long as the targets' authors make them, and every sync of a namespace holds those of its others.
// They are published up to so many bytes, under terms up to so many: without terms a fact is found under each.
const (
	selectorMost = 16 << 10
	termsMost    = 16 << 10
)

// publish tells the namespace's other autoscalers which pods this one's target selects. Of a longer selector they
// aren't told; that only keeps them from seeing that they scale the same pods, and fails nobody.
func (r *run) publish(selector *metav1.LabelSelector) {
	if n := len(r.selector); n > selectorMost {
		r.untold("it has " + strconv.Itoa(n) + " bytes, the limit is " + strconv.Itoa(selectorMost))
		_ = r.c.Publish(nil) // which takes nothing away from others
		return
	}
	terms, size := demands(selector), 0
	for _, t := range terms {
		size += len(t) + termOverhead
	}
	if size > termsMost {
		terms = nil
	}
	if err := r.c.Publish([]byte(r.selector), terms...); err != nil {
		r.untold(err.Error())
	}
}

// untold says that others don't know of this one's selector.
func (r *run) untold(why string) {
	r.c.Log("the selector of " + r.reference + " isn't told to the namespace's other autoscalers, which don't see " +
		"whether they control the same pods: " + why)
}

// termOverhead is what a term counts beside its text.
const termOverhead = 16

// demands are labels of which each pod that a selector takes in has one, as terms; none where the selector asks for no
// label's value.
func demands(s *metav1.LabelSelector) (terms []string) {
	for i := range s.MatchExpressions {
		if x := &s.MatchExpressions[i]; x.Operator == metav1.LabelSelectorOpIn {
			for _, v := range x.Values {
				terms = append(terms, x.Key+"="+v)
			}
			return terms
		}
	}
	return nil
}

// carried are the labels of pods as terms; an empty one where they have none.
func carried(kinds []wire.StringMap) []string {
	terms := []string{""}
	for i := range kinds {
		for j := range kinds[i] {
			terms = append(terms, kinds[i][j].Key+"="+kinds[i][j].Value)
		}
	}
	return terms
}

// overlaps reports whether a selector takes in one of the sets of labels.
func overlaps(selector string, kinds []wire.StringMap) bool {
	s, err := labels.Parse(selector)
	if err != nil {
		return false
	}
	for i := range kinds {
		if labels.Selects(s, kinds[i]) {
			return true
		}
	}
	return false
}

func (r *run) unselected(event, reason, short, long string) error {
	r.addEvent(corev1.EventTypeWarning, event, short)
	r.setCondition(autoscalingv2.ScalingActive, false, reason, long)
	return sdk.Errors(short)
}

// describe returns an autoscaler of the namespace as upstream's messages print it.
func (r *run) describe(name string) string { return r.hpa.Namespace + "/" + name }

// printed is a metric's selector as upstream's messages print it.
func printed(s *metav1.LabelSelector) string {
	if s == nil {
		return "nil"
	}
	text := "&LabelSelector{MatchLabels:map[string]string{"
	for i := range s.MatchLabels {
		text += s.MatchLabels[i].Key + ": " + s.MatchLabels[i].Value + ","
	}
	text += "},MatchExpressions:[]LabelSelectorRequirement{"
	for i := range s.MatchExpressions {
		x := &s.MatchExpressions[i]
		text += "LabelSelectorRequirement{Key:" + x.Key + ",Operator:" + string(x.Operator) + ",Values:["
		for j, v := range x.Values {
			if j > 0 {
				text += " "
			}
			text += v
		}
		text += "],},"
	}
	return text + "},}"
}
