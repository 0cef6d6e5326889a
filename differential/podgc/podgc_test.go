package podgc

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/podgc"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/podgc"
)

//go:linkname gc k8s.io/kubernetes/pkg/controller/podgc.(*PodGCController).gc
func gc(*upstream.PodGCController, context.Context)

var nodes = corev1.SchemeGroupVersion.WithResource("nodes")

// period is how often upstream's controller goes over all pods.
const period = 20 * time.Second

func TestAsUpstream(t *testing.T) { differential.Run(t, subject(2)) }

// Without a threshold terminated pods stay.
func TestWithoutThreshold(t *testing.T) {
	s := subject(0)
	s.Share = 4
	differential.Run(t, s)
}

// Pods that finalizers keep count again and again with upstream's, a row of docs/differences.md; of all others the
// counts are the same.
func TestCountsAsUpstream(t *testing.T) {
	s := subject(2)
	s.Share, s.Unmeasured = 8, nil
	s.World = func(r *world.Rand) []runtime.Object {
		all := objects(r)
		for _, o := range all {
			if p, ok := o.(*corev1.Pod); ok {
				let(p)
			}
		}
		return all
	}
	for i, deed := range s.Deeds {
		s.Deeds[i] = func(r *world.Rand, c *api.Cluster) (string, error) {
			what, err := deed(r, c)
			if err != nil {
				return what, err
			}
			return what, letAll(c)
		}
	}
	differential.Run(t, s)
}

func letAll(c *api.Cluster) error {
	pods, err := c.List(differential.Pods)
	if err != nil {
		return err
	}
	for _, o := range pods {
		p := o.(*corev1.Pod)
		if len(p.Finalizers) == 0 {
			continue
		}
		err := c.Change(differential.Pods, p.Namespace, p.Name, func(o runtime.Object) { let(o.(*corev1.Pod)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// let has no finalizer keep a pod; one that is being deleted runs for a while yet.
func let(p *corev1.Pod) {
	p.Finalizers = nil
	if p.DeletionTimestamp != nil {
		p.DeletionGracePeriodSeconds = world.Ptr[int64](30)
	}
}

// subject compares where both come to: upstream's by going over all pods every 20 s, ours by its keys.
func subject(threshold int) *differential.Subject {
	const kept = "pods that finalizers keep: TestCountsAsUpstream"
	return &differential.Subject{
		Controller: "pod-garbage-collector-controller",
		Plugin:     podgc.Plugin,
		Settings:   map[string]string{"terminated-pod-gc-threshold": fmt.Sprint(threshold)},
		Apart:      true,
		Prompt:     true, // where caches are late, ours may act on what upstream's passes have never seen
		Native: func(e *native.Env) (*native.Made, error) {
			c := upstream.NewPodGC(e.Context, e.Client, e.Informers.Core().V1().Pods(), e.Informers.Core().V1().Nodes(),
				threshold)
			field := native.Exposed(reflect.ValueOf(c).Elem().FieldByName("nodeQueue"))
			queue := field.(workqueue.TypedDelayingInterface[string])
			next := time.Now().Add(time.Duration(e.Pick(int(period)))) // it may have begun at any time

			return &native.Made{Controller: c, End: queue.ShutDown, Work: func(ctx context.Context) bool {
				if time.Now().Before(next) {
					return false
				}
				next = time.Now().Add(period)
				gc(c, ctx)
				return true
			}}, nil
		},
		Unmeasured: map[string]string{
			"pod_gc_collector_force_delete_pods_total": kept, "pod_gc_collector_force_delete_pod_errors_total": kept,
		},
		Faults:  []string{"delete pods", "patch pods/status"},
		World:   objects,
		Shape:   shape,
		Explain: explain,
		Deeds: []differential.Deed{
			differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.Live(p) }),
			differential.Vary(differential.Pods, "the end", func(r *world.Rand, p *corev1.Pod) {
				p.Status.Phase = world.Of(r, corev1.PodSucceeded, corev1.PodFailed)
			}),
			differential.Vary(differential.Pods, "a node", func(r *world.Rand, p *corev1.Pod) {
				if p.Spec.NodeName == "" {
					p.Spec.NodeName, p.Spec.SchedulingGates = fmt.Sprintf("node-%d", r.IntN(3)), nil
				}
			}),
			differential.Vary(differential.Pods, "no finalizers", func(_ *world.Rand, p *corev1.Pod) {
				if p.DeletionTimestamp == nil {
					p.Finalizers = nil
				}
			}),
			differential.Delete(differential.Pods),
			differential.Delete(differential.Pods),
			differential.Vanish(differential.Pods),
			differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, fmt.Sprintf("new-%d", r.IntN(100))) }),
			differential.Vary(nodes, "another state", func(r *world.Rand, n *corev1.Node) { state(r, n) }),
			differential.Vanish(nodes),
			differential.Vanish(nodes),
			differential.Appear(func(r *world.Rand) runtime.Object { return node(r, fmt.Sprintf("node-%d", r.IntN(3))) }),
		},
	}
}

