package endpointslicemirroring

import (
	"context"
	"fmt"
	"slices"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	componentmetrics "k8s.io/component-base/metrics"
	upstream "k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring/metrics"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/endpointslicemirroring"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/endpointslicemirroring.(*Controller).processNextWorkItem
func process(*upstream.Controller, context.Context) bool

var (
	services = corev1.SchemeGroupVersion.WithResource("services")
	written  = corev1.SchemeGroupVersion.WithResource("endpoints")
	current  = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
)

const manager = "endpointslicemirroring-controller.k8s.io"

// most is few, so that few addresses are too many.
const most = 4

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "endpointslice-mirroring-controller",
		Plugin:     endpointslicemirroring.Plugin,
		Settings:   map[string]string{"mirroring-max-endpoints-per-subset": fmt.Sprint(most)},
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers
			c := upstream.NewController(e.Context, f.Core().V1().Endpoints(), f.Discovery().V1().EndpointSlices(),
				f.Core().V1().Services(), most, e.Client, 0)
			for _, gauge := range []*componentmetrics.GaugeVec{
				metrics.EndpointsDesired, metrics.NumEndpointSlices, metrics.DesiredEndpointSlices,
			} {
				gauge.Reset()
			}
			return &native.Made{
				Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) },
			}, nil
		},
		World: objects,
		Deeds: []differential.Deed{
			differential.Vary(written, "other contents", func(r *world.Rand, e *corev1.Endpoints) { meddle(r, e) }),
			differential.Vary(written, "other contents", func(r *world.Rand, e *corev1.Endpoints) { meddle(r, e) }),
			differential.Vary(written, "other contents", func(r *world.Rand, e *corev1.Endpoints) { meddle(r, e) }),
			differential.Vary(written, "other labels", func(r *world.Rand, e *corev1.Endpoints) { describe(r, e) }),
			differential.Vary(written, "the end", func(r *world.Rand, e *corev1.Endpoints) { r.End(e) }),
			differential.Delete(written),
			differential.Vanish(written),
			differential.Appear(func(r *world.Rand) runtime.Object { return endpoints(r, world.Of(r, names...)) }),
			differential.Vary(services, "a selector or none", func(r *world.Rand, s *corev1.Service) { choose(r, s) }),
			differential.Vary(services, "other ports", func(r *world.Rand, s *corev1.Service) { r.Ports(s) }),
			differential.Delete(services),
			differential.Vanish(services),
			differential.Appear(func(r *world.Rand) runtime.Object { return service(r, world.Of(r, names...)) }),
			differential.Vary(current, "other contents", func(r *world.Rand, s *discoveryv1.EndpointSlice) { change(r, s) }),
			differential.Vary(current, "other contents", func(r *world.Rand, s *discoveryv1.EndpointSlice) { change(r, s) }),
			differential.Vanish(current),
			differential.Delete(current),
		},
		Faults: []string{"all create endpointslices", "all update endpointslices", "all delete endpointslices"},
		Told:   func(o runtime.Object) string { return string(o.(*discoveryv1.EndpointSlice).AddressType) },
		Loosen: loosen,
		Sum:    sum,
		SumOf:  current,
	}
}

var names = []string{"web", "db", "api"}

// objects are services, with Endpoints of theirs or of nobody's, and slices: of these, others', and stale ones.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	var made []*corev1.Endpoints
	for _, name := range names {
		if !r.One(4) {
			all = append(all, service(r, name))
		}
		if !r.One(4) {
			made = append(made, endpoints(r, name))
			all = append(all, made[len(made)-1])
		}
	}
	if len(made) > 0 {
		there := map[string]bool{}
		for i := range world.Of(r, 0, 0, 1, 2, 3) {
			e := existing(r, fmt.Sprintf("slice-%d", i), made[r.IntN(len(made))])
			// of two that have the same ports upstream keeps any; the golden cases have that
			if k := kept(e); !there[k] {
				there[k] = true
				all = append(all, e)
			}
		}
	}
	return all
}

func service(r *world.Rand, name string) *corev1.Service {
	s := r.Service(name, world.Namespace)
	choose(r, s)
	return s
}

// choose has a service select pods or not.
func choose(r *world.Rand, s *corev1.Service) {
	if s.Spec.Selector = nil; r.One(4) {
		s.Spec.Selector = map[string]string{"app": "web"}
	}
}

