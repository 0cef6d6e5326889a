package endpointslice

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	componentmetrics "k8s.io/component-base/metrics"
	"k8s.io/endpointslice/metrics"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/endpointslice"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/endpointslice"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/endpointslice.(*Controller).processNextServiceWorkItem
func process(*upstream.Controller, klog.Logger) bool

//go:linkname processPod k8s.io/kubernetes/pkg/controller/endpointslice.(*Controller).processNextPodWorkItem
func processPod(*upstream.Controller, klog.Logger) bool

//go:linkname processTopology k8s.io/kubernetes/pkg/controller/endpointslice.(*Controller).processNextTopologyWorkItem
func processTopology(*upstream.Controller, klog.Logger) bool

var (
	services = corev1.SchemeGroupVersion.WithResource("services")
	nodes    = corev1.SchemeGroupVersion.WithResource("nodes")
	current  = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
)

const manager = "endpointslice-controller.k8s.io"

// dual is why these worlds don't compare gauges.
const dual = "rows of docs/differences.md: upstream's count otherwise of two families, and of a service that loses its selector"

// Few endpoints in a slice, so that few pods fill it.
func TestAsUpstream(t *testing.T) { differential.Run(t, subject(3)) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject(3)) }

func TestTopologyWakesAsUpstream(t *testing.T) {
	s := subject(3)
	s.Controller = "endpointslice-topology"
	s.Native = func(e *native.Env) (*native.Made, error) {
		made, err := subject(3).Native(e)
		made.Queue, made.Feeds = "topologyQueue", nil
		return made, err
	}
	s.Key = func(string) string { return "" } // its only one has another name
	differential.Wakes(t, s)
}

func TestAsUpstreamWithFullSlices(t *testing.T) {
	s := subject(100)
	s.Share = 2
	differential.Run(t, s)
}

// Gauges are of a family's endpoints and slices where services have one, and keep their selectors: the rows of
// docs/differences.md about them are kept to.
func TestGaugesAsUpstream(t *testing.T) {
	s := subject(3)
	s.Share, s.Unmeasured = 2, nil
	s.World = func(r *world.Rand) []runtime.Object {
		all := objects(r)
		for _, o := range all {
			if s, ok := o.(*corev1.Service); ok {
				single(s)
			}
		}
		return all
	}
	s.Deeds = append(slices.Clone(deeds), differential.Appear(func(r *world.Rand) runtime.Object {
		s := service(r, world.Of(r, names...))
		single(s)
		return s
	}))
	differential.Run(t, s)
}

// single has a service be of one family, and have a selector.
func single(s *corev1.Service) {
	if s.Spec.Type == corev1.ServiceTypeExternalName || len(s.Spec.IPFamilies) != 1 {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeClusterIP, ""
		s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.96.0.7", []string{"10.96.0.7"}
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		s.Spec.IPFamilyPolicy = world.Ptr(corev1.IPFamilyPolicySingleStack)
	}
	if s.Spec.Selector == nil {
		s.Spec.Selector = map[string]string{"app": "web"}
	}
}

func subject(most int32) *differential.Subject {
	return &differential.Subject{
		Controller: "endpointslice-controller",
		Plugin:     endpointslice.Plugin,
		Settings:   map[string]string{"max-endpoints-per-slice": fmt.Sprint(most)},
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers
			c := upstream.NewController(e.Context, f.Core().V1().Pods(), f.Core().V1().Services(), f.Core().V1().Nodes(),
				f.Discovery().V1().EndpointSlices(), most, e.Client, 0)
			for _, gauge := range []*componentmetrics.GaugeVec{
				metrics.EndpointsDesired, metrics.NumEndpointSlices, metrics.DesiredEndpointSlices,
				metrics.ServicesCountByTrafficDistribution,
			} {
				gauge.Reset()
			}
			with := func(next func(*upstream.Controller, klog.Logger) bool) func(context.Context) bool {
				return func(ctx context.Context) bool { return next(c, klog.FromContext(ctx)) }
			}
			return &native.Made{
				Controller: c, Process: with(process), Queue: "serviceQueue",
				Feeds: map[string]func(context.Context) bool{"podQueue": with(processPod), "topologyQueue": with(processTopology)},
			}, nil
		},
		World: objects,
		Deeds: append(slices.Clone(deeds), freely...),
		Unmeasured: map[string]string{
			"endpoint_slice_controller_endpoints_desired":                      dual,
			"endpoint_slice_controller_num_endpoint_slices":                    dual,
			"endpoint_slice_controller_desired_endpoint_slices":                dual,
			"endpoint_slice_controller_services_count_by_traffic_distribution": dual,
		},
		Faults: []string{"all create endpointslices", "all update endpointslices", "all delete endpointslices"},
		Told:   func(o runtime.Object) string { return string(o.(*discoveryv1.EndpointSlice).AddressType) },
		Loosen: loosen,
		Sum:    sum,
		SumOf:  current,
	}
}

