// Package deployment rolls the pods of Deployments over from one ReplicaSet to the next.
//
// Each template has a ReplicaSet with its hash in its name. A roll-out scales the new one up and the old ones down as
// maxSurge and maxUnavailable allow (RollingUpdate), or waits until all old pods are gone (Recreate). A roll-out
// without progress within its deadline says so in the status. Old ReplicaSets are deleted beyond the history's limit; a
// paused Deployment is only scaled.
package deployment

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/podtemplate"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/resource"
)

var (
	deployments = sdk.Key(appsv1.Deployments).
			Fields("metadata.annotations", "metadata.generation", "metadata.deletionTimestamp", "spec", "status").
			QuietOn(abi.QuietOwn) // a status that says what it should
	sets = sdk.Select(appsv1.ReplicaSets, sdk.KeyNamespace(),
		sdk.Any(sdk.ControlledBy(deployments), sdk.All(sdk.Orphan(), sdk.SelectedBy(deployments, "spec.selector")))).
		Fields("metadata.labels", "metadata.annotations", "metadata.generation", "metadata.creationTimestamp",
			"metadata.deletionTimestamp",
			"metadata.ownerReferences", "spec.replicas", "spec.minReadySeconds", "spec.template",
			"status.replicas", "status.readyReplicas", "status.availableReplicas", "status.terminatingReplicas",
			"status.observedGeneration", "status.conditions")

	// running are the pods that have not ended. The strategy Recreate asks for those of old sets, and is woken when one of
	// them ends.
	running = sdk.Select(resource.MetadataOf("", "v1", "pods"), sdk.KeyNamespace(),
		sdk.Not(sdk.In("status.phase", string(corev1.PodSucceeded), string(corev1.PodFailed)))).
		Named("running pods").Fields("metadata.name").Lazy().AskBy("controller.uid")
)

// tellTerminating decides whether the pods on their way out are counted in the status.
var tellTerminating = sdk.Gate("DeploymentReplicaSetTerminatingReplicas", true,
	"Whether the status has terminatingReplicas.")

// Plugin is the deployment module (pkg/controller/deployment).
var Plugin = &sdk.Plugin{
	Name:        "deployment",
	Version:     "1.0.0",
	Description: "Rolls the pods of Deployments over from one ReplicaSet to the next.",
	Settings:    []*sdk.Setting{tellTerminating},
	Controllers: []*sdk.Controller{{
		Name:           "deployment-controller",
		Alias:          "deployment",
		Queue:          "deployment",
		ServiceAccount: "deployment-controller",
		EventSource:    "deployment-controller",
		Reads:          sdk.Views{deployments, sets, running},
		Writes: sdk.Writes{appsv1.Deployments.Verbs("get", "update"), appsv1.Deployments.Sub("status", "update"),
			appsv1.Deployments.Sub("finalizers", "update"),
			appsv1.ReplicaSets.Verbs("get", "create", "update", "patch", "delete")},
		Workers: 5,
		Backoff: abi.Backoff{Retries: 15},
		Pace:    sdk.StatusPace,
		Sync:    sync,
	}},
}

// rollout is one sync of a Deployment.
type rollout struct {
	c    *sdk.Call
	seen *appsv1.Deployment
	d    *appsv1.Deployment // seen, with what this sync makes of its status and annotations: written once, at the end
	want int32              // spec.replicas
	new  *appsv1.ReplicaSet // the set of the Deployment's template; nil while there is none
	old  []*appsv1.ReplicaSet
	// sized tells that a set was given another size, which neither new nor old shows.
	sized bool
}

func sync(c *sdk.Call) error {
	d, ok := deployments.Get(c)
	if !ok {
		return nil
	}
	if s := d.Spec.Selector; s != nil && len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		return refuseEmptySelector(c, d)
	}
	if err := labels.Check(d.Spec.Selector); err != nil {
		return sdk.Errors("deployment ", d.Namespace, "/", d.Name, " has invalid label selector: ", err.Error())
	}

	owned, err := owner.Claim(c, d, sets.List(c), func(rs *appsv1.ReplicaSet) bool {
		return labels.Selects(d.Spec.Selector, rs.Labels)
	})
	if err != nil {
		return err
	}

	for _, rs := range owned {
		if !metav1.IsControlledBy(&rs.ObjectMeta, &d.ObjectMeta) {
			return nil // adopted just now: it comes back as the server has it
		}
	}

	err = newRollout(c, d, owned).proceed()
	if sdk.Failed(err, sdk.NamespaceTerminating) {
		return nil // no set can come to be here any more
	}
	return err
}

