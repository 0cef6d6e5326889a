// Package job runs the pods of Jobs until as many as wanted have succeeded.
//
// It makes pods up to the parallelism, one for each index where completions are indexed, and counts those that have
// ended by way of a finalizer, so that each counts once, whatever is deleted. Failed pods are made again after a delay
// that doubles, up to the backoff limit, or as the pod failure policy says. A Job that succeeds, fails, is suspended or
// runs past its deadline has its pods deleted. A second queue takes the finalizer from pods whose Job is gone.
package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// batch is how long a job waits after one of its pods has changed: others are about to.
const batch = time.Second

var (
	jobs = sdk.Key(batchv1.Jobs).
		Fields("metadata.deletionTimestamp", "spec", "status").
		QuietOn(abi.QuietOwn) // a status that says what it should
	pods = sdk.Select(corev1.Pods, sdk.KeyNamespace(),
		sdk.Any(sdk.ControlledBy(jobs), sdk.All(sdk.Orphan(), sdk.SelectedBy(jobs, "spec.selector")))).
		Fields("metadata.labels", "metadata.annotations["+batchv1.JobCompletionIndexAnnotation+"]",
			"metadata.annotations["+batchv1.JobIndexFailureCountAnnotation+"]",
			"metadata.annotations["+batchv1.JobIndexIgnoredFailureCountAnnotation+"]", "metadata.finalizers",
			"metadata.deletionTimestamp",
			"metadata.ownerReferences.uid", "metadata.ownerReferences.controller",
			"status.phase", "status.conditions.type", "status.conditions.status",
			"status.containerStatuses.name", "status.containerStatuses.restartCount",
			"status.containerStatuses.state.terminated.exitCode",
			"status.initContainerStatuses.name", "status.initContainerStatuses.restartCount",
			"status.initContainerStatuses.state.terminated.exitCode").
		Fields(times...).Quiet(times...).
		Batch(batch)

	// times are what the order of deletion and the backoff depend on; they change along with what is loud.
	times = []string{"metadata.creationTimestamp", "metadata.deletionGracePeriodSeconds", "spec.nodeName",
		"spec.initContainers.name", "spec.initContainers.restartPolicy",
		"status.conditions.lastTransitionTime", "status.containerStatuses.state.terminated.finishedAt",
		"status.initContainerStatuses.state.terminated.finishedAt"}
)

var (
	managedBy = sdk.Gate("JobManagedBy", true,
		"Whether a job is left alone whose spec.managedBy names another controller.")
	unsetStarted = sdk.Gate("MutableSchedulingDirectivesForSuspendedJobs", true,
		"Whether a job that is suspended loses its status.startTime, so that where its pods may run can be changed.")
)

// Plugin is the job module (pkg/controller/job).
var Plugin = &sdk.Plugin{
	Name:        "job",
	Version:     "1.0.0",
	Description: "Runs the pods of Jobs until as many as wanted have succeeded.",
	Settings:    []*sdk.Setting{managedBy, unsetStarted},
	Metrics: []*sdk.Metric{durations, syncs, jobsFinished, external, podsFinished, policyHandled, terminated,
		indexesFinished, podsCreated, stale},
	Controllers: []*sdk.Controller{{
		Name:           "job-controller",
		Alias:          "job",
		Queue:          "job",
		ServiceAccount: "job-controller",
		EventSource:    "job-controller",
		Reads:          sdk.Views{jobs, pods},
		Writes: sdk.Writes{batchv1.Jobs.Verbs("get"), batchv1.Jobs.Sub("status", "update"),
			batchv1.Jobs.Sub("finalizers", "update"),
			corev1.Pods.Verbs("create", "delete", "patch")},
		Workers: 5,
		Backoff: backoff,
		State:   true,
		Sync:    sync,
	}, orphans},
}

var backoff = abi.Backoff{Base: int64(time.Second), Max: int64(time.Minute)}

// run is one sync of a job.
type run struct {
	c     *sdk.Call
	job   *batchv1.Job // with what this sync makes of its status
	pods  []*member    // in an indexed job by completion index
	byUID []*member

	active                 []*member
	running, ready, ending int32 // how many pods are active, ready and terminating, as far as this sync has got
	succeeded, failed      int32 // pods (of an indexed job, indexes) that have ended, counted in the status or not
	// indexes that have succeeded according to the status, that have in truth, and that have failed
	counted, done, lost intervals
	// failed pods that stay until a successor bears their number of failures, at most one an index
	delayed []*member
	record  record
	end     *batchv1.JobCondition // why the job ends; nil while it doesn't
}

