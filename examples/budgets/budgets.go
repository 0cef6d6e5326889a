// Package budgets gives Deployments and StatefulSets that are labelled so a PodDisruptionBudget, and keeps it as the
// label says.
package budgets

import (
	"strings"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	policyv1 "github.com/windlass-dev/windlass/sdk/api/policy/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Label asks for a budget: so many pods stay available while nodes are drained. It is a number, or a percentage such as
// 50-percent, as a label can't hold the sign.
const Label = "budgets.example.com/min-available"

// Plugin has one controller for each kind that it decorates.
var Plugin = &sdk.Plugin{
	Name:        "budgets",
	Version:     "1.0.0",
	Description: "Gives Deployments and StatefulSets with the label " + Label + " a PodDisruptionBudget.",
	Controllers: []*sdk.Controller{
		controller("deployment-budgets", appsv1.Deployments,
			func(d *appsv1.Deployment) *metav1.LabelSelector { return d.Spec.Selector }),
		controller("statefulset-budgets", appsv1.StatefulSets,
			func(s *appsv1.StatefulSet) *metav1.LabelSelector { return s.Spec.Selector }),
	},
}

// controller decorates the objects of one resource.
func controller[T any, P resource.Pointer[T]](name string, of resource.Of[T],
	selector func(P) *metav1.LabelSelector) *sdk.Controller {
	workloads := sdk.Key[T, P](of).Fields("metadata.labels["+Label+"]", "metadata.deletionTimestamp", "spec.selector")
	budgets := sdk.Select(policyv1.PodDisruptionBudgets, sdk.KeyNamespace(),
		sdk.ControlledBy(workloads)).Fields("spec.minAvailable", "spec.selector")
	return &sdk.Controller{
		Name:        name,
		EventSource: name,
		Reads:       sdk.Views{workloads, budgets},
		Writes: sdk.Writes{policyv1.PodDisruptionBudgets.Verbs("create", "update", "delete"),
			of.Sub("finalizers", "update")},
		State: true,
		Sync: func(c *sdk.Call) error {
			w, ok := workloads.Get(c)
			if !ok || w.GetObjectMeta().Deleting() {
				return nil // the garbage collector takes the budget
			}

			value, wanted := w.GetObjectMeta().Labels.Lookup(Label)
			amount, ok := parseBudget(value)
			if wanted && !ok {
				warnInvalidBudget(c, w, value)
				return nil // a budget that there is already stays: it protects
			}

			c.SetState(nil)
			if !wanted {
				for _, b := range budgets.List(c) {
					c.Delete(b)
				}
				return nil
			}

			have, exists := budgets.Get(c)
			b := &policyv1.PodDisruptionBudget{}
			if exists {
				b = sdk.Clone(have)
			}

			b.Spec.MinAvailable, b.Spec.Selector = &amount, selector(w)
			switch {
			case !exists:
				b.Namespace, b.Name = c.Namespace(), c.Name()+"-"+strings.ToLower(of.Kind)
				b.OwnerReferences = []metav1.OwnerReference{owner.Ref(w)}
				c.Create(b)
			case !resource.Equal(b, have):
				c.Update(b)
			}
			return nil
		},
	}
}

// warnInvalidBudget warns of a label that can't be read, once: the key's state is the value that it warned of.
func warnInvalidBudget(c *sdk.Call, o sdk.Object, value string) {
	if string(c.State()) == value {
		return
	}
	c.Event(o, corev1.EventTypeWarning, "InvalidBudget", "Label "+Label+" is "+value+
		": must be a number such as 2, or a percentage such as 50-percent")
	c.SetState([]byte(value))
}

// parseBudget reads "2" and "50-percent".
func parseBudget(value string) (amount metav1.IntOrString, ok bool) {
	digits, percent := strings.CutSuffix(value, "-percent")
	n, ok := decimal.Parse(digits)
	if !ok || n < 0 || n > 1<<31-1 || percent && n > 100 {
		return amount, false
	}
	if percent {
		return wire.FromString(digits + "%"), true
	}
	return wire.FromInt(int32(n)), true
}