// endpoints are some as people write them, or a controller of theirs.
func endpoints(r *world.Rand, name string) *corev1.Endpoints {
	e := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000)},
	}
	describe(r, e)
	for range r.IntN(4) {
		meddle(r, e)
	}
	if r.One(10) {
		e.Finalizers = []string{"example.com/stay"}
	}
	if r.One(15) {
		r.End(e)
	}
	return e
}

func describe(r *world.Rand, e *corev1.Endpoints) {
	e.Labels, e.Annotations = nil, nil
	switch r.IntN(12) {
	case 0, 1, 2:
		e.Labels = r.Labels("web")
	case 3:
		e.Labels = map[string]string{discoveryv1.LabelSkipMirror: world.Of(r, "true", "true", "false", "")}
	case 4:
		e.Labels = map[string]string{corev1.IsHeadlessService: ""}
	case 5:
		e.Labels = map[string]string{discoveryv1.LabelManagedBy: "me"}
	}

	switch r.IntN(8) {
	case 0:
		e.Annotations = map[string]string{resourcelock.LeaderElectionRecordAnnotationKey: "{}"}
	case 1:
		e.Annotations = map[string]string{
			corev1.EndpointsLastChangeTriggerTime: "1999-12-31T23:00:00Z", "example.com/note": "a",
		}
	case 2:
		e.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
	case 3:
		e.Annotations = map[string]string{"example.com/note": world.Of(r, "a", "b")}
	}
}

// meddle changes Endpoints a little, or entirely.
func meddle(r *world.Rand, e *corev1.Endpoints) {
	switch r.IntN(9) {
	case 0:
		e.Subsets = nil
	case 1, 2, 3:
		e.Subsets = append(e.Subsets, subset(r))
	case 4: // each port in a subset of its own
		var split []corev1.EndpointSubset
		for _, s := range e.Subsets {
			for _, p := range s.Ports {
				one := *s.DeepCopy()
				one.Ports = []corev1.EndpointPort{p}
				split = append(split, one)
			}
		}
		e.Subsets = split
	case 5: // another order
		for i := range e.Subsets {
			slices.Reverse(e.Subsets[i].Ports)
			slices.Reverse(e.Subsets[i].Addresses)
		}
		slices.Reverse(e.Subsets)
	case 6: // as ready as the others
		for i := range e.Subsets {
			s := &e.Subsets[i]
			s.Addresses, s.NotReadyAddresses = s.NotReadyAddresses, s.Addresses
		}
	case 7:
		for i := range e.Subsets {
			for k := range e.Subsets[i].Addresses {
				e.Subsets[i].Addresses[k].NodeName = world.Maybe(r, world.Of(r, "node-1", "node-2"))
			}
		}
	case 8:
		if len(e.Subsets) > 0 {
			e.Subsets[r.IntN(len(e.Subsets))] = subset(r)
		}
	}
}

func subset(r *world.Rand) corev1.EndpointSubset {
	s := corev1.EndpointSubset{}
	for _, p := range []corev1.EndpointPort{
		{Name: "http", Port: world.Of(r, int32(80), 8080), Protocol: corev1.ProtocolTCP},
		{Name: "dns", Port: 53, Protocol: world.Of(r, corev1.ProtocolUDP, corev1.ProtocolTCP)},
	} {
		if r.One(2) {
			s.Ports = append(s.Ports, p)
		}
	}
	if len(s.Ports) == 1 && r.One(3) {
		s.Ports[0].Name = ""
	}
	for range r.IntN(4) {
		s.Addresses = append(s.Addresses, address(r))
	}
	for range r.IntN(3) {
		s.NotReadyAddresses = append(s.NotReadyAddresses, address(r))
	}
	return s
}

func address(r *world.Rand) corev1.EndpointAddress {
	a := corev1.EndpointAddress{IP: fmt.Sprintf("10.3.0.%d", r.IntN(6)), NodeName: world.Maybe(r, "node-1")}
	switch r.IntN(8) {
	case 0, 1:
		a.IP = fmt.Sprintf("fd00::%d", r.IntN(4))
	case 2:
		a.IP = world.Of(r, "10.003.0.1", "FD00:0::1", "::ffff:10.3.0.2", "host.example.com")
	}
	if r.One(5) {
		a.Hostname = world.Of(r, "a", "b")
	}
	if r.One(4) {
		a.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: world.Namespace, Name: world.Of(r, "p", "q"),
			UID: world.Of(r, r.UID(), "", "u")}
	}
	return a
}