// member is a pod of the job.
type member struct {
	*corev1.Pod
	index   int  // its completion index, -1 where it has none
	tracked bool // it has the finalizer that keeps it until it is counted
	failed  bool
	// Its UID is in the status already, which a crash between a status write and the removal of the finalizer leaves
	// behind.
	inSucceeded, inFailed bool
	handled               bool // its failure is counted by this sync, or ignored
}

func sync(c *sdk.Call) error {
	seen, ok := jobs.Get(c)
	if !ok {
		return nil
	}
	if manager(c, seen) != "" {
		countExternal(c)
		return nil
	}
	if finished(seen) {
		c.SetState(nil)
		return nil
	}
	if m := seen.Spec.CompletionMode; m != nil && *m != batchv1.NonIndexedCompletion && *m != batchv1.IndexedCompletion {
		c.Event(seen, corev1.EventTypeWarning, "UnknownCompletionMode", "Skipped Job sync because completion mode is unknown")
		return nil
	}
	r := &run{c: c, job: sdk.Copy(seen)}
	action, err := r.syncJob(seen)
	result := success
	if err != nil {
		result = "error"
	}
	durations.Took(c, completionMode(seen), result, action)
	syncs.Add(c, 1, completionMode(seen), result, action)
	return err
}

// manager is who else the job belongs to; empty: it is ours.
func manager(c *sdk.Call, job *batchv1.Job) string {
	if by := job.Spec.ManagedBy; managedBy.On(c) && by != nil && *by != batchv1.JobControllerName {
		return *by
	}
	return ""
}

// finished reports whether the job has ended for good.
func finished(job *batchv1.Job) bool { return finalCondition(job) != nil }

// finalCondition returns the condition that ends the job for good, nil before.
func finalCondition(job *batchv1.Job) *batchv1.JobCondition {
	return cmp.Or(trueCondition(job, batchv1.JobComplete), trueCondition(job, batchv1.JobFailed))
}

func (r *run) syncJob(seen *batchv1.Job) (action string, err error) {
	if err := labels.Check(seen.Spec.Selector); err != nil {
		return reconciling, sdk.Errors("couldn't convert Job selector: ", err.Error())
	}
	claimed, err := owner.Claim(r.c, seen, pods.List(r.c), func(p *corev1.Pod) bool {
		return labels.Selects(seen.Spec.Selector, p.Labels)
	}, batchv1.JobTrackingFinalizer)
	if err != nil {
		return reconciling, err
	}

	r.classifyPods(claimed)
	s := &r.job.Status
	if s.StartTime == nil && !r.suspended() {
		s.StartTime = r.nowInSeconds()
	}
	r.countEnded()
	if r.end = r.decideEnd(); r.end == nil {
		r.wakeAtDeadline()
	}
	r.countIndexes()
	action = reconciling
	changed := false
	if r.end != nil {
		if err = r.deletePods(members(r.active), false); r.running > 0 {
			r.end = nil // not before all its pods have been told to go
		}
	} else {
		if !r.job.Deleting() {
			action, err = r.managePods()
		}
		if r.complete() {
			r.end = r.condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached,
				"Reached expected number of succeeded pods")
		} else if !r.job.Deleting() {
			changed = r.noteSuspension()
		}
	}

	if s.Active != r.running || !equalsNumber(s.Ready, r.ready) || !equalsNumber(s.Terminating, r.ending) {
		changed = true
	}
	ready, ending := r.ready, r.ending
	s.Active, s.Ready, s.Terminating = r.running, &ready, &ending
	if failure := r.trackEndedPods(changed); failure != nil {
		return action, sdk.Errors("tracking status: ", failure.Error())
	}

	return action, err
}

