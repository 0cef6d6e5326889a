package namespace

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/namespace"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/namespace"
)

//go:linkname worker k8s.io/kubernetes/pkg/controller/namespace.(*NamespaceController).worker
func worker(*upstream.NamespaceController, context.Context)

var (
	namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "namespace-controller",
		Plugin:     namespace.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			c := upstream.NewNamespaceController(e.Context, e.Client, e.Metadata,
				func() ([]*metav1.APIResourceList, error) { return namespaced(e) }, e.Informers.Core().V1().Namespaces(),
				5*time.Minute, corev1.FinalizerKubernetes)
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { worker(c, ctx); return true }}, nil
		},
		World: objects,
		Deeds: []differential.Deed{
			differential.Delete(namespaces),
			differential.Delete(namespaces),
			differential.Delete(differential.Pods),
			differential.Vanish(differential.Pods),
			differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.Live(p) }),
			differential.Vary(differential.Pods, "its end", func(_ *world.Rand, p *corev1.Pod) { p.Finalizers = nil }),
			differential.Vary(configMaps, "its finalizers", func(r *world.Rand,
				m *corev1.ConfigMap) {
				m.Finalizers = finalizers(r)
			}),
			differential.Vanish(configMaps),
			differential.Vary(namespaces, "its finalizers", func(r *world.Rand,
				n *corev1.Namespace) {
				n.Spec.Finalizers = own(r)
			}),
			differential.Vary(namespaces, "its status", status),
			differential.Vanish(namespaces),
		},
		Faults: []string{
			"deletecollection pods", "deletecollection configmaps", "deletecollection endpointslices",
			"update namespaces/status", "update namespaces/finalize",
		},
	}
}

// namespaced is what upstream's manager asks discovery for.
func namespaced(e *native.Env) ([]*metav1.APIResourceList, error) {
	all, err := e.Served()
	for _, l := range all {
		l.APIResources = slices.DeleteFunc(l.APIResources, func(r metav1.APIResource) bool { return !r.Namespaced })
	}
	return all, err
}

func own(r *world.Rand) []corev1.FinalizerName {
	return world.Of(r, []corev1.FinalizerName{corev1.FinalizerKubernetes},
		[]corev1.FinalizerName{corev1.FinalizerKubernetes, "example.com/other"},
		[]corev1.FinalizerName{"example.com/other"}, nil)
}

func finalizers(r *world.Rand) []string {
	return world.Of(r, nil, nil, []string{"example.com/stay"}, []string{"example.com/stay", "example.com/also"})
}

func status(r *world.Rand, n *corev1.Namespace) {
	n.Status.Phase = world.Of(r, corev1.NamespaceActive, corev1.NamespaceTerminating)
	n.Status.Conditions = nil
	for _, t := range []corev1.NamespaceConditionType{
		corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure,
		corev1.NamespaceDeletionContentFailure,
		corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining, "Other",
	} {
		if r.One(3) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NamespaceCondition{
				Type: t, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse), LastTransitionTime: r.Ago(500),
				Reason:  world.Of(r, "ContentDeleted", "SomeResourcesRemain", "ContentRemoved"),
				Message: world.Of(r, "All content successfully removed", "no"),
			})
		}
	}
}

// objects are some namespaces, most of them on their way out, with something in them.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	for i := range 1 + r.IntN(3) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("ns-%d", i), UID: r.UID(),
			CreationTimestamp: r.Ago(3000)}}
		ns.Spec.Finalizers = own(r)
		if r.One(8) {
			ns.Finalizers = finalizers(r)
		}

		status(r, ns)
		all = append(all, ns)
		in := func(m *metav1.ObjectMeta) {
			m.Namespace, m.UID, m.Finalizers = ns.Name, r.UID(), finalizers(r)
		}
		all = append(all, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: ns.Name},
			AutomountServiceAccountToken: world.Ptr(false)})
		for j := range r.IntN(3) {
			p := r.Pod(fmt.Sprintf("pod-%d", j), r.Labels("web"), r.PodSpec())
			p.Namespace = ns.Name
			all = append(all, p)
		}

		for j := range r.IntN(3) {
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%d", j)}}
			in(&m.ObjectMeta)
			all = append(all, m)
		}

		if r.One(3) {
			s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"},
				AddressType: discoveryv1.AddressTypeIPv4}
			in(&s.ObjectMeta)
			all = append(all, s)
		}
		if !r.One(3) {
			end(r, ns)
		}
	}
	return all
}

// end has a namespace be deleted, for some time already.
func end(r *world.Rand, ns *corev1.Namespace) {
	t := r.Ago(60)
	ns.DeletionTimestamp = &t
}
