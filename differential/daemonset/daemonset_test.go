package daemonset

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe" // for go:linkname, too

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	upstream "k8s.io/kubernetes/pkg/controller/daemon"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/plugins/daemonset"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/daemon.(*DaemonSetsController).processNextWorkItem
func process(*upstream.DaemonSetsController, context.Context) bool

//go:linkname processNode k8s.io/kubernetes/pkg/controller/daemon.(*DaemonSetsController).processNextNodeUpdate
func processNode(*upstream.DaemonSetsController, context.Context) bool

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func TestNodesWakesAsUpstream(t *testing.T) {
	s := subject()
	s.Controller = "daemonset-node-updates"
	s.Native = func(e *native.Env) (*native.Made, error) {
		made, err := subject().Native(e)
		made.Queue, made.Feeds = "nodeUpdateQueue", nil
		return made, err
	}
	differential.Wakes(t, s)
}

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "daemonset-controller",
		Gates:      []string{"TaintTolerationComparisonOperators"},
		Plugin:     daemonset.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers
			c, err := upstream.NewDaemonSetsController(e.Context, f.Apps().V1().DaemonSets(),
				f.Apps().V1().ControllerRevisions(),
				f.Core().V1().Pods(), f.Core().V1().Nodes(), e.Client, flowcontrol.NewBackOff(time.Second, 15*time.Minute))
			return &native.Made{
				Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) },
				Feeds: map[string]func(context.Context) bool{
					"nodeUpdateQueue": func(ctx context.Context) bool { return processNode(c, ctx) },
				},
				Note: func(key string) string { return waits(c, key) },
			}, err
		},
		World: objects,
		Deeds: deeds(),
		Faults: []string{
			"create pods", "delete pods", "patch pods", "update daemonsets/status",
			"create controllerrevisions", "update controllerrevisions", "delete controllerrevisions",
			"patch controllerrevisions",
		},
		Told:   nodeOf,
		Steps:  8,
		AtRest: true,
		Alike:  alike,
	}
}

// waits reports a DaemonSet of which upstream's still expects to see some writes.
func waits(c *upstream.DaemonSetsController, key string) string {
	f := reflect.ValueOf(c).Elem().FieldByName("expectations")
	x := reflect.NewAt(f.Type(),
		unsafe.Pointer(f.UnsafeAddr())).Elem().Interface().(controller.ControllerExpectationsInterface)
	if x.SatisfiedExpectations(klog.Background(), key) {
		return ""
	}
	return "upstream's waits for its own writes of " + key
}

// nodeOf is the node of a pod, also of one that isn't bound yet; of anything else nothing.
func nodeOf(o runtime.Object) string {
	p, ok := o.(*corev1.Pod)
	switch {
	case !ok:
		return ""
	case p.Spec.NodeName != "":
		return p.Spec.NodeName
	case p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil ||
		p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil:
		return ""
	}
	for _, t := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			return strings.Join(f.Values, " ")
		}
	}
	return ""
}

// alike says what of a pod or a node a roll-out looks at: among nodes upstream's takes those that a map lists first.
func alike(o runtime.Object) string {
	switch o := o.(type) {
	case *corev1.Pod:
		owner := metav1.GetControllerOf(o)
		if owner == nil || o.Spec.NodeName == "" {
			return ""
		}
		text := fmt.Sprint("pod ", owner.UID, o.Status.Phase, o.CreationTimestamp, o.DeletionTimestamp, o.Finalizers,
			o.Labels)
		for _, c := range o.Status.Conditions {
			text += fmt.Sprint(c.Type, c.Status, c.LastTransitionTime)
		}
		return text
	case *corev1.Node:
		labels := fmt.Sprint(o.Labels)
		return "node " + strings.ReplaceAll(labels, o.Name, "") + fmt.Sprint(o.Spec.Taints)
	}
	return ""
}

var (
	sets      = appsv1.SchemeGroupVersion.WithResource("daemonsets")
	revisions = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	nodes     = corev1.SchemeGroupVersion.WithResource("nodes")
)
