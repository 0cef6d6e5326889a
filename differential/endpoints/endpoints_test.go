package endpoints

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	pack "k8s.io/kubernetes/pkg/api/v1/endpoints"
	"k8s.io/kubernetes/pkg/apis/core"
	upstream "k8s.io/kubernetes/pkg/controller/endpoint"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/endpoints"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/endpoint.(*Controller).processNextWorkItem
func process(*upstream.Controller, context.Context) bool

//go:linkname processPod k8s.io/kubernetes/pkg/controller/endpoint.(*Controller).processNextPodWorkItem
func processPod(*upstream.Controller, context.Context) bool

var (
	services = corev1.SchemeGroupVersion.WithResource("services")
	current  = corev1.SchemeGroupVersion.WithResource("endpoints")
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "endpoints-controller",
		Plugin:     endpoints.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Core().V1()
			c := upstream.NewEndpointController(e.Context, f.Pods(), f.Services(), f.Endpoints(), e.Client, 0)
			return &native.Made{
				Controller: c,
				Process:    func(ctx context.Context) bool { return process(c, ctx) },
				Feeds: map[string]func(context.Context) bool{
					"podQueue": func(ctx context.Context) bool { return processPod(c, ctx) },
				},
			}, nil
		},
		World: objects,
		Deeds: []differential.Deed{
			differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.LiveThere(p) }),
			differential.Vary(differential.Pods, "other addresses", func(r *world.Rand, p *corev1.Pod) { r.Addresses(p) }),
			differential.Vary(
				differential.Pods,
				"other labels",
				func(r *world.Rand, p *corev1.Pod) { p.Labels = r.Labels("web") },
			),
			differential.Vary(differential.Pods, "the end", func(r *world.Rand, p *corev1.Pod) { r.End(p) }),
			differential.Vary(differential.Pods, "a node", func(r *world.Rand, p *corev1.Pod) {
				if p.Spec.NodeName == "" {
					p.Spec.NodeName = "node-1"
				}
			}),
			differential.Delete(differential.Pods),
			differential.Vanish(differential.Pods),
			differential.Appear(func(r *world.Rand) runtime.Object {
				return r.Endpoint(fmt.Sprintf("new-%d", r.IntN(100)), world.Namespace, 3)
			}),
			differential.Vary(services, "other ports", func(r *world.Rand, s *corev1.Service) { r.Ports(s) }),
			differential.Vary(services, "other families", func(r *world.Rand, s *corev1.Service) { r.Families(s) }),
			differential.Vary(services, "another selector", func(r *world.Rand, s *corev1.Service) { r.Selector(s) }),
			differential.Vary(services, "other labels", func(r *world.Rand, s *corev1.Service) { s.Labels = r.Labels("web") }),
			differential.Vary(services, "publishing", func(_ *world.Rand, s *corev1.Service) {
				s.Spec.PublishNotReadyAddresses = !s.Spec.PublishNotReadyAddresses
			}),
			differential.Vary(services, "the end", func(r *world.Rand, s *corev1.Service) { r.End(s) }),
			differential.Delete(services),
			differential.Vanish(services),
			differential.Appear(func(r *world.Rand) runtime.Object { return r.Service(world.Of(r, names...), world.Namespace) }),
			differential.Vary(current, "other contents", func(r *world.Rand, e *corev1.Endpoints) { meddle(r, e) }),
			differential.Vary(current, "other contents", func(r *world.Rand, e *corev1.Endpoints) { meddle(r, e) }),
			differential.Vanish(current),
			differential.Delete(current),
		},
		Faults: []string{"create endpoints", "update endpoints", "delete endpoints"},
		Loosen: loosen,
		Sum:    sum,
		SumOf:  current,
	}
}

var names = []string{"web", "db", "api"}

