package replicationcontroller

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"
	"unsafe" // also for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replicaset/metrics"
	upstream "k8s.io/kubernetes/pkg/controller/replication"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	plugin "github.com/windlass-dev/windlass/plugins/replicaset"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/replicaset.(*ReplicaSetController).processNextWorkItem
func process(*replicaset.ReplicaSetController, context.Context) bool

// register registers the metrics that upstream's controllers of ReplicaSets and of ReplicationControllers both observe;
// in a manager the former does.
var register = sync.OnceValue(func() error { return metrics.Register(legacyregistry.Register) })

var controllers = corev1.SchemeGroupVersion.WithResource("replicationcontrollers")

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "replicationcontroller-controller",
		Gates:      []string{"PodDeletionCost"},
		Plugin:     plugin.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			if err := register(); err != nil {
				return nil, err
			}
			f := e.Informers.Core().V1()
			c := original(upstream.NewReplicationManager(e.Context, f.Pods(), f.ReplicationControllers(), e.Client, 500))
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, nil
		},
		World: objects,
		Deeds: []differential.Deed{
			differential.Vary(differential.Pods, "a change of the life", live),
			differential.Vary(differential.Pods, "other labels",
				func(r *world.Rand, p *corev1.Pod) { p.Labels = r.Labels("web") }),
			differential.Delete(differential.Pods),
			differential.Vanish(differential.Pods),
			differential.Appear(func(r *world.Rand) runtime.Object {
				return newPod(r, fmt.Sprintf("new-%d", r.IntN(100)), r.Labels("web"), r.PodSpec())
			}),
			differential.Vary(controllers, "another size", func(r *world.Rand, c *corev1.ReplicationController) {
				c.Spec.Replicas = world.Ptr(int32(r.IntN(6)))
				c.Generation++
			}),
			differential.Vary(controllers, "another selector", func(r *world.Rand, c *corev1.ReplicationController) {
				c.Spec.Selector = selector(r, c.Spec.Template.Labels["app"])
				c.Generation++
			}),
			differential.Vary(controllers, "other ready seconds", func(r *world.Rand, c *corev1.ReplicationController) {
				c.Spec.MinReadySeconds = int32(world.Of(r, 0, 30, 600))
				c.Generation++
			}),
			differential.Vary(controllers, "another status",
				func(r *world.Rand, c *corev1.ReplicationController) { status(r, c) }),
			differential.Delete(controllers),
			differential.Vanish(controllers),
		},
		Faults: []string{"create pods", "delete pods", "patch pods", "update replicationcontrollers/status"},
		Alike:  alike,
	}
}

// original returns what the manager holds a copy of: its handlers and syncs work on the original.
func original(m *upstream.ReplicationManager) *replicaset.ReplicaSetController {
	sync := native.Exposed(reflect.ValueOf(m).Elem().FieldByName("syncHandler")).(func(context.Context, string) error)
	// A method value points at its code and its receiver.
	method := *(**struct {
		code uintptr
		of   *replicaset.ReplicaSetController
	})(unsafe.Pointer(&sync))
	return method.of
}

// alike says what the ranking of pods to delete looks at, which isn't on which node they are, for no pods are related.
func alike(o runtime.Object) string {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return ""
	}
	return fmt.Sprint(p.Spec.NodeName != "", world.Ranked(p))
}

// objects are some ReplicationControllers, of one owner perhaps, and pods that are theirs, could be, or aren't: those
// of a ReplicaSet of the same name among them.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	owner := r.UID()
	var made []*corev1.ReplicationController
	for i := range 1 + r.IntN(3) {
		c := replicationController(r, fmt.Sprintf("rc-%d", i))
		if r.One(4) {
			c.OwnerReferences = []metav1.OwnerReference{world.Owner("example.com/v1", "App", "web", owner)}
		}
		made, all = append(made, c), append(all, c)
	}
	for i := range r.IntN(8) {
		c := made[r.IntN(len(made))]
		p := newPod(r, fmt.Sprintf("pod-%d", i), r.Labels(c.Spec.Template.Labels["app"]), c.Spec.Template.Spec)
		switch {
		case !r.One(4):
			p.OwnerReferences = []metav1.OwnerReference{world.Owner("v1", "ReplicationController", c.Name, c.UID)}
		case r.One(3):
			p.OwnerReferences = []metav1.OwnerReference{world.Owner("v1", "ReplicationController", c.Name, r.UID())}
		case r.One(3):
			p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "ReplicaSet", c.Name, r.UID())}
		}
		all = append(all, p)
	}
	return all
}

// newPod is a pod that isn't ready in the very moment in which it is made: upstream's controller divides by the age of
// the youngest one that is, and ends with a panic.
func newPod(r *world.Rand, name string, labels map[string]string, spec corev1.PodSpec) *corev1.Pod {
	p := r.Pod(name, labels, spec)
	p.CreationTimestamp = metav1.NewTime(p.CreationTimestamp.Add(-time.Second))
	return p
}

// live is a change of a pod's life, for the same reason not in the moment in which it is made.
func live(r *world.Rand, p *corev1.Pod) {
	if time.Now().After(p.CreationTimestamp.Time) {
		r.Live(p)
	}
}

func replicationController(r *world.Rand, name string) *corev1.ReplicationController {
	labels := map[string]string{"app": world.Of(r, "web", "db")}
	c := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), Labels: r.Labels("web"), CreationTimestamp: r.Ago(3000),
		Generation: int64(1 + r.IntN(3)),
	}}

	c.Spec.Replicas = world.Maybe(r, int32(r.IntN(6)))
	c.Spec.MinReadySeconds = int32(world.Of(r, 0, 0, 0, 30, 600))
	c.Spec.Template = world.Ptr(r.Template(labels))
	c.Spec.Selector = selector(r, labels["app"])
	if r.One(8) {
		c.Finalizers = []string{"example.com/stay"}
	}
	status(r, c)
	if r.One(10) {
		r.End(c)
	}
	return c
}

// selector takes in a template with this label; the API fills in one that isn't there.
func selector(r *world.Rand, app string) map[string]string {
	if r.One(6) {
		return nil
	}
	return map[string]string{"app": app}
}

func status(r *world.Rand, c *corev1.ReplicationController) {
	n := func() int32 { return int32(r.IntN(5)) }
	c.Status = corev1.ReplicationControllerStatus{Replicas: n(), FullyLabeledReplicas: n(), ReadyReplicas: n(),
		AvailableReplicas: n(), ObservedGeneration: int64(r.IntN(3))}
	if r.One(4) {
		c.Status.Conditions = []corev1.ReplicationControllerCondition{{
			Type: corev1.ReplicationControllerReplicaFailure, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse),
			LastTransitionTime: r.Ago(500),
			Reason:             world.Of(r, "FailedCreate", "FailedDelete"), Message: "no",
		}}
	}
}
