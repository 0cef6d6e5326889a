package cronjob

import (
	"cmp"
	"math"
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
	r.trim(batchv1.JobComplete, r.cronJob.Spec.SuccessfulJobsHistoryLimit)
	r.trim(batchv1.JobFailed, r.cronJob.Spec.FailedJobsHistoryLimit)
}

func (r *run) trim(end batchv1.JobConditionType, limit *int32) {
	if limit == nil {
		return
	}
	started := func(j *batchv1.Job) int64 {
		if j.Status.StartTime == nil {
			return math.MaxInt64
		}
		return j.Status.StartTime.UnixNano()
	}

	ended := slices.DeleteFunc(slices.Clone(jobs.List(r.c)), func(j *batchv1.Job) bool { return endOf(j) != end })
	slices.SortFunc(ended, func(a, b *batchv1.Job) int {
		return cmp.Or(cmp.Compare(started(a), started(b)), strings.Compare(a.Name, b.Name))
	})
	for _, j := range ended[:max(0, len(ended)-int(*limit))] {
		r.deleteJob(j)
	}
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

// deactivate takes a Job out of the status.
func (r *run) deactivate(uid metav1.UID) {
	status := &r.cronJob.Status
	status.Active = slices.DeleteFunc(slices.Clone(status.Active),
		func(ref corev1.ObjectReference) bool { return ref.UID == uid })
}