// refuseEmptySelector records that a Deployment must not select everything.
func refuseEmptySelector(c *sdk.Call, seen *appsv1.Deployment) error {
	c.Event(seen, corev1.EventTypeWarning, "SelectingAll",
		"This deployment is selecting all pods. A non-empty selector is required.")
	if seen.Status.ObservedGeneration < seen.Generation {
		d := copyDeployment(seen)
		d.Status.ObservedGeneration = d.Generation
		return c.UpdateStatus(d)
	}
	return nil
}

// newRollout sorts the sets into the new one, which is the oldest with the Deployment's template, and the old ones.
func newRollout(c *sdk.Call, seen *appsv1.Deployment, owned []*appsv1.ReplicaSet) *rollout {
	d := copyDeployment(seen)
	r := &rollout{c: c, seen: seen, d: d, want: orDefault(d.Spec.Replicas)}
	slices.SortStableFunc(owned, compareByAge)
	for _, rs := range owned {
		if r.new == nil && podtemplate.Equal(&rs.Spec.Template, &d.Spec.Template) {
			r.new = rs
		} else {
			r.old = append(r.old, rs)
		}
	}
	return r
}

// proceed takes the Deployment one step nearer to its template and size.
func (r *rollout) proceed() error {
	d := r.d
	if !d.Deleting() {
		r.notePause()
	}
	if err := r.syncRevision(); err != nil {
		return err
	}

	to, rollback := rollbackTo(d)
	switch {
	case d.Deleting():
		r.observe()
		r.writeStatus()
	case d.Spec.Paused:
		r.scaleSets()
		r.observe()
		r.writeStatus()
		if !rollback {
			r.cleanUp()
		}
	case rollback:
		return r.rollBack(to)
	case r.rescale():
		r.observe()
		r.writeStatus()
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return r.recreate()
	case d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType:
		return r.advanceRollout()
	default:
		return sdk.Errors("unexpected deployment strategy type: ", string(d.Spec.Strategy.Type))
	}

	return nil
}

// copyDeployment returns a Deployment whose annotations and status may be changed, conditions as a whole; the rest is
// the view's.
func copyDeployment(d *appsv1.Deployment) *appsv1.Deployment {
	d = sdk.Copy(d)
	d.Annotations = d.Annotations.Clone()
	return d
}

// copyReplicaSet returns a set whose annotations and numbers may be changed; the rest is the view's.
func copyReplicaSet(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	rs = sdk.Copy(rs)
	rs.Annotations = rs.Annotations.Clone()
	return rs
}

// allSets returns the sets, the new one last.
func (r *rollout) allSets() []*appsv1.ReplicaSet {
	if r.new == nil {
		return r.old
	}
	return append(slices.Clip(r.old), r.new)
}

// activeSets returns the sets that should have pods.
func activeSets(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	var l []*appsv1.ReplicaSet
	for _, rs := range sets {
		if desiredReplicas(rs) > 0 {
			l = append(l, rs)
		}
	}
	return l
}

// desiredReplicas returns how many pods the set should have.
func desiredReplicas(rs *appsv1.ReplicaSet) int32 { return orDefault(rs.Spec.Replicas) }

func totalDesired(sets []*appsv1.ReplicaSet) (n int32) {
	for _, rs := range sets {
		n += desiredReplicas(rs)
	}
	return n
}

// orDefault returns the number, or the API's default.
func orDefault(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func compareByAge(a, b *appsv1.ReplicaSet) int {
	if n := a.CreationTimestamp.Compare(b.CreationTimestamp); n != 0 {
		return n
	}
	return strings.Compare(a.Name, b.Name)
}
