package deployment

import (
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// condition is the Deployment's condition of a type, nil where it has none.
func condition(d *appsv1.Deployment, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if x := &d.Status.Conditions[i]; x.Type == t {
			return x
		}
	}
	return nil
}

// setCondition sets a condition as of now.
func (r *rollout) setCondition(t appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason,
	message string) {
	r.addCondition(&appsv1.DeploymentCondition{Type: t, Status: status, Reason: reason, Message: message,
		LastUpdateTime: r.nowInSeconds(), LastTransitionTime: r.nowInSeconds()})
}

// addCondition puts a condition behind the others, unless it is there with the same status and reason. While the status
// stays, so does the time of its transition.
func (r *rollout) addCondition(x *appsv1.DeploymentCondition) {
	if was := condition(r.d, x.Type); was != nil && was.Status == x.Status {
		if was.Reason == x.Reason {
			return
		}
		x.LastTransitionTime = was.LastTransitionTime
	}
	r.dropCondition(x.Type)
	r.d.Status.Conditions = append(r.d.Status.Conditions, *x)
}

// dropCondition removes a condition. The list is made anew, for it is the view's.
func (r *rollout) dropCondition(t appsv1.DeploymentConditionType) {
	rest := make([]appsv1.DeploymentCondition, 0, len(r.d.Status.Conditions)+1)
	for i := range r.d.Status.Conditions {
		if x := &r.d.Status.Conditions[i]; x.Type != t {
			rest = append(rest, *x)
		}
	}
	r.d.Status.Conditions = rest
}

// nowInSeconds returns the time as conditions tell it, in whole seconds.
func (r *rollout) nowInSeconds() metav1.Time { return r.c.Now().Truncate() }

func quoteName(name string) string { return `"` + name + `"` }