var deeds = []differential.Deed{
	differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.LiveThere(p) }),
	differential.Vary(differential.Pods, "other addresses", func(r *world.Rand, p *corev1.Pod) { r.Addresses(p) }),
	differential.Vary(
		differential.Pods,
		"other labels",
		func(r *world.Rand, p *corev1.Pod) { p.Labels = r.Labels("web") },
	),
	differential.Vary(differential.Pods, "the end", func(r *world.Rand, p *corev1.Pod) { r.End(p) }),
	differential.Delete(differential.Pods),
	differential.Vanish(differential.Pods),
	differential.Vanish(differential.Pods),
	differential.Appear(func(r *world.Rand) runtime.Object {
		return r.Endpoint(fmt.Sprintf("new-%d", r.IntN(100)), world.Namespace, 3)
	}),
	differential.Appear(func(r *world.Rand) runtime.Object {
		return r.Endpoint(fmt.Sprintf("new-%d", r.IntN(100)), world.Namespace, 3)
	}),
	differential.Vary(services, "other ports", func(r *world.Rand, s *corev1.Service) { r.Ports(s) }),
	differential.Vary(services, "other labels", func(r *world.Rand, s *corev1.Service) { s.Labels = r.Labels("web") }),
	differential.Vary(services, "another distribution", func(r *world.Rand, s *corev1.Service) { distribute(r, s) }),
	differential.Vary(services, "publishing", func(_ *world.Rand, s *corev1.Service) {
		s.Spec.PublishNotReadyAddresses = !s.Spec.PublishNotReadyAddresses
	}),
	differential.Vary(services, "the end", func(r *world.Rand, s *corev1.Service) { r.End(s) }),
	differential.Delete(services),
	differential.Vanish(services),
	differential.Vary(nodes, "another place", func(r *world.Rand, n *corev1.Node) { noticed(r, n, r.Place) }),
	differential.Vary(nodes, "another capacity", func(r *world.Rand, n *corev1.Node) {
		if zone, was := n.Labels[corev1.LabelTopologyZone]; r.One(4) {
			conditions := n.Status.Conditions
			if r.Place(n); was && n.Labels != nil {
				n.Labels[corev1.LabelTopologyZone] = zone
			}
			n.Status.Conditions = conditions
		}
	}),
	differential.Vanish(nodes),
	differential.Appear(func(r *world.Rand) runtime.Object { return r.Node(fmt.Sprintf("node-%d", r.IntN(4))) }),
	differential.Vary(current, "other contents", func(r *world.Rand, s *discoveryv1.EndpointSlice) { meddle(r, s) }),
	differential.Vary(current, "other contents", func(r *world.Rand, s *discoveryv1.EndpointSlice) { meddle(r, s) }),
	differential.Vary(current, "the end", func(r *world.Rand, s *discoveryv1.EndpointSlice) {
		if r.One(3) { // it ends a world (known.yaml: stale caches)
			r.End(s)
		}
	}),
	differential.Vanish(current),
	differential.Delete(current),
}

// freely are what is done to services beside.
var freely = []differential.Deed{
	differential.Vary(services, "other families", func(r *world.Rand, s *corev1.Service) { r.Families(s) }),
	differential.Vary(services, "another selector", func(r *world.Rand, s *corev1.Service) { r.Selector(s) }),
	differential.Appear(func(r *world.Rand) runtime.Object { return service(r, world.Of(r, names...)) }),
}

