package job

import (
	"context"
	"fmt"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/job"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/job"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/job.(*Controller).processNextWorkItem
func process(*upstream.Controller, context.Context) bool

func make(e *native.Env) (*upstream.Controller, error) {
	f := e.Informers
	return upstream.NewController(e.Context, e.Client, f.Core().V1().Pods(), f.Batch().V1().Jobs(), nil, nil)
}

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "job-controller",
		Gates:      []string{"JobManagedBy", "MutableSchedulingDirectivesForSuspendedJobs"},
		Plugin:     job.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			c, err := make(e)
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }},
				err
		},
		World:  objects,
		Deeds:  deeds(),
		Faults: []string{"create pods", "delete pods", "patch pods", "update jobs/status"},
		Alike:  alike,
		Unmeasured: map[string]string{
			"job_controller_terminated_pods_tracking_finalizer_total": "counted in TestOrphansAsUpstream",
		},
		Aside: func(_ *api.Cluster, q *api.Request) string {
			if q.Resource.Resource == "pods" && (q.Verb == "patch" || q.Verb == "delete") {
				return q.Name // a finalizer and then the pod, of many at once
			}
			return ""
		},
	}
}

// alike says what the ranking of pods to delete looks at: among equals upstream takes what its cache lists first.
func alike(o runtime.Object) string {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return ""
	}
	text := fmt.Sprint(p.Spec.NodeName, p.Status.Phase, p.Annotations[batchv1.JobCompletionIndexAnnotation],
		p.CreationTimestamp, p.DeletionTimestamp) + world.Lived(p)
	return strings.TrimSpace(text)
}

var jobs = batchv1.SchemeGroupVersion.WithResource("jobs")