// existing is a slice as the controller, another one or earlier Endpoints may have left it.
func existing(r *world.Rand, name string, of *corev1.Endpoints) *discoveryv1.EndpointSlice {
	e := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000), Generation: 1,
		Labels: map[string]string{discoveryv1.LabelServiceName: of.Name, discoveryv1.LabelManagedBy: manager},
	}}
	for k, v := range of.Labels {
		if _, own := e.Labels[k]; !own && !r.One(6) {
			e.Labels[k] = v
		}
	}
	if v, ok := of.Annotations["example.com/note"]; ok && !r.One(4) {
		e.Annotations = map[string]string{"example.com/note": v}
	}

	e.OwnerReferences = []metav1.OwnerReference{world.Owner("v1", "Endpoints", of.Name, of.UID)}
	switch r.IntN(8) {
	case 0:
		e.OwnerReferences[0].UID = r.UID()
	case 1:
		e.OwnerReferences = nil
	case 2:
		e.Labels[discoveryv1.LabelManagedBy] = world.Of(r, "me", "endpointslice-controller.k8s.io")
	case 3:
		e.Labels[discoveryv1.LabelServiceName] = "gone"
	}

	e.AddressType = world.Of(r, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
	contents(r, e, of)
	if r.One(8) {
		e.Finalizers = []string{"example.com/stay"}
	}
	if r.One(12) {
		r.End(e)
	}
	return e
}

// contents has a slice say some of what Endpoints say.
func contents(r *world.Rand, e *discoveryv1.EndpointSlice, of *corev1.Endpoints) {
	if len(of.Subsets) == 0 {
		return
	}
	s := of.Subsets[r.IntN(len(of.Subsets))]
	for _, p := range s.Ports {
		e.Ports = append(e.Ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &p.Port})
	}
	for _, a := range s.Addresses {
		if v6 := slices.Contains([]byte(a.IP), ':'); v6 != (e.AddressType == discoveryv1.AddressTypeIPv6) || r.One(5) ||
			a.IP == "host.example.com" {
			continue
		}
		x := discoveryv1.Endpoint{Addresses: []string{a.IP}, TargetRef: a.TargetRef, NodeName: a.NodeName}
		x.Conditions.Ready = world.Ptr(!r.One(5))
		if a.Hostname != "" {
			x.Hostname = &a.Hostname
		}
		e.Endpoints = append(e.Endpoints, x)
	}
}

// change has somebody change a slice, but not so that two have the same ports: of these upstream keeps any.
func change(r *world.Rand, e *discoveryv1.EndpointSlice) {
	was := e.DeepCopy()
	defer func() {
		was.Labels, was.Annotations = e.Labels, e.Annotations
		if !equality.Semantic.DeepEqual(was, e) {
			e.Generation++
		}
	}()

	switch r.IntN(8) {
	case 0:
		e.Labels = map[string]string{
			discoveryv1.LabelServiceName: e.Labels[discoveryv1.LabelServiceName],
			discoveryv1.LabelManagedBy:   manager, "app": "other",
		}
	case 1:
		e.Labels = map[string]string{discoveryv1.LabelServiceName: "gone", discoveryv1.LabelManagedBy: manager}
	case 2:
		e.Labels = map[string]string{
			discoveryv1.LabelServiceName: e.Labels[discoveryv1.LabelServiceName],
			discoveryv1.LabelManagedBy:   "me",
		}
	case 3:
		e.Endpoints = nil
	case 4:
		slices.Reverse(e.Endpoints)
		slices.Reverse(e.Ports)
	case 5:
		e.Ports = []discoveryv1.EndpointPort{
			{Name: world.Ptr("other"), Port: world.Ptr(int32(9)), Protocol: world.Ptr(corev1.ProtocolTCP)},
		}
	case 6:
		for i := range e.Endpoints {
			e.Endpoints[i].Conditions.Ready = world.Ptr(!r.One(2))
			e.Endpoints[i].Zone = world.Maybe(r, "a")
		}
	case 7:
		if e.AddressType == discoveryv1.AddressTypeIPv4 {
			e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.0.1"}})
		}
	}
}