// shape puts a pod's conditions in order: a defect of ours, whose patch has the API server put DisruptionTarget before
// the conditions that there are, while upstream's names their order. It would end most worlds in which a node is gone.
func shape(o runtime.Object) {
	if p, ok := o.(*corev1.Pod); ok {
		slices.SortFunc(p.Status.Conditions, func(a, b corev1.PodCondition) int { return cmp.Compare(a.Type, b.Type) })
	}
}

var deleted = regexp.MustCompile(`(?m)^[-+]delete pods (\S+)$`)

// explain says where all pods that only one has deleted had ended, beside pods of nodes that are out of service or not
// there; and, where both have deleted the same, that one that had ended is to go for another reason, too.
func explain(objects []runtime.Object, difference string) string {
	there, ended, lost, twice := map[string]bool{}, map[string]bool{}, false, false
	for _, o := range objects {
		if n, ok := o.(*corev1.Node); ok {
			there[n.Name] = !slices.ContainsFunc(n.Spec.Taints,
				func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
		}
	}
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			end := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
			ended[p.Namespace+"/"+p.Name] = end
			lost = lost || p.Spec.NodeName != "" && !there[p.Spec.NodeName]
			twice = twice || end && !there[p.Spec.NodeName]
		}
	}

	alone := deleted.FindAllStringSubmatch(difference, -1)
	if len(alone) == 0 && twice {
		return "pods that have ended and are to go for another reason, too\n"
	}
	for _, m := range alone {
		if !lost || !ended[m[1]] {
			return ""
		}
	}
	return "pods that have ended beside pods of nodes that are out of service or gone\n"
}

// objects are some of three nodes, and pods on them, elsewhere, or nowhere.
func objects(r *world.Rand) (all []runtime.Object) {
	all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: r.UID()}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "other", UID: r.UID()},
			AutomountServiceAccountToken: world.Ptr(false)})
	for i := range 3 {
		if !r.One(4) {
			all = append(all, node(r, fmt.Sprintf("node-%d", i)))
		}
	}
	for i := range 1 + r.IntN(9) {
		all = append(all, pod(r, fmt.Sprintf("pod-%d", i)))
	}
	return all
}

func node(r *world.Rand, name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: r.UID(), CreationTimestamp: r.Ago(3000)}}
	state(r, n)
	return n
}

// state has a node be ready or not, and in service or not.
func state(r *world.Rand, n *corev1.Node) {
	n.Spec.Taints, n.Status.Conditions = nil, nil
	if r.One(2) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
			Key: corev1.TaintNodeOutOfService, Value: world.Of(r, "", "nodeshutdown"),
			Effect: world.Of(r, corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule),
		})
	}
	if r.One(4) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node.kubernetes.io/unreachable",
			Effect: corev1.TaintEffectNoExecute})
	}
	if r.One(4) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeMemoryPressure,
			Status: corev1.ConditionTrue})
	}
	if !r.One(5) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeReady, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
		})
	}
}

func pod(r *world.Rand, name string) *corev1.Pod {
	p := r.Pod(name, r.Labels("web"), r.PodSpec())
	if r.One(6) {
		p.Namespace = "other"
	}
	if r.One(3) {
		p.CreationTimestamp = metav1.NewTime(time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)) // as old as others
	}
	if r.One(4) {
		p.Status.Phase, p.Status.Reason = world.Of(r, corev1.PodFailed, corev1.PodFailed, corev1.PodSucceeded),
			world.Of(r, "Evicted", "Evicted", "")
	}
	if r.One(6) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse), Reason: "Before",
			LastTransitionTime: r.Ago(900),
		})
	}
	if r.One(5) {
		r.End(p)
		if r.One(3) { // a delete of which the API server has done the first half
			p.DeletionGracePeriodSeconds, p.Finalizers = world.Ptr[int64](0), nil
		}
	}
	return p
}
