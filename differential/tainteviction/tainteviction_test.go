package tainteviction

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	upstream "k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/tainteviction"
)

// nodeItem and podItem are what upstream's queues hold.
type (
	nodeItem struct{ nodeName string }
	podItem  struct{ podName, podNamespace, nodeName string }
)

//go:linkname handleNode k8s.io/kubernetes/pkg/controller/tainteviction.(*Controller).handleNodeUpdate
func handleNode(*upstream.Controller, context.Context, nodeItem)

//go:linkname handlePod k8s.io/kubernetes/pkg/controller/tainteviction.(*Controller).handlePodUpdate
func handlePod(*upstream.Controller, context.Context, podItem)

var nodes = corev1.SchemeGroupVersion.WithResource("nodes")

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "taint-eviction-controller",
		Plugin:     tainteviction.Plugin,
		Apart:      true,
		Native:     made,
		Faults:     []string{"delete pods", "patch pods/status"},
		World:      objects,
		Steps:      8,
		// Timers run for whole seconds: none ends where a step does.
		Lasts: func(r *world.Rand) time.Duration {
			return time.Duration(1+r.IntN(40))*time.Second + 500*time.Millisecond
		},
		Gates: []string{"TaintTolerationComparisonOperators"},
		Unmeasured: map[string]string{
			"taint_eviction_controller_pod_deletion_duration_seconds": "a mistake upstream: a row",
		},
		Deeds: []differential.Deed{
			differential.Vary(nodes, "other taints", func(r *world.Rand, n *corev1.Node) { taint(r, n) }),
			differential.Vary(nodes, "other taints", func(r *world.Rand, n *corev1.Node) { taint(r, n) }),
			differential.Vary(nodes, "no taints", func(r *world.Rand, n *corev1.Node) { n.Spec.Taints = nil }),
			differential.Vary(nodes, "a heartbeat", func(r *world.Rand, n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: r.Ago(10)}}
			}),
			differential.Vanish(nodes),
			differential.Appear(func(r *world.Rand) runtime.Object { return node(r, fmt.Sprintf("node-%d", r.IntN(3))) }),
			differential.Vary(differential.Pods, "more tolerations", func(r *world.Rand, p *corev1.Pod) {
				p.Spec.Tolerations = append(p.Spec.Tolerations, toleration(r))
			}),
			differential.Vary(differential.Pods, "a node", func(r *world.Rand, p *corev1.Pod) {
				if p.Spec.NodeName == "" {
					p.Spec.NodeName, p.Spec.SchedulingGates = fmt.Sprintf("node-%d", r.IntN(3)), nil
				}
			}),
			differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.Live(p) }),
			differential.Delete(differential.Pods),
			differential.Vanish(differential.Pods),
			differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, fmt.Sprintf("pod-%d", r.IntN(9))) }),
		},
	}
}

// made makes upstream's controller. What goes through its queues and the channels behind them is handled one by one,
// nodes before pods.
func made(e *native.Env) (*native.Made, error) {
	// Natively node-lifecycle adds this index.
	byNode := func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }
	pods := e.Informers.Core().V1().Pods()
	if err := pods.Informer().AddIndexers(cache.Indexers{"spec.nodeName": byNode}); err != nil {
		return nil, err
	}
	c, err := upstream.New(e.Context, e.Client, pods, e.Informers.Core().V1().Nodes(), "taint-eviction-controller")
	if err != nil {
		return nil, err
	}
	fields := reflect.ValueOf(c).Elem()
	ofNodes, ofPods := queue(fields, "nodeUpdateQueue"), queue(fields, "podUpdateQueue")
	return &native.Made{Controller: c,
		End: func() {
			ofNodes.MethodByName("ShutDown").Call(nil)
			ofPods.MethodByName("ShutDown").Call(nil)
			// Timers that haven't gone off end with the client.
		},
		Work: func(context.Context) bool { // what it begins may outlast the call
			if x, ok := take(ofNodes); ok {
				handleNode(c, e.Context, nodeItem{x.Field(0).String()})
				return true
			}
			if x, ok := take(ofPods); ok {
				handlePod(c, e.Context, podItem{x.Field(0).String(), x.Field(1).String(), x.Field(2).String()})
				return true
			}
			return false
		}}, nil
}

