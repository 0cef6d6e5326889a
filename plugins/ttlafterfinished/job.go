package ttlafterfinished

import (
	"time"

	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// job is a job of which only what says when it is to be deleted is read.
//
//narrow:resource batch/v1/jobs Job namespaced
type job struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   jobSpec
	Status jobStatus
}

type jobSpec struct{ TTLSecondsAfterFinished *int32 }

type jobStatus struct{ Conditions []jobCondition }

type jobCondition struct {
	Type               batchv1.JobConditionType
	Status             corev1.ConditionStatus
	LastTransitionTime metav1.Time
}

var jobKind = resource.Of[job]{Info: jobInfo}

// finished returns the first condition that says that the job has finished, nil where none does.
func (j *job) finished() *jobCondition {
	for i := range j.Status.Conditions {
		x := &j.Status.Conditions[i]
		if (x.Type == batchv1.JobComplete || x.Type == batchv1.JobFailed) && x.Status == corev1.ConditionTrue {
			return x
		}
	}
	return nil
}

// expires returns when the job is to be deleted; ok reports whether it ever is. That a finished job doesn't say when it
// finished is an error.
func (j *job) expires() (at metav1.Time, ok bool, _ error) {
	done, ttl := j.finished(), j.Spec.TTLSecondsAfterFinished
	if j.Deleting() || ttl == nil || done == nil {
		return at, false, nil
	}
	if done.LastTransitionTime.IsZero() {
		return at, false, sdk.Errors("job ", j.Namespace, "/", j.Name, " has finished, and doesn't say when: condition ",
			string(done.Type), " has no lastTransitionTime")
	}
	return done.LastTransitionTime.Add(time.Duration(*ttl) * time.Second), true, nil
}
