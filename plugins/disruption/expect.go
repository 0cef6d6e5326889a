package disruption

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/scale"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/intstr"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// What controls the budget's pods, looked at only where its scale counts. A change of it wakes nobody: pods will come
// or go by it.
var (
	controllers = sdk.Select(resource.Of[replicationController]{Info: replicationControllerInfo}, sdk.KeyNamespace(),
		sdk.Join("metadata.uid", pods, "controller.uid")).
		Fields("spec.replicas").Lazy().Quiet()
	sets = sdk.Select(resource.Of[replicaSet]{Info: replicaSetInfo}, sdk.KeyNamespace(),
		sdk.Join("metadata.uid", pods, "controller.uid")).
		Fields("spec.replicas", "metadata.ownerReferences").Lazy().Quiet()
	deployments = sdk.Select(resource.Of[deployment]{Info: deploymentInfo}, sdk.KeyNamespace()).
			Fields("spec.replicas").Lazy().Quiet()
	statefulSets = sdk.Select(resource.Of[statefulSet]{Info: statefulSetInfo}, sdk.KeyNamespace(),
		sdk.Join("metadata.uid", pods, "controller.uid")).
		Fields("spec.replicas").Lazy().Quiet()
)

const deploymentKind = "Deployment"

// expectation is how many pods there should be, and how many of them have to be healthy.
type expectation struct {
	pods, healthy int32
	unmanaged     bool // some pods are nobody's, so that nobody says how many there should be
}

// expectPods returns what the budget expects. Only of a number of available pods it is no matter who runs them.
func (r *run) expectPods() (want expectation, err error) {
	spec := &r.budget.Spec
	switch {
	case spec.MaxUnavailable != nil:
		if err := r.addScales(&want); err != nil {
			return want, err
		}
		gone, err := intstr.Scaled(spec.MaxUnavailable, want.pods, true)
		want.healthy = max(want.pods-gone, 0)
		return want, err

	case spec.MinAvailable == nil:
		return want, nil

	case spec.MinAvailable.Type == wire.Int:
		want.pods, want.healthy = int32(len(r.pods)), spec.MinAvailable.IntVal
		return want, nil
	}

	if err := r.addScales(&want); err != nil {
		return want, err
	}
	want.healthy, err = intstr.Scaled(spec.MinAvailable, want.pods, true)
	return want, err
}

// addScales adds up the scales of all that controls pods of the budget.
func (r *run) addScales(want *expectation) error {
	known := map[metav1.UID]bool{}
	var last metav1.OwnerReference // pods of one owner mostly follow each other
	for _, p := range r.pods {
		ref := metav1.GetControllerOf(&p.ObjectMeta)
		if ref == nil {
			want.unmanaged = true
			continue
		}
		if known[ref.UID] || ref.UID == last.UID && ref.Name == last.Name && ref.Kind == last.Kind {
			continue
		}

		last = *ref
		found, err := r.findController(ref)
		switch {
		case err != nil:
			return err
		case found == nil:
			return sdk.Errors(`found no controllers for pod "`, p.Name, `"`)
		case !known[found.uid]:
			known[found.uid] = true
			want.pods += found.replicas
		}
	}
	return nil
}

// controller is what controls a pod, and its scale.
type controller struct {
	uid      metav1.UID
	replicas int32
}

// findController returns what a reference leads to: of a Deployment's ReplicaSet the Deployment. What isn't found in
// the caches, and all else, is asked for its scale.
func (r *run) findController(ref *metav1.OwnerReference) (*controller, error) {
	switch {
	case isOf(ref, "ReplicationController", ""):
		if rc := find(controllers.List(r.c), ref); rc != nil {
			return rc.Spec.of(rc.UID), nil
		}

	case isOf(ref, "ReplicaSet", "apps", "extensions"):
		rs := find(sets.List(r.c), ref)
		if rs == nil {
			break
		}
		by := metav1.GetControllerOf(&rs.ObjectMeta)
		if by == nil || by.Kind != deploymentKind {
			return rs.Spec.of(rs.UID), nil
		}
		if !isOf(by, deploymentKind, "apps", "extensions") {
			break
		}
		if d := find(r.listDeployments(), by); d != nil {
			return d.Spec.of(d.UID), nil
		}

	case isOf(ref, "StatefulSet", "apps"):
		if s := find(statefulSets.List(r.c), ref); s != nil {
			return s.Spec.of(s.UID), nil
		}
	}

	return r.readScale(ref)
}

// listDeployments returns what the budget's sets are controlled by, where those are Deployments.
func (r *run) listDeployments() []*deployment {
	if r.deployments != nil {
		return r.deployments
	}
	var names []string
	for _, s := range sets.List(r.c) {
		if by := metav1.GetControllerOf(&s.ObjectMeta); by != nil && by.Kind == deploymentKind {
			names = append(names, by.Name)
		}
	}
	r.deployments = deployments.Ask(r.c, abi.Ask{Namespace: r.budget.Namespace, Names: names})
	return r.deployments
}

// isOf reports whether a reference is to the kind in one of the groups, of whatever version.
func isOf(ref *metav1.OwnerReference, kind string, groups ...string) bool {
	group, _, named := strings.Cut(ref.APIVersion, "/")
	if !named {
		group = ""
	}
	return ref.Kind == kind && slices.Contains(groups, group)
}

// find returns the object of a list in the order of names that a reference leads to, nil: none.
func find[T any, P resource.Pointer[T]](all []P, ref *metav1.OwnerReference) P {
	i, found := slices.BinarySearchFunc(all, ref.Name, func(o P, name string) int {
		return strings.Compare(o.GetObjectMeta().Name, name)
	})
	if !found || all[i].GetObjectMeta().UID != ref.UID {
		return nil
	}
	return all[i]
}

func (s *scaled) of(uid metav1.UID) *controller {
	n := &controller{uid: uid}
	if s.Replicas != nil {
		n.replicas = *s.Replicas
	}
	return n
}

// readScale asks the API server for the scale of what a reference leads to; nil where there is no such object.
func (r *run) readScale(ref *metav1.OwnerReference) (*controller, error) {
	if strings.Count(ref.APIVersion, "/") > 1 {
		return nil, sdk.Errors("unexpected GroupVersion string: ", ref.APIVersion)
	}
	served, err := r.c.ResourceOf(ref.APIVersion, ref.Kind)
	if sdk.Failed(err, "NoKindMatch") {
		return nil, sdk.Errors(`no matches for kind "`, ref.Kind, `" in version "`, ref.APIVersion, `"`)
	}
	if err != nil {
		return nil, err
	}

	s, err := scale.Get(r.c, served.Resource, r.budget.Namespace, ref.Name)
	switch {
	case sdk.Failed(err, sdk.NotFound):
		if err.Error() == noPath {
			return nil, sdk.Errors(groupResource(served.Resource), " does not implement the scale subresource")
		}
		return nil, nil
	case err != nil:
		return nil, err
	case s.UID != ref.UID:
		return nil, nil
	}
	return &controller{s.UID, s.Spec.Replicas}, nil
}

// noPath is what is answered to a request for a subresource that the API server doesn't have; of an object that isn't
// there it names the object.
const noPath = "the server could not find the requested resource"

// groupResource is a resource as upstream's messages name it: apps/v1/daemonsets is daemonsets.apps.
func groupResource(r string) string {
	parts := strings.Split(r, "/")
	if len(parts) < 3 {
		return parts[len(parts)-1]
	}
	return parts[2] + "." + parts[0]
}
