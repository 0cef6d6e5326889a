// Package cronjob makes the Jobs of CronJobs when they are due.
//
// When a start is due it makes a Job whose name has the minute in it, so that no start is made twice, whoever is killed
// in between. Of starts that were missed only the last one is made, and none that is past the CronJob's deadline. What
// still runs of earlier Jobs counts by the concurrency policy: with Forbid nothing is started, with Replace it is
// deleted first. Jobs that have ended are deleted beyond the history's limits, and the status lists those that run, and
// the last start and success. Schedules are crontab's, with names, ranges, steps and @hourly and the like, in the zone
// that the CronJob names.
package cronjob

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/plugins/shared/cron"
	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

var (
	cronJobs = sdk.Key(batchv1.CronJobs).
			Fields("metadata.creationTimestamp", "metadata.deletionTimestamp", "spec", "status")
	jobs = sdk.Select(batchv1.Jobs, sdk.ControlledBy(cronJobs)).
		Fields("metadata.creationTimestamp", "metadata.ownerReferences.uid", "metadata.ownerReferences.controller",
			"status.startTime", "status.completionTime", "status.conditions.type", "status.conditions.status")

	skew = sdk.Histogram("cronjob_controller_job_creation_skew_duration_seconds",
		"[STABLE] Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
		[]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512})
)

// Plugin is the cronjob module (pkg/controller/cronjob).
var Plugin = &sdk.Plugin{
	Name:        "cronjob",
	Version:     "1.0.0",
	Description: "Makes the Jobs of CronJobs when they are due, and deletes those that have ended and are too many.",
	Metrics:     []*sdk.Metric{skew},
	Controllers: []*sdk.Controller{{
		Name:           "cronjob-controller",
		Alias:          "cronjob",
		Queue:          "cronjob",
		ServiceAccount: "cronjob-controller",
		EventSource:    "cronjob-controller",
		Reads:          sdk.Views{cronJobs, jobs},
		Writes: sdk.Writes{batchv1.CronJobs.Verbs("get"), batchv1.CronJobs.Sub("status", "update"),
			batchv1.CronJobs.Sub("finalizers", "update"), batchv1.Jobs.Verbs("create", "delete", "get")},
		Workers: 5,
		State:   true,
		Sync:    sync,
	}},
}

// run is one sync of a CronJob.
type run struct {
	c *sdk.Call
	// cronJob is what the sync goes by: a copy of what the cache has, or what a live look has found in its place. Only the
	// copy is written.
	cronJob *batchv1.CronJob
	changed bool // the copy's status
}

func sync(c *sdk.Call) error {
	seen, ok := cronJobs.Get(c)
	if !ok {
		return nil
	}
	r := &run{c: c, cronJob: sdk.Clone(seen)}
	now := remember(c, seen)
	if r.onlyRescheduled(now) {
		return nil
	}

	toWrite := r.cronJob
	r.cleanUp()
	wait, err := r.syncCronJob()
	if r.changed {
		if failure := c.Do(sdk.UpdateStatus(toWrite)); failure != nil {
			return failure
		}
	}
	now.keep(c, wait)
	return err
}