// classifyPods takes stock of the claimed pods.
func (r *run) classifyPods(claimed []*corev1.Pod) {
	job := r.job
	old := job.Status.UncountedTerminatedPods
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	if old != nil {
		job.Status.UncountedTerminatedPods.Succeeded, job.Status.UncountedTerminatedPods.Failed = slices.Clip(old.Succeeded),
			slices.Clip(old.Failed)
	}
	job.Status.Conditions = slices.Clone(job.Status.Conditions)
	all := make([]member, len(claimed))
	r.pods = make([]*member, len(claimed))

	for i, p := range claimed {
		// A pod that was adopted just now has got the finalizer along with its owner.
		adopted := !metav1.IsControlledBy(&p.ObjectMeta, &job.ObjectMeta)
		all[i] = member{Pod: p, index: indexOf(p), tracked: adopted || p.HasFinalizer(batchv1.JobTrackingFinalizer),
			failed: r.hasFailed(p)}
		m := &all[i]
		r.pods[i] = m
	}

	if r.indexed() {
		r.pods = sortMembers(r.pods, func(a, b *member) bool { return a.index <= b.index })
	}
	for _, m := range r.pods {
		switch {
		case pod.Active(m.Pod):
			r.active = append(r.active, m)
			r.running++
			if pod.Ready(m.Pod) {
				r.ready++
			}
		case pod.Terminating(m.Pod):
			r.ending++
		}
	}

	u := job.Status.UncountedTerminatedPods
	for _, uid := range u.Succeeded {
		if m := r.memberByUID(uid); m != nil {
			m.inSucceeded = true
		}
	}

	for _, uid := range u.Failed {
		if m := r.memberByUID(uid); m != nil {
			m.inFailed = true
		}
	}
}

// memberByUID returns the pod of that UID, nil where it is gone.
//
//go:noinline
func (r *run) memberByUID(uid metav1.UID) *member {
	if r.byUID == nil {
		r.byUID = sortMembers(r.pods, func(a, b *member) bool { return a.UID <= b.UID })
	}
	low, high := 0, len(r.byUID)
	for low < high {
		if mid := (low + high) / 2; r.byUID[mid].UID < uid {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(r.byUID) && r.byUID[low].UID == uid {
		return r.byUID[low]
	}
	return nil
}

// sortMembers returns the list in order; what is alike stays as it is. slices would make the module 2 KB larger.
func sortMembers(list []*member, before func(a, b *member) bool) []*member {
	if len(list) < 2 {
		return list
	}
	a, b := sortMembers(list[:len(list)/2], before), sortMembers(list[len(list)/2:], before)
	all := make([]*member, 0, len(list))
	for len(a) > 0 && len(b) > 0 {
		if before(a[0], b[0]) {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// hasFailed reports whether the pod counts as failed: a pod that is being deleted does, unless the job waits for its
// end.
func (r *run) hasFailed(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed ||
		!r.replacesFailed() && p.Deleting() && p.Status.Phase != corev1.PodSucceeded
}

// countEnded adds the pods that have ended since the last status to those in it.
func (r *run) countEnded() {
	s := &r.job.Status
	r.succeeded = s.Succeeded + int32(len(s.UncountedTerminatedPods.Succeeded))
	r.failed = s.Failed + int32(len(s.UncountedTerminatedPods.Failed))
	var succeeded, failed []*member
	for _, m := range r.pods {
		if !m.tracked || !r.hasValidIndex(m) {
			continue
		}
		if m.Status.Phase == corev1.PodSucceeded && !m.inSucceeded {
			succeeded = append(succeeded, m)
		}
		if m.failed && !m.inFailed && !m.inSucceeded {
			failed = append(failed, m)
			if r.countsAgainstLimit(m) {
				r.failed++
			}
		}
	}
	r.succeeded += int32(len(succeeded))
	r.record = loadRecord(r.c).afterPods(succeeded, failed)
}

// complete reports whether the job has had enough successes: with a number of completions that many, without one as
// soon as any pod has succeeded and all have ended.
func (r *run) complete() bool {
	if want := r.job.Spec.Completions; want != nil {
		return r.succeeded >= *want && r.running == 0
	}
	return r.succeeded > 0 && r.running == 0
}

func (r *run) suspended() bool { return r.job.Spec.Suspend != nil && *r.job.Spec.Suspend }

// replacesFailed reports whether a pod gets a successor only once it has ended.
func (r *run) replacesFailed() bool {
	p := r.job.Spec.PodReplacementPolicy
	return p != nil && *p == batchv1.Failed
}

func (r *run) nowInSeconds() *metav1.Time {
	t := r.c.Now().Truncate()
	return &t
}

func members(list []*member) []*corev1.Pod {
	l := make([]*corev1.Pod, len(list))
	for i, m := range list {
		l[i] = m.Pod
	}
	return l
}

func equalsNumber(p *int32, n int32) bool { return p != nil && *p == n }

// orDefault returns the number, or the API's default.
func orDefault(n *int32, otherwise int32) int32 {
	if n == nil {
		return otherwise
	}
	return *n
}
