package ttlafterfinished

import (
	"context"
	"fmt"
	"testing"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/ttlafterfinished"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/ttlafterfinished"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/ttlafterfinished.(*Controller).processNextWorkItem
func process(*upstream.Controller, context.Context) bool

var jobs = batchv1.SchemeGroupVersion.WithResource("jobs")

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "ttl-after-finished-controller",
		Plugin:     ttlafterfinished.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			c := upstream.New(e.Context, e.Informers.Batch().V1().Jobs(), e.Client)
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, nil
		},
		World: objects,
		Deeds: []differential.Deed{
			differential.Vary(jobs, "the outcome", func(r *world.Rand, j *batchv1.Job) { outcome(r, j) }),
			differential.Vary(jobs, "the time to live", func(r *world.Rand, j *batchv1.Job) { ttl(r, j) }),
			differential.Vary(jobs, "suspension", func(r *world.Rand, j *batchv1.Job) { j.Spec.Suspend = world.Ptr(r.One(2)) }),
			differential.Vary(jobs, "other labels", func(r *world.Rand, j *batchv1.Job) { j.Labels = r.Labels("web") }),
			differential.Vary(jobs, "the end", func(r *world.Rand, j *batchv1.Job) { r.End(j) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return newJob(r, fmt.Sprintf("job-%d", r.IntN(4))) }),
			differential.Delete(jobs),
			differential.Vanish(jobs),
		},
		Faults: []string{"delete jobs", "get jobs"},
	}
}

func objects(r *world.Rand) (all []runtime.Object) {
	for i := range 1 + r.IntN(4) {
		all = append(all, newJob(r, fmt.Sprintf("job-%d", i)))
	}
	return all
}

func newJob(r *world.Rand, name string) *batchv1.Job {
	labels := map[string]string{"app": "web"}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000),
	}}
	j.Spec.ManualSelector = world.Ptr(true)
	j.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	j.Spec.Template = r.Template(labels)
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	ttl(r, j)
	outcome(r, j)

	if r.One(4) {
		j.Finalizers = []string{world.Of(r, metav1.FinalizerOrphanDependents, "example.com/stay")}
	}
	if r.One(10) {
		r.End(j)
	}
	return j
}

func ttl(r *world.Rand, j *batchv1.Job) {
	j.Spec.TTLSecondsAfterFinished = nil
	if !r.One(5) {
		j.Spec.TTLSecondsAfterFinished = world.Ptr(int32(world.Of(r, 0, 1, 60, 400, 1500, 1<<31-1)))
	}
}

// outcome puts conditions on the job: some that say how it has ended, in any order, some that don't, some that lie in
// the future, for clocks differ, and some that say nothing of when.
func outcome(r *world.Rand, j *batchv1.Job) {
	j.Status = batchv1.JobStatus{}
	for range r.IntN(4) {
		c := batchv1.JobCondition{
			Type: world.Of(r, batchv1.JobComplete, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended,
				batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet),
			Status:  world.Of(r, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
			Message: world.Of(r, "", "x", "y"),
		}
		switch {
		case r.One(12):
		case r.One(6):
			c.LastTransitionTime = metav1.NewTime(r.Ago(1).Add(24 * 3600e9))
		default:
			c.LastTransitionTime = r.Ago(1000)
		}
		j.Status.Conditions = append(j.Status.Conditions, c)
	}
}
