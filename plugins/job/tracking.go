package job

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// uncountedMax is how many UIDs the status holds at most, to stay below 20 KB.
const uncountedMax = 500

// trackEndedPods counts each pod that has ended exactly once, wherever it may be interrupted: the pod's UID (or its
// index) goes into the status, the finalizer that kept the pod is removed, and then the UID makes way for a higher
// number. The conditions that end the job come at the same two steps.
func (r *run) trackEndedPods(changed bool) error {
	before := countersOf(r.job)
	if r.settleCounted() {
		changed = true
	}
	ended, noted, full := r.noteEnded()
	if r.noteIndexes() || noted {
		changed = true
	}
	if r.announce() {
		changed = true
	}

	if changed {
		if err := r.writeStatus("adding uncounted pods to status: "); err != nil {
			return err
		}
		r.record.saveState(r.c)
		before = countFinished(r.c, r.job, before)
	}

	countHandled(r, ended)
	failure := r.releaseAll(ended)
	changed = r.settleCounted()
	over := failure == nil && !full && r.finishJob()
	if changed || over {
		if err := r.writeStatus("removing uncounted pods from status: "); err != nil {
			return err
		}
		if failure == nil { // upstream never counts the pods that were released where others couldn't be
			countFinished(r.c, r.job, before)
		}
		if over {
			r.tellEnd()
		}
	}

	return failure
}

// writeStatus writes the status; the next one goes on from the answer.
func (r *run) writeStatus(what string) error {
	if err := r.c.Do(sdk.UpdateStatus(r.job)); err != nil {
		return sdk.Errors(what, err.Error())
	}
	if s := &r.job.Status; s.UncountedTerminatedPods == nil {
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return nil
}

// settleCounted moves the UIDs of pods that have no finalizer any more to the numbers.
//
//go:noinline
func (r *run) settleCounted() (changed bool) {
	s := &r.job.Status
	u := s.UncountedTerminatedPods
	succeeded, failed := r.unsettled(u.Succeeded), r.unsettled(u.Failed)
	s.Succeeded += int32(len(u.Succeeded) - len(succeeded))
	s.Failed += int32(len(u.Failed) - len(failed))
	changed = len(succeeded) < len(u.Succeeded) || len(failed) < len(u.Failed)
	u.Succeeded, u.Failed = succeeded, failed
	return changed
}

//go:noinline
func (r *run) unsettled(uids []metav1.UID) []metav1.UID {
	var rest []metav1.UID
	for _, uid := range uids {
		if m := r.memberByUID(uid); m != nil && m.tracked {
			rest = append(rest, uid)
		}
	}
	return rest
}

// noteEnded puts into the status the pods that may go, and returns those, counted or not. When the job ends otherwise
// than by success, whatever has not ended yet has failed.
func (r *run) noteEnded() (ended []*member, changed, full bool) {
	u := r.job.Status.UncountedTerminatedPods
	indexes := 0
	for _, m := range r.pods {
		if !m.tracked || !r.canRelease(m) {
			continue
		}
		ended = append(ended, m)

		switch {
		case m.Status.Phase == corev1.PodSucceeded && !m.inFailed:
			if r.indexed() {
				if r.hasValidIndex(m) && !r.counted.has(m.index) { // the index says it all
					indexes++
					changed = true
				}
			} else if !m.inSucceeded {
				u.Succeeded = append(u.Succeeded, m.UID)
				changed = true
			}
		case m.failed || r.isFailing():
			m.handled = !m.inFailed && r.hasValidIndex(m)
			if m.handled && !m.inSucceeded && r.countsAgainstLimit(m) { // no status may have a UID in both lists
				u.Failed = append(u.Failed, m.UID)
				changed = true
			}
		}

		if indexes+len(u.Succeeded)+len(u.Failed) >= uncountedMax {
			return ended, changed, true // the patches of these pods bring the next sync
		}
	}

	return ended, changed, false
}

// isFailing reports whether the job is about to end, and not well.
func (r *run) isFailing() bool {
	return r.end != nil && r.end.Type != batchv1.JobSuccessCriteriaMet
}

// canRelease reports whether nobody needs the pod once it is counted.
func (r *run) canRelease(m *member) bool {
	if r.job.Deleting() || r.end != nil || m.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return m.failed && (m.index < 0 || r.predecessor(m.index) != m)
}

// announce adds the condition that says how the job is going to end, and turns it into the one that says that it has
// ended.
func (r *run) announce() (changed bool) {
	if r.end == nil {
		return false
	}
	final := batchv1.JobFailed
	switch r.end.Type {
	case batchv1.JobSuccessCriteriaMet:
		final = batchv1.JobComplete
		changed = trueCondition(r.job, r.end.Type) == nil
	case batchv1.JobFailureTarget:
		changed = true
	}
	x := r.end
	if changed {
		r.job.Status.Conditions = append(r.job.Status.Conditions, *x)
	}
	r.end = r.condition(final, x.Reason, x.Message)
	return changed
}

// releaseAll removes the finalizers, and returns the first failure.
func (r *run) releaseAll(ended []*member) error {
	if len(ended) == 0 {
		return nil
	}
	patches := make([]sdk.Effect, len(ended))
	for i, m := range ended {
		patches[i] = release(m.Pod)
	}
	outcomes, err := r.performAll(patches)
	for i := range outcomes {
		if outcomes[i].Code == abi.CodeOK {
			ended[i].tracked = false
		}
	}
	return err
}

// finishJob adds the final condition, once all pods have ended and are counted.
func (r *run) finishJob() bool {
	s := &r.job.Status
	if u := s.UncountedTerminatedPods; r.end == nil || len(u.Succeeded)+len(u.Failed) > 0 || r.ending > 0 {
		return false
	}
	r.setCondition(r.end.Type, corev1.ConditionTrue, r.end.Reason, r.end.Message)
	if r.end.Type == batchv1.JobComplete {
		s.CompletionTime = &r.end.LastTransitionTime
	}
	return true
}

// tellEnd tells people that the job has ended.
func (r *run) tellEnd() {
	job, result := r.job, success
	if r.end.Type == batchv1.JobComplete {
		if want := job.Spec.Completions; want != nil && job.Status.Succeeded > *want {
			r.recordWarning("TooManySucceededPods", "Too many succeeded pods running after completion count reached")
		}
		r.recordNormal("Completed", "Job completed")
		result = succeeded
	} else {
		r.recordWarning(r.end.Reason, r.end.Message)
		result = failed
	}
	jobsFinished.Add(r.c, 1, completionMode(job), result, r.end.Reason)
}
