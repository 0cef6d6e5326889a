package statefulset

import (
	"context"
	"regexp"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/statefulset/metrics"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/plugins/statefulset"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/statefulset.(*StatefulSetController).processNextWorkItem
func process(*upstream.StatefulSetController, context.Context) bool

var (
	sets      = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	revisions = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	claims    = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	limits    = corev1.SchemeGroupVersion.WithResource("limitranges")
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "statefulset-controller",
		Gates: []string{
			"MaxUnavailableStatefulSet", "StatefulSetRecreateStrategy", "StatefulSetSemanticRevisionComparison",
		},
		Plugin: statefulset.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers
			c := upstream.NewStatefulSetController(e.Context, f.Core().V1().Pods(), f.Apps().V1().StatefulSets(),
				f.Core().V1().PersistentVolumeClaims(), f.Apps().V1().ControllerRevisions(), e.Client)
			metrics.MaxUnavailable.Reset()
			metrics.UnavailableReplicas.Reset()
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }},
				nil
		},
		World: objects,
		Deeds: deeds(),
		Faults: []string{
			"create pods", "delete pods", "patch pods", "update pods", "update statefulsets/status",
			"create persistentvolumeclaims",
			"update persistentvolumeclaims", "create controllerrevisions", "delete controllerrevisions",
			"patch controllerrevisions",
		},
		Aside: aside,
	}
}

// aside says which pod a write is for: where a set's policy is Parallel, upstream does what pods need side by side.
func aside(c *api.Cluster, q *api.Request) string {
	if q.Resource.Resource != "pods" && q.Resource != claims {
		return ""
	}
	all, err := c.List(sets)
	if err != nil {
		return ""
	}
	for _, o := range all {
		s := o.(*appsv1.StatefulSet)
		m := regexp.MustCompile("(^|-)" + s.Name + "-[0-9]+$").FindString(q.Name)
		if m != "" && s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
			return strings.TrimPrefix(m, "-")
		}
	}
	return ""
}