// objects are some services, their pods on nodes, and Endpoints: theirs, others', leaders', and of services that are
// gone.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	for i, name := range names[:1+r.IntN(3)] {
		if i == 0 || r.One(2) {
			all = append(all, r.Service(name, world.Namespace))
		}
	}

	pods := r.IntN(9)
	if r.One(500) {
		// More than Endpoints take. They are in one subset: of several, the order says which is cut.
		pods = 1001 + r.IntN(40)
		for _, o := range all {
			for i, s := 0, o.(*corev1.Service); i < len(s.Spec.Ports); i++ {
				s.Spec.Ports[i].TargetPort = intstr.FromInt32(80)
			}
		}
	}

	for i := range pods {
		p := r.Endpoint(fmt.Sprintf("pod-%d", i), world.Namespace, 3)
		if pods > 1000 {
			p.Labels, p.Spec.NodeName = map[string]string{"app": "web"}, "node-1"
			if p.Status.Phase = corev1.PodRunning; !r.One(50) {
				p.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.1.%d.%d", i/250, i%250)}}
				p.Status.PodIP = p.Status.PodIPs[0].IP
			}
		}
		all = append(all, p)
	}

	for _, name := range append([]string{"gone"}, names...) {
		if r.One(3) {
			all = append(all, existing(r, name))
		}
	}
	return all
}

// existing are Endpoints as anybody may have left them.
func existing(r *world.Rand, name string) *corev1.Endpoints {
	e := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000)},
	}
	meddle(r, e)
	if r.One(8) {
		e.Annotations = map[string]string{resourcelock.LeaderElectionRecordAnnotationKey: "{}"}
	}
	if r.One(10) {
		e.Finalizers = []string{"example.com/stay"}
	}
	if r.One(15) {
		r.End(e)
	}
	return e
}

// meddle changes Endpoints a little, or entirely.
func meddle(r *world.Rand, e *corev1.Endpoints) {
	switch r.IntN(9) {
	case 0:
		e.Labels = r.Labels("web")
	case 1:
		e.Labels = map[string]string{"endpoints.kubernetes.io/managed-by": world.Of(r, "endpoint-controller", "me")}
	case 2:
		e.Labels = nil
	case 3:
		e.Annotations = map[string]string{corev1.EndpointsOverCapacity: world.Of(r, "truncated", "warning", "")}
	case 4:
		e.Annotations = map[string]string{
			corev1.EndpointsLastChangeTriggerTime: "1999-12-31T23:00:00Z",
			"example.com/note":                    "a",
		}
	case 5:
		e.Subsets = nil
	case 6: // each port in a subset of its own
		var split []corev1.EndpointSubset
		for _, s := range e.Subsets {
			for _, p := range s.Ports {
				split = append(
					split,
					corev1.EndpointSubset{
						Addresses:         s.Addresses,
						NotReadyAddresses: s.NotReadyAddresses,
						Ports:             []corev1.EndpointPort{p},
					},
				)
			}
		}
		e.Subsets = split
	case 7: // another order
		for i := range e.Subsets {
			slices.Reverse(e.Subsets[i].Ports)
			slices.Reverse(e.Subsets[i].Addresses)
		}
		slices.Reverse(e.Subsets)
	case 8:
		s := corev1.EndpointSubset{
			Ports: []corev1.EndpointPort{{Name: world.Of(r, "http", ""), Port: 80, Protocol: corev1.ProtocolTCP}},
		}
		n := 1 + r.IntN(3)
		if r.One(20) {
			n = 1001
		}
		for i := range n {
			s.Addresses = append(
				s.Addresses,
				corev1.EndpointAddress{IP: fmt.Sprintf("10.3.%d.%d", i/250, i%250), NodeName: world.Maybe(r, "node-1")},
			)
		}
		e.Subsets = append(e.Subsets, s)
	}
}

