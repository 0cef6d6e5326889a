package cronjob

import (
	"cmp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// cleanUp deletes the oldest Jobs that have ended, those that succeeded and those that failed apart, so that as many
// stay as the history may have.
func (r *run) cleanUp() {
	spec := &r.cronJob.Spec
	r.trim(batchv1.JobComplete, spec.SuccessfulJobsHistoryLimit)
	r.trim(batchv1.JobFailed, spec.FailedJobsHistoryLimit)
}

func (r *run) trim(ended batchv1.JobConditionType, limit *int32) {
	if limit == nil {
		return
	}
	var all []*batchv1.Job
	for _, j := range jobs.List(r.c) {
		if endOf(j) == ended {
			all = append(all, j)
		}
	}

	slices.SortFunc(all, func(a, b *batchv1.Job) int {
		return cmp.Or(compareTimes(a.Status.StartTime, b.Status.StartTime), strings.Compare(a.Name, b.Name))
	})
	for _, j := range all[:max(0, len(all)-int(*limit))] {
		r.deleteJob(j)
	}
}

// compareTimes puts what has no time last.
func compareTimes(a, b *metav1.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

// deleteJob deletes a Job and takes it out of the status, and reports whether that went well.
func (r *run) deleteJob(j *batchv1.Job) bool {
	if err := r.c.Do(sdk.Delete(j, sdk.Background)); err != nil {
		r.warn("FailedDelete", "Deleted job: "+err.Error())
		return false
	}
	r.deactivate(j.UID)
	r.note("SuccessfulDelete", "Deleted job "+j.Name)
	r.changed = true
	return true
}

// noteJobs takes Jobs that have ended out of the status and keeps when one last succeeded. For a Job that runs and
// isn't in the status it looks at the live CronJob: if the Job is in that, the sync goes on with it.
func (r *run) noteJobs() error {
	for _, j := range jobs.List(r.c) {
		end := endOf(j)
		switch active := isActive(r.cronJob, j.UID); {
		case !active && end == "":
			live, err := sdk.Get(r.c, batchv1.CronJobs, r.cronJob.Namespace, r.cronJob.Name)
			if err != nil {
				return err
			}
			if isActive(live, j.UID) {
				r.cronJob = live
				continue
			}
			r.warn("UnexpectedJob", "Saw a job that the controller did not create or forgot: "+j.Name)
		case active && end != "":
			r.deactivate(j.UID)
			r.note("SawCompletedJob", "Saw completed job: "+j.Name+", condition: "+string(end))
			r.changed = true
		}

		status, completed := &r.cronJob.Status, j.Status.CompletionTime
		if end == batchv1.JobComplete && completed != nil &&
			(status.LastSuccessfulTime == nil || completed.After(*status.LastSuccessfulTime)) {
			status.LastSuccessfulTime = completed
			r.changed = true
		}
	}
	return nil
}

// noteMissing takes Jobs out of the status that are gone. Those that the cache doesn't have are looked for.
func (r *run) noteMissing() error {
	all := jobs.List(r.c)
	for _, ref := range r.cronJob.Status.Active {
		if slices.ContainsFunc(all, func(j *batchv1.Job) bool { return j.UID == ref.UID }) {
			continue
		}
		_, err := sdk.Get(r.c, batchv1.Jobs, ref.Namespace, ref.Name)
		switch {
		case sdk.Failed(err, sdk.NotFound):
			r.note("MissingJob", "Active job went missing: "+ref.Name)
			r.deactivate(ref.UID)
			r.changed = true
		case err != nil:
			return err
		}
	}
	return nil
}

// endOf is the condition that has ended a Job, empty while it runs.
func endOf(j *batchv1.Job) batchv1.JobConditionType {
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// isActive reports whether the status has the Job.
func isActive(cj *batchv1.CronJob, uid metav1.UID) bool {
	return slices.ContainsFunc(cj.Status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == uid })
}

func (r *run) activeNamed(name string) bool {
	return slices.ContainsFunc(r.cronJob.Status.Active, func(ref corev1.ObjectReference) bool {
		return ref.Name == name && ref.Namespace == r.cronJob.Namespace
	})
}

// deactivate takes a Job out of the status.
func (r *run) deactivate(uid metav1.UID) {
	var rest []corev1.ObjectReference
	for _, ref := range r.cronJob.Status.Active {
		if ref.UID != uid {
			rest = append(rest, ref)
		}
	}
	r.cronJob.Status.Active = rest
}
