package disruption

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	policyv1 "github.com/windlass-dev/windlass/sdk/api/policy/v1"
	"github.com/windlass-dev/windlass/sdk/conditions"
)

// writeStatus writes the status, if it isn't up to date. Where no pods are expected none may be disrupted: the budget's
// first ones may just have come.
func (r *run) writeStatus(want expectation, disrupted disruptions) error {
	was := &r.budget.Status
	now := policyv1.PodDisruptionBudgetStatus{
		CurrentHealthy:     r.countHealthy(disrupted),
		DesiredHealthy:     want.healthy,
		ExpectedPods:       want.pods,
		DisruptedPods:      disrupted,
		ObservedGeneration: r.budget.Generation,
		Conditions:         was.Conditions,
		XUnknown:           was.XUnknown,
	}
	if want.pods > 0 {
		now.DisruptionsAllowed = max(now.CurrentHealthy-want.healthy, 0)
	}

	said := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
		Reason: policyv1.InsufficientPodsReason, ObservedGeneration: now.ObservedGeneration}
	if now.DisruptionsAllowed > 0 {
		said.Status, said.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	if c := conditions.Find(was.Conditions, said.Type); c != nil && c.Status == said.Status && c.Reason == said.Reason &&
		hasNumbers(was, &now) && wire.EqualMaps(was.DisruptedPods, now.DisruptedPods) {
		return nil
	}
	return r.c.Do(r.update(now, said))
}

// hasNumbers reports whether all numbers of two statuses are the same.
func hasNumbers(a, b *policyv1.PodDisruptionBudgetStatus) bool {
	return a.CurrentHealthy == b.CurrentHealthy && a.DesiredHealthy == b.DesiredHealthy &&
		a.ExpectedPods == b.ExpectedPods && a.DisruptionsAllowed == b.DisruptionsAllowed &&
		a.ObservedGeneration == b.ObservedGeneration
}

// failSafe has the budget allow no disruption, and say why nothing is known of it.
func (r *run) failSafe(err error) {
	now := r.budget.Status
	now.DisruptionsAllowed = 0
	r.c.Add(r.update(now, metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
		Reason: policyv1.SyncFailedReason, Message: err.Error(), ObservedGeneration: now.ObservedGeneration}))
}

// update is the write of a status with a condition in it.
func (r *run) update(status policyv1.PodDisruptionBudgetStatus, said metav1.Condition) sdk.Effect {
	status.Conditions = slices.Clone(status.Conditions)
	conditions.Set(&status.Conditions, said, r.c.Now())
	b := sdk.Copy(r.budget)
	b.Status = status
	return sdk.UpdateStatus(b)
}

// formatSelector is a selector as upstream's messages have it.
func formatSelector(s *metav1.LabelSelector) string {
	text := "&LabelSelector{MatchLabels:map[string]string{"
	labels := slices.Clone(s.MatchLabels)
	slices.SortFunc(labels, func(a, b wire.Entry[string, string]) int { return strings.Compare(a.Key, b.Key) })
	for i := range labels {
		text += labels[i].Key + ": " + labels[i].Value + ","
	}
	text += "},MatchExpressions:[]LabelSelectorRequirement{"
	for i := range s.MatchExpressions {
		x := &s.MatchExpressions[i]
		text += "LabelSelectorRequirement{Key:" + x.Key + ",Operator:" + string(x.Operator) + ",Values:[" +
			strings.Join(x.Values, " ") + "],},"
	}
	return text + "},}"
}
