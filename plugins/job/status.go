package job

import (
	"time"

	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// decideEnd looks for a reason to end the job, other than its successes: what an earlier sync has decided stays.
func (r *run) decideEnd() *batchv1.JobCondition {
	job := r.job
	if x := trueCondition(job, batchv1.JobSuccessCriteriaMet); x != nil {
		return x
	}
	if x := trueCondition(job, batchv1.JobFailureTarget); x != nil {
		return r.condition(batchv1.JobFailed, x.Reason, x.Message)
	}
	if message := r.failJob(); message != "" {
		return r.failure(batchv1.JobReasonPodFailurePolicy, message)
	}
	switch {
	case r.failed > r.backoffLimit() || r.restartedTooOften():
		return r.failure(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	case r.hasDeadline() && r.untilDeadline() <= 0:
		return r.failure(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	}
	return nil
}

func (r *run) backoffLimit() int32 { return orDefault(r.job.Spec.BackoffLimit, 6) }

// restartedTooOften reports whether containers that restart in place have failed as often as pods may.
func (r *run) restartedTooOften() bool {
	if r.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, m := range r.pods {
		if p := m.Status.Phase; p == corev1.PodRunning || p == corev1.PodPending {
			for i := range m.Status.InitContainerStatuses {
				restarts += m.Status.InitContainerStatuses[i].RestartCount
			}
			for i := range m.Status.ContainerStatuses {
				restarts += m.Status.ContainerStatuses[i].RestartCount
			}
		}
	}
	return restarts > 0 && restarts >= r.backoffLimit()
}

// hasDeadline reports whether the job's time is limited and running.
func (r *run) hasDeadline() bool {
	return r.job.Spec.ActiveDeadlineSeconds != nil && r.job.Status.StartTime != nil && !r.suspended()
}

//go:noinline
func (r *run) untilDeadline() time.Duration {
	return r.job.Status.StartTime.Add(time.Duration(*r.job.Spec.ActiveDeadlineSeconds) * time.Second).Sub(r.c.Now())
}

func (r *run) wakeAtDeadline() {
	if r.hasDeadline() {
		r.c.After(r.untilDeadline())
	}
}

// noteSuspension reports whether the job is suspended, and starts its clock anew when it goes on.
func (r *run) noteSuspension() (changed bool) {
	status, what, message, start := corev1.ConditionFalse, "Resumed", "Job resumed", r.nowInSeconds()
	if r.suspended() {
		status, what, message, start = corev1.ConditionTrue, "Suspended", "Job suspended", nil
	}
	if !r.setCondition(batchv1.JobSuspended, status, "Job"+what, message) {
		return false
	}
	r.recordNormal(what, message)
	if start != nil || unsetStarted.On(r.c) {
		r.job.Status.StartTime = start
	}
	return true
}

//go:noinline
func (r *run) recordNormal(reason, message string) {
	r.c.Event(r.job, corev1.EventTypeNormal, reason, message)
}

//go:noinline
func (r *run) recordWarning(reason, message string) {
	r.c.Event(r.job, corev1.EventTypeWarning, reason, message)
}

// condition is a true condition as of now.
//
//go:noinline
func (r *run) condition(t batchv1.JobConditionType, reason, message string) *batchv1.JobCondition {
	return &batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, LastProbeTime: *r.nowInSeconds(),
		LastTransitionTime: *r.nowInSeconds(), Reason: reason, Message: message}
}

// failure says that the job is going to fail, once its pods have ended.
func (r *run) failure(reason, message string) *batchv1.JobCondition {
	return r.condition(batchv1.JobFailureTarget, reason, message)
}

// setCondition sets a condition, and reports whether that changed it. One that isn't there is false already.
func (r *run) setCondition(t batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) bool {
	x := r.condition(t, reason, message)
	x.Status = status
	if old := conditionOf(r.job, t); old != nil {
		if old.Status == status && old.Reason == reason && old.Message == message {
			return false
		}
		*old = *x
		return true
	}
	if status == corev1.ConditionFalse {
		return false
	}
	r.job.Status.Conditions = append(r.job.Status.Conditions, *x)
	return true
}

//go:noinline
func conditionOf(job *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if x := &job.Status.Conditions[i]; x.Type == t {
			return x
		}
	}
	return nil
}

// trueCondition returns the condition where it is true, else nil.
func trueCondition(job *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	if x := conditionOf(job, t); x != nil && x.Status == corev1.ConditionTrue {
		return x
	}
	return nil
}