// noticed changes a node so that upstream's controller looks at all nodes again: its zone or whether it is ready.
func noticed(r *world.Rand, n *corev1.Node, change func(*corev1.Node)) {
	zone, ready := n.Labels[corev1.LabelTopologyZone], isReady(n)
	if change(n); zone != n.Labels[corev1.LabelTopologyZone] || ready != isReady(n) {
		return
	}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			if c.Status = corev1.ConditionTrue; ready {
				c.Status = world.Of(r, corev1.ConditionFalse, corev1.ConditionUnknown)
			}
		}
	}
}

var names = []string{"web", "db", "api"}

// objects are some services, their pods on nodes that there are or aren't, and slices: theirs, others', and stale ones.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	sharing := r.One(4)
	var made []*corev1.Service
	for i, name := range names[:1+r.IntN(3)] {
		if i == 0 || r.One(2) {
			made = append(made, service(r, name))
			if sharing && !r.One(4) {
				share(made[len(made)-1])
			}
			all = append(all, made[len(made)-1])
		}
	}

	for i := range 3 {
		if !r.One(12) {
			n := r.Node(fmt.Sprintf("node-%d", i))
			if all = append(all, n); sharing && len(n.Labels) == 1 {
				n.DeletionTimestamp, n.DeletionGracePeriodSeconds, n.Status.Conditions[1].Status = nil, nil, corev1.ConditionTrue
			}
		}
	}

	var pods []*corev1.Pod
	for i := range r.IntN(12) {
		p := r.Endpoint(fmt.Sprintf("pod-%d", i), world.Namespace, 3)
		if sharing && p.Spec.NodeName != "" && !r.One(5) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Labels["app"] = nil, nil, "web"
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: r.Ago(900)},
			}
		}
		pods, all = append(pods, p), append(all, p)
	}

	for i := range world.Of(r, 0, 0, 1, 2, 3) {
		all = append(all, existing(r, fmt.Sprintf("slice-%d", i), made[r.IntN(len(made))], pods))
	}
	return all
}

func service(r *world.Rand, name string) *corev1.Service {
	s := r.Service(name, world.Namespace)
	distribute(r, s)
	return s
}

// share has a service's hints share out its endpoints among the zones.
func share(s *corev1.Service) {
	s.Spec.TrafficDistribution, s.Annotations = nil, map[string]string{corev1.AnnotationTopologyMode: "Auto"}
	s.Spec.Selector = map[string]string{"app": "web"}
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].TargetPort = intstr.FromInt32(80)
	}
}

// distribute says, or doesn't, whither a service's traffic is to go.
func distribute(r *world.Rand, s *corev1.Service) {
	s.Spec.TrafficDistribution, s.Annotations = nil, nil
	switch r.IntN(6) {
	case 0, 1:
		s.Spec.TrafficDistribution = world.Ptr(
			world.Of(r, corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
				corev1.ServiceTrafficDistributionPreferSameNode),
		)
	case 2:
		mode := world.Of(r, corev1.AnnotationTopologyMode, corev1.AnnotationTopologyMode,
			corev1.DeprecatedAnnotationTopologyAwareHints)
		s.Annotations = map[string]string{mode: world.Of(r, "Auto", "Auto", "auto", "Disabled", "")}
	}
}

