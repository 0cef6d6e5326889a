package job

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
)

// Values of labels.
const (
	success   = "success"
	succeeded = "succeeded"
	failed    = "failed"

	// What a sync was for. Reconciling: it had no say in the number of pods.
	reconciling = "reconciling"
	tracking    = "tracking"
	podsCreate  = "pods_created"
	podsDelete  = "pods_deleted"
)

// The texts are upstream's, with the line breaks that they have there.
var (
	modes = abi.Label{Name: "completion_mode", Values: []string{string(batchv1.IndexedCompletion),
		string(batchv1.NonIndexedCompletion)}}
	results = abi.Label{Name: "result", Values: []string{succeeded, failed}}

	outcomes = abi.Label{Name: "result", Values: []string{success, "error"}}
	actions  = abi.Label{Name: "action", Values: []string{reconciling, tracking, podsCreate, podsDelete}}

	durations = sdk.Histogram("job_controller_job_sync_duration_seconds", "[STABLE] The time it took to sync a job",
		[]float64{0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384, 32.768, 65.536},
		modes, outcomes, actions)
	syncs = sdk.Counter("job_controller_job_syncs_total", "[STABLE] The number of job syncs", modes, outcomes,
		actions)
	jobsFinished = sdk.Counter("job_controller_jobs_finished_total", "[STABLE] The number of finished jobs", modes,
		results,
		abi.Label{Name: "reason", Values: []string{batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonDeadlineExceeded,
			batchv1.JobReasonPodFailurePolicy,
			batchv1.JobReasonFailedIndexes, batchv1.JobReasonMaxFailedIndexesExceeded, batchv1.JobReasonSuccessPolicy,
			batchv1.JobReasonCompletionsReached}})
	podsFinished = sdk.Counter("job_controller_job_pods_finished_total",
		"[STABLE] The number of finished Pods that are fully tracked", modes, results)

	external = sdk.Counter("job_controller_jobs_by_external_controller_total",
		"[ALPHA] The number of Jobs managed by an external controller",
		jobs.Label("controller_name", "spec.managedBy"))
	policyHandled = sdk.Counter("job_controller_pod_failures_handled_by_failure_policy_total",
		"[BETA] The number of failed Pods handled by failure policy with\n"+
			"\t\t\trespect to the failure policy action applied based on the matched\n"+
			"\t\t\trule. Possible values of the action label correspond to the\n"+
			"\t\t\tpossible values for the failure policy rule action, which are:\n"+
			"\t\t\t\"FailJob\", \"Ignore\" and \"Count\".",
		abi.Label{Name: "action", Values: []string{string(batchv1.PodFailurePolicyActionFailJob),
			string(batchv1.PodFailurePolicyActionFailIndex),
			string(batchv1.PodFailurePolicyActionIgnore), string(batchv1.PodFailurePolicyActionCount)}})
	terminated = sdk.Counter("job_controller_terminated_pods_tracking_finalizer_total",
		"[BETA] The number of terminated pods (phase=Failed|Succeeded)\n"+
			"that have the finalizer batch.kubernetes.io/job-tracking\n"+
			"The event label can be \"add\" or \"delete\".",
		abi.Label{Name: "event", Values: []string{"add", "delete"}})
	indexesFinished = sdk.Counter("job_controller_job_finished_indexes_total",
		"[ALPHA] The number of finished indexes. Possible values for the\n"+
			"\t\t\tstatus label are: \"succeeded\", \"failed\". Possible values for the\n"+
			"\t\t\tbackoffLimit label are: \"perIndex\" and \"global\"",
		abi.Label{Name: "status", Values: []string{succeeded, failed}},
		abi.Label{Name: "backoffLimit", Values: []string{"perIndex", "global"}})
	stale = sdk.Stale("job_controller_stale_sync_skips_total",
		"[ALPHA] Total number of Job syncs skipped due to a stale watch cache.")
	podsCreated = sdk.Counter("job_controller_job_pods_creation_total",
		"[ALPHA] The number of Pods created by the Job controller labelled with a reason for the Pod creation.\n"+
			"This metric also distinguishes between Pods created using different PodReplacementPolicy settings.\n"+
			"Possible values of the \"reason\" label are:\n"+
			"\"new\", \"recreate_terminating_or_failed\", \"recreate_failed\".\n"+
			"Possible values of the \"status\" label are:\n"+
			"\"succeeded\", \"failed\".",
		abi.Label{Name: "reason", Values: []string{"new", "recreate_terminating_or_failed", "recreate_failed"}},
		abi.Label{Name: "status", Values: []string{succeeded, failed}})
)