func queue(fields reflect.Value, name string) reflect.Value {
	return reflect.ValueOf(native.Exposed(fields.FieldByName(name)))
}

// take takes the next item out of a queue, if there is one.
func take(queue reflect.Value) (item reflect.Value, ok bool) {
	if queue.MethodByName("Len").Call(nil)[0].Int() == 0 {
		return item, false
	}
	item = queue.MethodByName("Get").Call(nil)[0]
	queue.MethodByName("Done").Call([]reflect.Value{item})
	return item, true
}

// objects are some of three nodes, and pods on them, elsewhere, or nowhere.
func objects(r *world.Rand) (all []runtime.Object) {
	all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: r.UID()}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "other", UID: r.UID()},
			AutomountServiceAccountToken: world.Ptr(false)})
	for i := range 3 {
		if !r.One(5) {
			all = append(all, node(r, fmt.Sprintf("node-%d", i)))
		}
	}
	for i := range 1 + r.IntN(8) {
		all = append(all, pod(r, fmt.Sprintf("pod-%d", i)))
	}
	return all
}

func node(r *world.Rand, name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: r.UID(), CreationTimestamp: r.Ago(3000)}}
	if r.One(2) {
		taint(r, n)
	}
	return n
}

var keys = []string{"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready", "example.com/level"}

// taint gives a node up to three taints.
func taint(r *world.Rand, n *corev1.Node) {
	n.Spec.Taints = nil
	for i, k := range keys {
		if r.One(2) {
			continue
		}
		x := corev1.Taint{Key: k, Effect: corev1.TaintEffectNoExecute}
		if r.One(4) {
			x.Effect = corev1.TaintEffectNoSchedule
		}
		if r.One(2) {
			x.TimeAdded = world.Ptr(r.Ago(100))
		}
		if i == 2 {
			x.Value = world.Of(r, "1", "5", "high")
		}
		n.Spec.Taints = append(n.Spec.Taints, x)
	}
}

func toleration(r *world.Rand) corev1.Toleration {
	x := corev1.Toleration{Key: world.Of(r, append(keys, "")...), Operator: world.Of(r, corev1.TolerationOpExists, ""),
		Effect: world.Of(r, corev1.TaintEffectNoExecute, corev1.TaintEffectNoExecute, "")}
	switch {
	case x.Key == "":
		x.Operator = corev1.TolerationOpExists
	case x.Key == keys[2]:
		x.Operator = world.Of(r, corev1.TolerationOpExists, corev1.TolerationOpEqual, corev1.TolerationOpGt)
		if x.Operator != corev1.TolerationOpExists {
			x.Value = world.Of(r, "1", "3", "5")
		}
	}
	if x.Effect == corev1.TaintEffectNoExecute && !r.One(3) {
		x.TolerationSeconds = world.Ptr(world.Of[int64](r, -1, 0, 5, 30, 45, 300))
	}
	return x
}

func pod(r *world.Rand, name string) *corev1.Pod {
	p := r.Pod(name, r.Labels("web"), r.PodSpec())
	if r.One(6) {
		p.Namespace = "other"
	}
	p.Spec.Tolerations = nil
	for range r.IntN(4) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, toleration(r))
	}
	if r.One(6) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse),
			Reason:  world.Of(r, "Before", "DeletionByTaintManager"),
			Message: world.Of(r, "", "Taint manager: deleting due to NoExecute taint"), LastTransitionTime: r.Ago(900),
		})
	}
	if r.One(6) {
		r.End(p)
	}
	return p
}
