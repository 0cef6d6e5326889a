package endpointslice

import (
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
)

// reconciler is one sync of one service.
type reconciler struct {
	call       *sdk.Call
	service    *corev1.Service
	labels     metav1.StringMap // of its slices
	trigger    metav1.Time
	max        int // endpoints in a slice
	hinted     bool
	candidates []candidate                  // in the order of the pods' names
	ports      [][]discoveryv1.EndpointPort // by group
	byName     *endpoint.Table              // of the candidates, made when it is needed
	last       int                          // the candidate found last
	errors     failures
	totals     totals
}

// plan is what is to become of the slices of one address type.
type plan struct {
	unchanged              []*discoveryv1.EndpointSlice // as the view gave them: not to be written into
	create, update, delete []*discoveryv1.EndpointSlice
}

// reconcile brings the slices of one address type up to date.
func (r *reconciler) reconcile(t discoveryv1.AddressType, existing []*discoveryv1.EndpointSlice) {
	address(r.candidates, t)
	r.last = -1
	for i := range r.candidates {
		if x := &r.candidates[i]; x.nodeless && !r.service.Spec.PublishNotReadyAddresses {
			// The sync fails, once the rest is done, so that it is tried again when the node may be known.
			x.wanted = false
			r.errors.add("skipping Pod " + x.pod.Name + " for Service " + r.service.Namespace + "/" + r.service.Name +
				": Node " + x.pod.Spec.NodeName + " Not Found")
		}
	}

	var p plan
	var stale []*discoveryv1.EndpointSlice // of ports that no pod has
	ours := make([][]*discoveryv1.EndpointSlice, len(r.ports))
	for _, s := range existing {
		switch g := r.groupOf(s); {
		case g >= 0:
			ours[g] = append(ours[g], s)
		case r.ownsSlice(s):
			stale = append(stale, s)
		default:
			p.delete = append(p.delete, s)
		}
	}

	plus, minus, ideal := 0, 0, 0
	for g := range r.ports {
		a, b, n := r.packGroup(&p, t, g, ours[g])
		plus, minus, ideal = plus+a, minus+b, ideal+(n+r.max-1)/r.max
		r.totals.endpoints += n
	}
	p.delete = append(p.delete, stale...) // in this order: a slice that would be made takes the first one's place

	if len(p.create) == 0 && len(p.delete) == len(existing) {
		// There is always a slice. The one that is there stays where it says the same.
		if len(p.delete) == 1 && r.isPlaceholder(p.delete[0]) {
			p.unchanged, p.delete = p.delete, nil
		} else {
			p.create = append(p.create, r.newSlice(t, nil))
		}
	}

	r.totals.slices += len(p.unchanged) + len(p.create) + len(p.update)
	r.totals.ideal += max(ideal, 1) // there is always a slice
	added.Add(r.call, float64(plus))
	removed.Add(r.call, float64(minus))
	notice := r.addHints(&p, t)
	r.finalize(&p)
	notice.recordEvent(r)
}

// groupOf returns the ports' group that the slice belongs to, -1 for a slice of another service of that name or of
// ports that no pod has.
func (r *reconciler) groupOf(s *discoveryv1.EndpointSlice) int {
	if !r.ownsSlice(s) {
		return -1
	}
next:
	for g := range r.ports {
		ports := r.ports[g]
		if len(ports) != len(s.Ports) {
			continue
		}
		for i := range ports {
			if !hasPort(s.Ports, &ports[i]) {
				continue next
			}
		}
		return g
	}
	return -1
}

func hasPort(ports []discoveryv1.EndpointPort, want *discoveryv1.EndpointPort) bool {
	for i := range ports {
		p := &ports[i]
		if p.Name != nil && *p.Name == *want.Name && p.Port != nil && *p.Port == *want.Port && p.Protocol != nil &&
			*p.Protocol == *want.Protocol &&
			(p.AppProtocol == nil) == (want.AppProtocol == nil) &&
			(p.AppProtocol == nil || *p.AppProtocol == *want.AppProtocol) {
			return true
		}
	}
	return false
}

func (r *reconciler) ownsSlice(s *discoveryv1.EndpointSlice) bool {
	for i := range s.OwnerReferences {
		if o := &s.OwnerReferences[i]; o.UID == r.service.UID && o.Kind == corev1.Services.Kind &&
			o.APIVersion == corev1.Services.APIVersion() {
			return true
		}
	}
	return false
}

// isPlaceholder reports whether the slice is empty as the one is that a service without endpoints has.
func (r *reconciler) isPlaceholder(s *discoveryv1.EndpointSlice) bool {
	return len(s.Ports) == 0 && len(s.Endpoints) == 0 && coversLabels(s.Labels, r.labels) &&
		coversLabels(r.labels, s.Labels)
}

// coversLabels reports whether a says all that b does; an empty label says as much as none.
func coversLabels(a, b metav1.StringMap) bool {
	for i := range b {
		if a.Get(b[i].Key) != b[i].Value {
			return false
		}
	}
	return true
}

// newSlice returns an empty slice of the service, whose name the host makes.
func (r *reconciler) newSlice(t discoveryv1.AddressType, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: t, Ports: ports}
	s.Namespace, s.GenerateName, s.Labels = r.service.Namespace, endpoint.SlicePrefix(r.service.Name), r.labels
	s.OwnerReferences = []metav1.OwnerReference{owner.Ref(r.service)}
	return s
}

// sliceLabels are the service's labels with those that a slice has of its own.
func sliceLabels(s *corev1.Service) metav1.StringMap {
	l := make(metav1.StringMap, 0, len(s.Labels)+3)
	for _, e := range s.Labels {
		if !reserved(e.Key) {
			l = append(l, e)
		}
	}
	if endpoint.Headless(s) {
		l.Set(corev1.IsHeadlessService, "")
	}
	l.Set(discoveryv1.LabelServiceName, s.Name)
	l.Set(discoveryv1.LabelManagedBy, manager)
	return l
}

// labelled reports whether the slice has the labels that it takes over from the service.
func (r *reconciler) labelled(s *discoveryv1.EndpointSlice) bool {
	n := 0
	for i := range s.Labels {
		l := &s.Labels[i]
		if reserved(l.Key) {
			continue
		}
		if v, ok := r.labels.Lookup(l.Key); !ok || v != l.Value {
			return false
		}
		n++
	}
	for i := range r.labels {
		if !reserved(r.labels[i].Key) {
			n--
		}
	}
	return n == 0
}

func reserved(label string) bool {
	return label == discoveryv1.LabelServiceName || label == discoveryv1.LabelManagedBy ||
		label == corev1.IsHeadlessService
}
