package disruption

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe" // also for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	coreinformers "k8s.io/client-go/informers/core/v1"
	policyinformers "k8s.io/client-go/informers/policy/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/disruption"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/disruption.(*DisruptionController).processNextWorkItem
func process(*upstream.DisruptionController, context.Context) bool

//go:linkname processStale k8s.io/kubernetes/pkg/controller/disruption.(*DisruptionController).processNextStalePodDisruptionWorkItem
func processStale(*upstream.DisruptionController, context.Context) bool

var (
	budgets      = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	replicaSets  = appsv1.SchemeGroupVersion.WithResource("replicasets")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	controllers  = corev1.SchemeGroupVersion.WithResource("replicationcontrollers")
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) {
	s := subject()
	s.Native = made
	differential.Wakes(t, s)
}

func TestStalePodsAsUpstream(t *testing.T) { differential.Run(t, stalePods()) }

func TestStalePodsWakeAsUpstream(t *testing.T) { differential.Wakes(t, stalePods()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "disruption-controller",
		Plugin:     disruption.Plugin,
		Native:     alike,
		World:      objects,
		Steps:      8,
		Deeds: append([]differential.Deed{
			evict, evict, evict, wait, wait,
			differential.Vary(budgets, "another spec", func(r *world.Rand, b *policyv1.PodDisruptionBudget) {
				b.Spec = spec(r)
				b.Generation++
			}),
			differential.Vary(budgets, "another selector", func(r *world.Rand, b *policyv1.PodDisruptionBudget) {
				if b.Spec.Selector = selector(r); r.One(4) {
					b.Spec.Selector = unparsable(r)
				}
				b.Generation++
			}),
			differential.Vary(budgets, "other labels", func(r *world.Rand, b *policyv1.PodDisruptionBudget) {
				b.Labels = r.Labels("web")
			}),
			differential.Vary(budgets, "another status", func(r *world.Rand, b *policyv1.PodDisruptionBudget) {
				status(r, b)
			}),
			differential.Delete(budgets),
			differential.Vanish(budgets),
			differential.Appear(func(r *world.Rand) runtime.Object { return budget(r, world.Of(r, names...)) }),
			differential.Vary(deployments, "another size", func(r *world.Rand, d *appsv1.Deployment) {
				d.Spec.Replicas = replicas(r)
			}),
			differential.Vary(replicaSets, "another size", func(r *world.Rand, s *appsv1.ReplicaSet) {
				s.Spec.Replicas = replicas(r)
			}),
			differential.Vary(statefulSets, "another size", func(r *world.Rand, s *appsv1.StatefulSet) {
				s.Spec.Replicas = replicas(r)
			}),
			differential.Vanish(deployments),
			differential.Vanish(replicaSets),
			differential.Vanish(controllers),
		}, podDeeds...),
		Faults: []string{"update poddisruptionbudgets/status"},
		// A row of docs/differences.md says when it is told.
		Untold: func(event string) bool { return strings.Contains(event, " Warning MultiplePodDisruptionBudgets: ") },
	}
}

// stalePods compares the second queue.
func stalePods() *differential.Subject {
	return &differential.Subject{
		Controller: "disruption-stale-pods",
		Plugin:     disruption.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			m, err := made(e)
			if err != nil {
				return nil, err
			}
			c := m.Controller.(*upstream.DisruptionController)
			m.Queue, m.Place = "stalePodDisruptionQueue", nil
			m.Process = func(ctx context.Context) bool { return processStale(c, ctx) }
			return m, nil
		},
		World: func(r *world.Rand) (all []runtime.Object) {
			for i := range 1 + r.IntN(4) {
				all = append(all, targeted(r, fmt.Sprintf("pod-%d", i)))
			}
			return all
		},
		Share: 2,
		Steps: 8,
		Deeds: append([]differential.Deed{
			wait, wait,
			differential.Vary(differential.Pods, "another target", func(r *world.Rand, p *corev1.Pod) { target(r, p) }),
			differential.Vary(differential.Pods, "another generation", func(_ *world.Rand, p *corev1.Pod) { p.Generation++ }),
			differential.Appear(func(r *world.Rand) runtime.Object { return targeted(r, fmt.Sprintf("new-%d", r.IntN(9))) }),
		}, podDeeds...),
		Faults: []string{"update pods/status"},
	}
}