// existing is a slice as the controller, another one or an earlier service may have left it.
func existing(r *world.Rand, name string, s *corev1.Service, pods []*corev1.Pod) *discoveryv1.EndpointSlice {
	e := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000), Generation: 1,
		Labels: map[string]string{discoveryv1.LabelServiceName: s.Name, discoveryv1.LabelManagedBy: manager},
	}}
	for k, v := range s.Labels {
		if _, reserved := e.Labels[k]; !reserved {
			e.Labels[k] = v
		}
	}

	delete(e.Labels, corev1.IsHeadlessService)
	if (s.Spec.ClusterIP == corev1.ClusterIPNone || s.Spec.ClusterIP == "") != r.One(15) {
		e.Labels[corev1.IsHeadlessService] = ""
	}

	e.OwnerReferences = []metav1.OwnerReference{world.Owner("v1", "Service", s.Name, s.UID)}
	switch r.IntN(8) {
	case 0:
		e.OwnerReferences = []metav1.OwnerReference{world.Owner("v1", "Service", s.Name, r.UID())}
	case 1:
		e.OwnerReferences = nil
	case 2:
		e.Labels[discoveryv1.LabelManagedBy] = world.Of(r, "me", "endpointslicemirroring-controller.k8s.io")
	case 3:
		e.Labels[discoveryv1.LabelServiceName] = "gone"
	}

	e.AddressType = world.Of(
		r,
		discoveryv1.AddressTypeIPv4,
		discoveryv1.AddressTypeIPv4,
		discoveryv1.AddressTypeIPv4,
		discoveryv1.AddressTypeIPv6,
	)
	for _, p := range s.Spec.Ports {
		e.Ports = append(
			e.Ports,
			discoveryv1.EndpointPort{
				Name:        &p.Name,
				Protocol:    &p.Protocol,
				Port:        world.Ptr(world.Of(r, int32(80), 8080)),
				AppProtocol: p.AppProtocol,
			},
		)
	}

	for _, p := range pods {
		if len(e.Endpoints) >= 3 || !r.One(3) || len(p.Status.PodIPs) == 0 ||
			strings.Contains(p.Status.PodIPs[0].IP, ":") != (e.AddressType == discoveryv1.AddressTypeIPv6) {
			continue
		}
		x := discoveryv1.Endpoint{
			Addresses: []string{p.Status.PodIPs[0].IP},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		}
		x.Conditions.Ready = world.Maybe(r, r.One(2))
		x.Conditions.Serving = world.Maybe(r, r.One(2))
		x.Conditions.Terminating = world.Maybe(r, false)
		if p.Spec.NodeName != "" {
			x.NodeName = &p.Spec.NodeName
		}
		if p.Spec.Hostname != "" && p.Spec.Subdomain == s.Name {
			x.Hostname = &p.Spec.Hostname
		}
		if r.One(3) {
			x.Zone = world.Ptr(world.Of(r, "a", "b"))
		}
		if r.One(4) {
			x.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: world.Of(r, "a", "b", "z")}}}
		}
		e.Endpoints = append(e.Endpoints, x)
	}

	if r.One(8) {
		e.Finalizers = []string{"example.com/stay"}
	}
	if r.One(12) {
		r.End(e)
	}
	return e
}

// meddle changes a slice a little.
func meddle(r *world.Rand, e *discoveryv1.EndpointSlice) {
	was := e.DeepCopy()
	defer func() {
		if !equality.Semantic.DeepEqual(was, e) {
			e.Generation++
		}
	}()

	switch r.IntN(9) {
	case 0:
		e.Labels = map[string]string{
			discoveryv1.LabelServiceName: e.Labels[discoveryv1.LabelServiceName],
			discoveryv1.LabelManagedBy:   manager,
			"app":                        "other",
		}
	case 1:
		e.Labels = map[string]string{discoveryv1.LabelServiceName: world.Of(r, names...), discoveryv1.LabelManagedBy: manager}
	case 2:
		e.Labels = map[string]string{
			discoveryv1.LabelServiceName: e.Labels[discoveryv1.LabelServiceName],
			discoveryv1.LabelManagedBy:   world.Of(r, "me", manager),
		}
	case 3:
		e.Endpoints = nil
	case 4:
		slices.Reverse(e.Endpoints)
		slices.Reverse(e.Ports)
	case 5:
		e.Ports = nil
	case 6:
		for i := range e.Endpoints {
			e.Endpoints[i].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: world.Of(r, "a", "b")}}}
		}
	case 7:
		for i := range e.Endpoints {
			e.Endpoints[i].Conditions.Ready = world.Ptr(!r.One(2))
		}
	case 8:
		if e.AddressType == discoveryv1.AddressTypeIPv4 {
			e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.0.1"}})
		}
	}
}
