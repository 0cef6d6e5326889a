package nodettl

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/ttl"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/nodettl"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/ttl.(*Controller).processItem
func process(*upstream.Controller, context.Context) bool

var nodes = corev1.SchemeGroupVersion.WithResource("nodes")

// heartbeat is how often kubelets update their nodes.
const heartbeat = 10 * time.Second

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) {
	s := subject()
	s.Native = func(e *native.Env) (*native.Made, error) {
		c := upstream.NewTTLController(e.Context, e.Informers.Core().V1().Nodes(), e.Client)
		return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, nil
	}
	s.Key = func(string) string { return "" }
	differential.Wakes(t, s)
}

// subject compares what both come to: ours has one key. Upstream's tells nodes when they are updated: it is shown a
// heartbeat of each.
func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "ttl-controller",
		Plugin:     nodettl.Plugin,
		Apart:      true,
		Native: func(e *native.Env) (*native.Made, error) {
			informer := e.Informers.Core().V1().Nodes()
			c := upstream.NewTTLController(e.Context, informer, e.Client)
			field := reflect.ValueOf(c).Elem().FieldByName("queue")
			queue := native.Exposed(field).(workqueue.TypedRateLimitingInterface[string])
			next := time.Now().Add(heartbeat)

			return &native.Made{Controller: c, End: queue.ShutDown, Work: func(ctx context.Context) bool {
				if !time.Now().Before(next) {
					next = time.Now().Add(heartbeat)
					all, _ := informer.Lister().List(labels.Everything()) // what a lister has fails never
					for _, n := range all {
						queue.Add(n.Name)
					}
				}
				did := queue.Len() > 0
				for queue.Len() > 0 {
					process(c, ctx)
				}
				return did
			}}, nil
		},
		World: objects,
		Steps: 6,
		Deeds: []differential.Deed{
			some(differential.Appear(func(r *world.Rand) runtime.Object { return node(r, fmt.Sprintf("new-%d", r.IntN(100))) })),
			some(differential.Appear(func(r *world.Rand) runtime.Object { return node(r, fmt.Sprintf("new-%d", r.IntN(100))) })),
			some(differential.Vanish(nodes)),
			some(differential.Vanish(nodes)),
			differential.Delete(nodes),
			differential.Vary(nodes, "other annotations", func(r *world.Rand, n *corev1.Node) { annotate(r, n) }),
			differential.Vary(nodes, "another state", func(r *world.Rand, n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady,
					Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse)}}
			}),
			differential.Vary(nodes, "the end", func(r *world.Rand, n *corev1.Node) { r.End(n) }),
		},
		Faults: []string{"patch nodes"},
	}
}

// some has a deed be done one time or several: nodes that come, or nodes that go.
func some(d differential.Deed) differential.Deed {
	return func(r *world.Rand, c *api.Cluster) (what string, err error) {
		times := world.Of(r, 1, 2, 5, 10)
		for range times {
			one, err := d(r, c)
			if err != nil {
				return what, err
			}
			if one != "" {
				what = fmt.Sprintf("%s, and so on, %d times", one, times)
			}
		}
		return what, nil
	}
}

// objects are a few nodes, or as many as there are at a boundary.
func objects(r *world.Rand) (all []runtime.Object) {
	count := r.IntN(4)
	if !r.One(4) {
		count = 86 + r.IntN(18)
	}
	for i := range count {
		n := node(r, fmt.Sprintf("node-%d", i))
		if count > 4 && !r.One(10) {
			n.Annotations = map[string]string{corev1.ObjectTTLAnnotationKey: world.Of(r, "0", "15")}
		}
		all = append(all, n)
	}
	return all
}

func node(r *world.Rand, name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: r.UID(), CreationTimestamp: r.Ago(3000)}}
	if r.One(8) {
		n.Finalizers = []string{"example.com/stay"}
	}
	annotate(r, n)
	return n
}

// annotate has a node be told something, or nothing.
func annotate(r *world.Rand, n *corev1.Node) {
	n.Annotations = world.Of(r, nil, map[string]string{"example.com/a": "b"})
	if text := world.Of(r, "", "none", "0", "15", "30", "+0", "015", "-15", "soon", "15s", " 15"); text != "none" {
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[corev1.ObjectTTLAnnotationKey] = text
	}
}
