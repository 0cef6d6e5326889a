package endpointslicemirroring

import (
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
)

// reconcile plans what is to become of the group's slices: there is one, as it should be, or none where there are no
// endpoints.
func (g *portGroup) reconcile(p *plan, t *totals, e *mirroredEndpoints, most int) {
	t.endpoints += len(g.wanted)
	t.ideal += (len(g.wanted) + most - 1) / most
	if len(g.wanted) == 0 {
		for _, s := range g.existing {
			t.removed += len(s.Endpoints)
		}
		p.delete = append(p.delete, g.existing...)
		return
	}

	t.slices++
	if len(g.existing) == 0 {
		t.added += len(g.wanted)
		s := &discoveryv1.EndpointSlice{}
		s.Namespace, s.GenerateName = e.Namespace, endpoint.SlicePrefix(e.Name)
		p.create = append(p.create, g.fill(s, e))
		return
	}

	first := g.existing[0]
	p.delete = append(p.delete, g.existing[1:]...)
	if changes := g.compare(first); changes != (totals{}) || !describes(first, e) {
		t.add(changes)
		p.update = append(p.update, g.fill(sdk.Copy(first), e))
	}
}

// compare counts what has to change in a slice's endpoints.
func (g *portGroup) compare(s *discoveryv1.EndpointSlice) (t totals) {
	byID := endpoint.NewTable(len(g.wanted), func(i int) string { return g.wanted[i].id })
	found := 0
	for i := range s.Endpoints {
		have := &s.Endpoints[i]
		switch at := byID.Find(id(have)); {
		case at < 0:
			t.removed++
		case !same(have, &g.wanted[at].endpoint):
			found++
			t.updated++
		default:
			found++
		}
	}
	t.added = len(g.wanted) - found
	return t
}

// same compares what isn't in an endpoint's ID.
func same(a, b *discoveryv1.Endpoint) bool {
	return equal(a.NodeName, b.NodeName) && equal(a.Zone, b.Zone) && equal(a.Conditions.Ready, b.Conditions.Ready) &&
		equal(a.Conditions.Serving, b.Conditions.Serving) && equal(a.Conditions.Terminating, b.Conditions.Terminating) &&
		sameTarget(a.TargetRef, b.TargetRef)
}

func equal[T comparable](a, b *T) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// sameTarget leaves out the version of the object.
func sameTarget(a, b *corev1.ObjectReference) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID &&
		a.APIVersion == b.APIVersion && a.FieldPath == b.FieldPath
}

// describes reports whether a slice has the labels and annotations of the Endpoints, and these as an owner, but not
// earlier ones of their name.
func describes(s *discoveryv1.EndpointSlice, e *mirroredEndpoints) bool {
	owned := false
	for i := range s.OwnerReferences {
		o := &s.OwnerReferences[i]
		if o.UID == e.UID {
			owned = true
		} else if o.Kind == "Endpoints" && o.Name == e.Name {
			return false
		}
	}
	return owned && sameMap(s.Labels, e.labels) && sameMap(s.Annotations, e.annotations)
}

func sameMap(a, b metav1.StringMap) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if v, ok := b.Lookup(a[i].Key); !ok || v != a[i].Value {
			return false
		}
	}
	return true
}

// mirroredEndpoints are Endpoints with the labels and annotations that each of their slices has: there may be many of
// both.
type mirroredEndpoints struct {
	*corev1.Endpoints

	labels, annotations metav1.StringMap
}

// labels are those of the Endpoints, with two of a slice's own.
func labels(e *corev1.Endpoints) metav1.StringMap {
	l := e.Labels.Clone()
	l.Set(discoveryv1.LabelServiceName, e.Name)
	l.Set(discoveryv1.LabelManagedBy, manager)
	return l
}

// annotations are those of the Endpoints but for what tells of the Endpoints themselves.
func annotations(e *corev1.Endpoints) metav1.StringMap {
	a := e.Annotations.Clone()
	a.Delete(corev1.EndpointsLastChangeTriggerTime)
	a.Delete(corev1.LastAppliedConfigAnnotation)
	return a
}

// fill has a slice say what the group's should.
func (g *portGroup) fill(s *discoveryv1.EndpointSlice, e *mirroredEndpoints) *discoveryv1.EndpointSlice {
	s.Labels, s.Annotations = e.labels, e.annotations
	s.OwnerReferences = []metav1.OwnerReference{owner.Ref(e.Endpoints)}
	s.AddressType, s.Ports = g.addressType, g.ports
	s.Endpoints = make([]discoveryv1.Endpoint, len(g.wanted))
	for i := range g.wanted {
		s.Endpoints[i] = g.wanted[i].endpoint
	}
	return s
}