// syncCronJob brings the status up to date and starts what is due. It returns how long it takes until something is due
// again, nil where nothing is before something happens.
func (r *run) syncCronJob() (wait *time.Duration, _ error) {
	if err := r.noteJobs(); err != nil {
		return nil, err
	}
	if err := r.noteMissing(); err != nil {
		return nil, err
	}
	cj := r.cronJob
	if cj.Deleting() {
		return nil, nil
	}

	err := r.checkZone()
	switch {
	case sdk.Failed(err, sdk.UnknownTimeZone):
		r.warn("UnknownTimeZone", "invalid timeZone: "+strconv.Quote(*cj.Spec.TimeZone)+": "+err.Error())
		return nil, nil
	case err != nil:
		return nil, err
	case sdk.Deref(cj.Spec.Suspend, false):
		return nil, nil
	}

	if strings.Contains(cj.Spec.Schedule, "TZ") {
		r.warn("UnsupportedSchedule", "CRON_TZ or TZ used in schedule "+strconv.Quote(cj.Spec.Schedule)+" is not officially "+
			"supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	schedule, err := r.parseSchedule()
	if err != nil {
		r.warn("UnparseableSchedule", "unparseable schedule: "+strconv.Quote(cj.Spec.Schedule)+" : "+err.Error())
		return nil, nil
	}

	found, err := r.mostRecent(schedule, true)
	if failure := schedule.Err(); failure != nil {
		return nil, failure
	}
	if err != nil {
		r.warn("InvalidSchedule", "invalid schedule: "+cj.Spec.Schedule+" : "+err.Error())
		return nil, nil
	}
	if !found.recent.IsZero() {
		if found.tooMany {
			r.warn("TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "+
				"clock skew")
		}
		if err := r.start(found.recent); err != nil {
			return nil, err
		}
	}

	if next := r.untilNext(schedule); schedule.Err() == nil {
		wait = &next
	}
	return wait, schedule.Err()
}

// start starts what was due at a time, if it hasn't been and the policy lets it.
func (r *run) start(due metav1.Time) error {
	cj := r.cronJob
	name := cj.Name + "-" + strconv.FormatInt(due.Unix()/60, 10)
	started := func(ref corev1.ObjectReference) bool { return ref.Name == name && ref.Namespace == cj.Namespace }
	if last := cj.Status.LastScheduleTime; slices.ContainsFunc(cj.Status.Active, started) ||
		last != nil && last.Equal(due) {
		return nil
	}

	switch active := cj.Status.Active; {
	case cj.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(active) > 0:
		r.note("JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
		return nil
	case cj.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent:
		if err := r.replace(active); err != nil {
			return err
		}
	}

	job, err := r.create(name, due)
	if job == nil {
		return err
	}
	cj.Status.Active = append(cj.Status.Active, corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job",
		Namespace: job.Namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion})
	cj.Status.LastScheduleTime = &due
	r.changed = true
	return nil
}

// replace deletes the Jobs that run.
func (r *run) replace(active []corev1.ObjectReference) error {
	for i := range active {
		job, err := sdk.Get(r.c, batchv1.Jobs, active[i].Namespace, active[i].Name)
		if err != nil {
			r.warn("FailedGet", "Get job: "+err.Error())
			return err
		}
		if !r.deleteJob(job) {
			return sdk.Errors("could not replace job ", job.Namespace, "/", job.Name)
		}
	}
	return nil
}

// create makes the Job that was due at a time, and returns it, also where it had been made before. It returns nil
// without an error where somebody else's Job has the name.
func (r *run) create(name string, due metav1.Time) (*batchv1.Job, error) {
	cj := r.cronJob
	scheduled, err := cron.Format(due, sdk.Deref(cj.Spec.TimeZone, ""), r.c.Zone)
	if err != nil {
		return nil, err
	}

	template := &cj.Spec.JobTemplate
	job := &batchv1.Job{Spec: template.Spec}
	job.Namespace, job.Name, job.CreationTimestamp = cj.Namespace, name, due
	job.Labels, job.Annotations = template.Labels, template.Annotations.Clone()
	job.Annotations.Set(batchv1.CronJobScheduledTimestampAnnotation, scheduled)
	job.OwnerReferences = []metav1.OwnerReference{metav1.NewControllerRef(&cj.ObjectMeta, "batch/v1", "CronJob")}

	err = r.c.Do(sdk.Create(job))
	switch {
	case err == nil:
		skew.Add(r.c, job.CreationTimestamp.Sub(due).Seconds())
		r.note("SuccessfulCreate", "Created job "+job.Name)
		return job, nil
	case sdk.Failed(err, sdk.NamespaceTerminating):
		return nil, err
	case !sdk.Failed(err, sdk.AlreadyExists):
		r.warn("FailedCreate", "Error creating job: "+err.Error())
		return nil, err
	}

	// It may be ours, made before a status that couldn't be written.
	if job, err = sdk.Get(r.c, batchv1.Jobs, cj.Namespace, name); err != nil {
		return nil, err
	}
	if !metav1.IsControlledBy(&job.ObjectMeta, &cj.ObjectMeta) || isActive(cj, job.UID) {
		return nil, nil
	}
	return job, nil
}

func (r *run) note(reason, message string) {
	r.c.Event(r.cronJob, corev1.EventTypeNormal, reason, message)
}

func (r *run) warn(reason, message string) {
	r.c.Event(r.cronJob, corev1.EventTypeWarning, reason, message)
}