// loosen puts subsets and their ports into one order: upstream's is that of hashes of a dump, the plugin's is the
// service's, and nobody looks at it. The rows of docs/differences.md about Endpoints are kept to here, so that the rest
// is compared: a delete that finds nothing, and a write for the service's own labels that changes nothing but the time
// of the last change.
func loosen(
	key string,
	before, _ *api.Cluster,
	writes []*api.Request,
) (rest []*api.Request, lines []string, err error) {
	all, err := before.List(current)
	if err != nil {
		return nil, nil, err
	}

	was := map[string]*corev1.Endpoints{}
	for _, o := range all {
		e := o.(*corev1.Endpoints)
		was[e.Namespace+"/"+e.Name] = e
	}

	owners, err := before.List(services)
	if err != nil {
		return nil, nil, err
	}

	reserved := slices.ContainsFunc(owners, func(o runtime.Object) bool {
		s := o.(*corev1.Service)
		_, headless := s.Labels[corev1.IsHeadlessService]
		_, managed := s.Labels[upstream.LabelManagedBy]
		return s.Namespace+"/"+s.Name == key && (headless || managed)
	})

	for _, q := range writes {
		q := *q
		old, there := was[q.Namespace+"/"+q.Name]
		if q.Verb == "delete" && !there && apierrors.IsNotFound(q.Err) {
			continue
		}
		if e, ok := q.Answer.(*core.Endpoints); ok {
			if q.Verb == "update" && there && reserved && onlyTime(old, e) {
				continue
			}
			q.Answer = ordered(e)
		}
		if e, ok := q.Sent.(*core.Endpoints); ok {
			q.Sent = ordered(e)
		}
		rest = append(rest, &q)
	}
	return rest, nil, nil
}

// onlyTime reports whether two differ in nothing but the time of the last change, and that label.
func onlyTime(old *corev1.Endpoints, now *core.Endpoints) bool {
	was, err := legacyscheme.Scheme.ConvertToVersion(old, runtime.InternalGroupVersioner)
	if err != nil {
		return false
	}
	a, b := ordered(was.(*core.Endpoints)), ordered(now)
	for _, e := range []*core.Endpoints{a, b} {
		e.ResourceVersion, e.ManagedFields = "", nil
		delete(e.Annotations, corev1.EndpointsLastChangeTriggerTime)
		delete(e.Labels, corev1.IsHeadlessService)
	}
	return equality.Semantic.DeepEqual(a.ObjectMeta, b.ObjectMeta) && equality.Semantic.DeepEqual(a.Subsets, b.Subsets)
}

func ordered(e *core.Endpoints) *core.Endpoints {
	e = e.DeepCopy()
	for i := range e.Subsets {
		slices.SortFunc(
			e.Subsets[i].Ports,
			func(a, b core.EndpointPort) int { return strings.Compare(fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b)) },
		)
	}
	slices.SortFunc(e.Subsets, func(a, b core.EndpointSubset) int { return strings.Compare(text(a), text(b)) })
	return e
}

// sum is what Endpoints say, without the time of the last change, which a service that is written again for its labels
// gets at another sync. Their subsets are in upstream's order, which hashes of addresses and ports make.
func sum(c *api.Cluster) (lines []string, err error) {
	all, err := c.List(current)
	for _, o := range all {
		e := o.(*corev1.Endpoints).DeepCopy()
		if delete(e.Annotations, corev1.EndpointsLastChangeTriggerTime); len(e.Annotations) == 0 {
			e.Annotations = nil
		}
		b, err := differential.YAML(map[string]any{
			"labels": e.Labels, "annotations": e.Annotations, "subsets": pack.RepackSubsets(e.Subsets),
		})
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%s/%s in the end\n%s", e.Namespace, e.Name, b))
	}
	return lines, err
}

func text(s core.EndpointSubset) string {
	t := ""
	for _, p := range s.Ports {
		t += fmt.Sprint(p.Name, p.Port, p.Protocol, " ")
	}
	for _, a := range s.Addresses {
		t += a.IP + " "
	}
	return t
}