// completionMode returns the job's completion mode.
func completionMode(job *batchv1.Job) string {
	if m := job.Spec.CompletionMode; m != nil {
		return string(*m)
	}
	return string(batchv1.NonIndexedCompletion)
}

// countExternal counts someone else's job at its first sync.
func countExternal(c *sdk.Call) {
	if len(c.State()) == 0 {
		c.SetState([]byte("external"))
		external.Add(c, 1)
	}
}

// counters are the numbers of a status that metrics tell the growth of.
type counters struct {
	succeeded, failed         int32
	succeededOnes, failedOnes int
}

func countersOf(job *batchv1.Job) counters {
	s, n := &job.Status, int(orDefault(job.Spec.Completions, 0))
	c := counters{succeeded: s.Succeeded, failed: s.Failed}
	if completionMode(job) == string(batchv1.IndexedCompletion) {
		c.succeededOnes = parseIntervals(s.CompletedIndexes, n).countAll()
		if s.FailedIndexes != nil {
			c.failedOnes = parseIntervals(*s.FailedIndexes, n).countAll()
		}
	}
	return c
}

// countFinished counts what a written status has more than before.
func countFinished(c *sdk.Call, job *batchv1.Job, before counters) counters {
	now, m := countersOf(job), completionMode(job)
	good := int(now.succeeded - before.succeeded)
	if m == string(batchv1.IndexedCompletion) {
		limit := "global"
		if job.Spec.BackoffLimitPerIndex != nil {
			limit = "perIndex"
		}
		good = now.succeededOnes - before.succeededOnes
		increaseCounter(c, indexesFinished, good, succeeded, limit)
		increaseIfPositive(c, indexesFinished, now.failedOnes-before.failedOnes, failed, limit)
	}
	increaseCounter(c, podsFinished, good, m, succeeded)
	increaseCounter(c, podsFinished, int(now.failed-before.failed), m, failed)
	return now
}

// increaseCounter adds what there is more, also none: a counter is there, at 0, from the first status on. Counters
// don't shrink.
//
//go:noinline
func increaseCounter(c *sdk.Call, m *sdk.Metric, n int, labels ...string) {
	m.Add(c, float64(max(n, 0)), labels...)
}

// increaseIfPositive is increaseCounter for counters that are there once there is something to count.
//
//go:noinline
func increaseIfPositive(c *sdk.Call, m *sdk.Metric, n int, labels ...string) {
	if n > 0 {
		m.Add(c, float64(n), labels...)
	}
}

// countHandled counts failed pods that a rule of the failure policy has dealt with.
func countHandled(r *run, ended []*member) {
	for _, m := range ended {
		if m.handled {
			if a := r.policyAction(m); a != "" {
				policyHandled.Add(r.c, 1, string(a))
			}
		}
	}
}

func countCreated(r *run, made, refused int) {
	reason := "new"
	switch {
	case r.failed > 0 && r.replacesFailed():
		reason = "recreate_failed"
	case r.failed > 0 || r.ending > 0:
		reason = "recreate_terminating_or_failed"
	}
	increaseIfPositive(r.c, podsCreated, made, reason, succeeded)
	increaseIfPositive(r.c, podsCreated, refused, reason, failed)
}
