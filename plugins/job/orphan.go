package job

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
)

var (
	// A pod that runs, and that names a job, is its job's business until it ends or is told to go.
	keptPods = sdk.Select(corev1.Pods, sdk.In("metadata.finalizers", batchv1.JobTrackingFinalizer),
		sdk.Any(sdk.In("status.phase", string(corev1.PodSucceeded), string(corev1.PodFailed)),
			sdk.Exists("metadata.deletionTimestamp"), sdk.Orphan())).Named("kept pods").
		Fields("metadata.deletionTimestamp", "metadata.ownerReferences", "status.phase")
	owners = sdk.Select(batchv1.Jobs, sdk.KeyNamespace(),
		sdk.Join("metadata.uid", keptPods, "controller.uid")).Named("their jobs").
		Fields("spec.managedBy", "status.conditions.type", "status.conditions.status", "status.conditions.lastTransitionTime")
)

// orphans removes the finalizer from pods that no job counts any more: it would keep them for ever.
var orphans = &sdk.Controller{
	Name:           "job-orphan-pod-controller",
	PartOf:         "job-controller",
	Queue:          "job_orphan_pod",
	ServiceAccount: "job-controller",
	Reads:          sdk.Views{keptPods, owners},
	Writes:         sdk.Writes{corev1.Pods.Verbs("patch")},
	Workers:        5,
	Backoff:        backoff,
	State:          true,
	Sync:           syncOrphan,
}

// syncOrphan also counts the pods that have ended and wait to be counted by their jobs.
func syncOrphan(c *sdk.Call) error {
	p, ok := keptPods.Get(c)
	waits, waited := ok && pod.Terminal(p), len(c.State()) > 0
	switch {
	case waits && !waited:
		terminated.Add(c, 1, "add")
		c.SetState([]byte("ended"))
	case waited && !waits:
		terminated.Add(c, 1, "delete")
		c.SetState(nil)
	}
	if !ok || !orphaned(c, p) {
		return nil
	}
	if wait := remainingSettling(c); wait > 0 {
		return c.After(wait)
	}
	e := release(p)
	e.Precondition = abi.PreconditionVersion // a job may be adopting it
	c.Add(e)
	return nil
}

// settling is how long a job that has ended is taken to have released the pod itself: its end may come to the cache
// before the pod does, and what follows isn't urgent.
const settling = 2 * time.Second

// remainingSettling returns how long the pod waits yet for the cache to show what its job has done at its end.
func remainingSettling(c *sdk.Call) time.Duration {
	job, ok := owners.Get(c)
	if !ok {
		return 0
	}
	if since := c.Now().Sub(finalCondition(job).LastTransitionTime); since >= 0 {
		return settling - since
	}
	return 0
}

// orphaned reports whether no job is going to remove the finalizer. Where the pod names a job that isn't there, that is
// certain only once the pod is being deleted too: the cache may just not have the job yet. Who deletes a job for good
// deletes its pods or takes its name from them.
func orphaned(c *sdk.Call, p *corev1.Pod) bool {
	ref := metav1.GetControllerOf(&p.ObjectMeta)
	if ref == nil {
		return true
	}
	if ref.Kind != batchv1.Jobs.Kind || ref.APIVersion != batchv1.Jobs.APIVersion() {
		return false // whoever that is, it may use the same finalizer
	}
	job, ok := owners.Get(c)
	if !ok {
		return p.Deleting()
	}
	return manager(c, job) == "" && finished(job)
}