// made makes upstream's controller as its manager does.
func made(e *native.Env) (*native.Made, error) {
	c, err := newUpstream(e, e.Informers.Core().V1().Pods(), e.Informers.Policy().V1().PodDisruptionBudgets())
	if err != nil {
		return nil, err
	}
	m := &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}
	m.Place = func(at unsafe.Pointer, q *native.Queue[string]) { place(c, at, q) }
	return m, nil
}

// alike makes upstream's controller do what rows of docs/differences.md say of the plugin, so that all else can be
// compared: it is woken as the plugin is (listener), and a sync that has failed is tried again, though it was written
// that nothing is allowed.
func alike(e *native.Env) (*native.Made, error) {
	l := &listener{budgets: e.Client.PolicyV1(), own: map[string]bool{}}
	c, err := newUpstream(e, heardPods{e.Informers.Core().V1().Pods(), l},
		heardBudgets{e.Informers.Policy().V1().PodDisruptionBudgets(), l})
	if err != nil {
		return nil, err
	}
	l.lister = e.Informers.Policy().V1().PodDisruptionBudgets().Lister()
	l.replaceWriter(c)

	m := &native.Made{Controller: c}
	m.Place = func(at unsafe.Pointer, q *native.Queue[string]) {
		place(c, at, q)
		l.queue = q
		m.Process = func(ctx context.Context) bool {
			l.failed = ""
			more := process(c, ctx)
			if l.failed != "" {
				q.AddRateLimited(l.failed)
			}
			return more
		}
	}
	return m, nil
}

func newUpstream(e *native.Env, pods coreinformers.PodInformer, budgets policyinformers.PodDisruptionBudgetInformer) (
	*upstream.DisruptionController, error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(e.Client.Discovery()))
	scales, err := scale.NewForConfig(e.Config, mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(e.Client.Discovery()))
	if err != nil {
		return nil, err
	}
	f := e.Informers
	return upstream.NewDisruptionController(e.Context, pods, budgets, f.Core().V1().ReplicationControllers(),
		f.Apps().V1().ReplicaSets(), f.Apps().V1().Deployments(), f.Apps().V1().StatefulSets(), e.Client, mapper, scales,
		e.Client.Discovery()), nil
}

// place puts a queue into upstream's controller, and has the keys that are to be rechecked put into it when it is time:
// upstream's has a queue for them, from which a worker of its own takes them.
func place(c *upstream.DisruptionController, queue unsafe.Pointer, q *native.Queue[string]) {
	*(*workqueue.TypedRateLimitingInterface[string])(queue) = q
	f := reflect.ValueOf(c).Elem().FieldByName("recheckQueue")
	at := (*workqueue.TypedDelayingInterface[string])(unsafe.Pointer(f.UnsafeAddr()))
	(*at).ShutDown()
	*at = rechecks{q}
}

type rechecks struct{ *native.Queue[string] }

// AddAfter puts a key into the queue a moment later, as the worker does.
func (r rechecks) AddAfter(key string, d time.Duration) { r.Queue.AddAfter(key, d+1) }

// evict allows the eviction of a pod as the API server does, of which mostly the pod's deletion follows.
func evict(r *world.Rand, c *api.Cluster) (string, error) {
	pods, err := c.List(differential.Pods)
	if err != nil || len(pods) == 0 {
		return "", err
	}
	all, err := c.List(budgets)
	if err != nil || len(all) == 0 {
		return "", err
	}

	p, b := pods[r.IntN(len(pods))].(*corev1.Pod), all[r.IntN(len(all))].(*policyv1.PodDisruptionBudget)
	if b.Status.DisruptionsAllowed == 0 || b.Status.ObservedGeneration < b.Generation {
		return "", nil
	}
	err = c.Change(budgets, b.Namespace, b.Name, func(o runtime.Object) {
		s := &o.(*policyv1.PodDisruptionBudget).Status
		if s.DisruptionsAllowed--; s.DisruptedPods == nil {
			s.DisruptedPods = map[string]metav1.Time{}
		}
		s.DisruptedPods[p.Name] = metav1.Now().Rfc3339Copy()
	})
	what := fmt.Sprintf("eviction of %s by %s", p.Name, b.Name)
	if err != nil || r.One(2) {
		return what, err
	}
	return what + ", done", c.Delete(differential.Pods, p.Namespace, p.Name, &metav1.DeleteOptions{})
}

// wait lets time go on by about as much as what is waited for.
func wait(r *world.Rand, _ *api.Cluster) (string, error) {
	d := world.Of(r, 1, 30, 60, 110, 120, 121)
	time.Sleep(time.Duration(d) * time.Second)
	return fmt.Sprintf("%d s go by", d), nil
}
