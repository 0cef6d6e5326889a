package job

import (
	"context"
	"strings"
	"testing"
	"time"
	"unsafe"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/job"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/job"
)

//go:linkname processOrphan k8s.io/kubernetes/pkg/controller/job.(*Controller).processNextOrphanPod
func processOrphan(*upstream.Controller, context.Context) bool

// orphanKey is laid out as upstream's key of the same name: a pod, or all that a selector selects.
type orphanKey struct {
	kind             int
	namespace, value string
}

// orphans is upstream's queue of these, over one of pods' keys: a selector stands for the pods that it selects now.
type orphans struct {
	*native.Queue[string]
	pods listers.PodLister
}

var _ workqueue.TypedRateLimitingInterface[orphanKey] = orphans{}

func (q orphans) Add(k orphanKey) {
	if k.kind == 0 {
		q.Queue.Add(k.namespace + "/" + k.value)
		return
	}
	selector, err := labels.Parse(k.value)
	if err != nil {
		return
	}
	all, _ := q.pods.Pods(k.namespace).List(selector)
	for _, p := range all {
		q.Queue.Add(p.Namespace + "/" + p.Name)
	}
}

func (q orphans) name(k orphanKey) string               { return k.namespace + "/" + k.value }
func (q orphans) AddAfter(k orphanKey, d time.Duration) { q.Queue.AddAfter(q.name(k), d) }
func (q orphans) AddRateLimited(k orphanKey)            { q.Queue.AddRateLimited(q.name(k)) }
func (q orphans) Forget(k orphanKey)                    { q.Queue.Forget(q.name(k)) }
func (q orphans) NumRequeues(k orphanKey) int           { return q.Queue.NumRequeues(q.name(k)) }
func (q orphans) Done(k orphanKey)                      { q.Queue.Done(q.name(k)) }
func (q orphans) Get() (k orphanKey, shutdown bool) {
	key, shutdown := q.Queue.Get()
	k.namespace, k.value, _ = strings.Cut(key, "/")
	return k, shutdown
}

func TestOrphansAsUpstream(t *testing.T) { differential.Run(t, orphanSubject()) }

func TestOrphansWakesAsUpstream(t *testing.T) { differential.Wakes(t, orphanSubject()) }

func orphanSubject() *differential.Subject {
	return &differential.Subject{
		Controller: "job-orphan-pod-controller",
		Share:      2, // part of job-controller
		Plugin:     job.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			c, err := make(e)
			pods := e.Informers.Core().V1().Pods().Lister()
			return &native.Made{
				Controller: c, Process: func(ctx context.Context) bool { return processOrphan(c, ctx) },
				Queue: "orphanQueue",
				Place: func(at unsafe.Pointer, q *native.Queue[string]) {
					*(*workqueue.TypedRateLimitingInterface[orphanKey])(at) = orphans{q, pods}
				},
			}, err
		},
		World:  orphanWorld,
		Deeds:  deeds(),
		Faults: []string{"patch pods"},
		Unmeasured: map[string]string{
			"job_controller_jobs_by_external_controller_total": "counted in TestAsUpstream",
		},
	}
}

// orphanWorld is a world of jobs of which more have ended or are gone.
func orphanWorld(r *world.Rand) (all []runtime.Object) {
	for _, o := range objects(r) {
		switch x := o.(type) {
		case *batchv1.Job:
			if r.One(3) {
				continue
			}
			if r.One(2) {
				x.Status.Conditions = []batchv1.JobCondition{{
					Type: world.Of(r, batchv1.JobComplete, batchv1.JobFailed), Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(r.Ago(900).Add(world.Of(r, 0, -3*time.Second))),
				}}
			}
		case *corev1.Pod:
			if r.One(3) {
				x.OwnerReferences = nil
			} else if !r.One(8) {
				r.End(x) // else it keeps its finalizer, by two rows of docs/differences.md
			}
		}
		all = append(all, o)
	}
	return all
}
