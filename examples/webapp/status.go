package webapp

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/conditions"
	"github.com/windlass-dev/windlass/sdk/resource"

	v1 "example.com/webapp/api/v1"
)

// updateStatus writes what there is, not what is wanted: it is read off the Deployment that the snapshot has. A
// Deployment that this sync makes or changes isn't current yet.
func updateStatus(c *sdk.Call, app *v1.WebApp, current bool) {
	a := sdk.Clone(app)
	a.Status.ObservedGeneration, a.Status.AvailableReplicas = app.Generation, 0
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: app.Generation,
		Reason: "Progressing", Message: "the Deployment is not there yet"}
	if d, ok := deployments.Get(c); ok {
		a.Status.AvailableReplicas = d.Status.AvailableReplicas
		switch want := sdk.Deref(d.Spec.Replicas, 1); {
		case !current || d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < want:
			ready.Message = "the pods are not up to date yet"
		case d.Status.AvailableReplicas < want:
			ready.Message = "not all pods are available yet"
		default:
			ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, "Available", ""
		}
	}
	conditions.Set(&a.Status.Conditions, ready, c.Now())
	if !resource.Equal(a, app) {
		c.Add(sdk.UpdateStatus(a, sdk.Always())) // also where a child could not be made
	}
}
