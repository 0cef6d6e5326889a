// Package ttlafterfinished deletes jobs when they have been finished for as long as they say.
//
// A Job that has completed or failed and has ttlSecondsAfterFinished is deleted, with what depends on it, when that
// time is over. Before it is deleted, it is asked of the API server whether that is still so.
package ttlafterfinished

import (
	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

var (
	// jobs are those that have finished, as good as always, and are to be deleted then: the others wake nobody.
	jobs = sdk.Select(jobKind, sdk.Exists("spec.ttlSecondsAfterFinished"),
		sdk.In("status.conditions.type", string(batchv1.JobComplete), string(batchv1.JobFailed))).
		Fields("metadata.deletionTimestamp", "spec.ttlSecondsAfterFinished", "status.conditions.type",
			"status.conditions.status", "status.conditions.lastTransitionTime")

	late = sdk.Histogram("ttl_after_finished_controller_job_deletion_duration_seconds",
		"[ALPHA] The time it took to delete the job since it became eligible for deletion",
		[]float64{0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2})
)

// Plugin is the ttlafterfinished module (pkg/controller/ttlafterfinished).
var Plugin = &sdk.Plugin{
	Name:        "ttlafterfinished",
	Version:     "1.0.0",
	Description: "Deletes jobs when they have been finished for as long as they say.",
	Metrics:     []*sdk.Metric{late},
	Controllers: []*sdk.Controller{{
		Name:           "ttl-after-finished-controller",
		Alias:          "ttl-after-finished",
		Queue:          "ttl_jobs_to_delete",
		ServiceAccount: "ttl-after-finished-controller",
		EventSource:    "ttl-after-finished-controller",
		Reads:          sdk.Views{jobs},
		Writes:         sdk.Writes{jobKind.Verbs("get", "delete")},
		Workers:        5,
		Sync:           sync,
	}},
}

func sync(c *sdk.Call) error {
	cached, ok := jobs.Get(c)
	if !ok {
		return nil
	}
	if _, due, err := lookAt(c, cached); !due {
		return err
	}

	// The cache may not know yet that the job is to stay for longer.
	live, err := sdk.Get(c, jobKind, cached.Namespace, cached.Name)
	switch {
	case sdk.Failed(err, sdk.NotFound):
		return nil
	case err != nil:
		return err
	}
	at, due, err := lookAt(c, live)
	if !due {
		return err
	}

	if err := c.Do(sdk.Delete(live, sdk.Foreground)); err != nil {
		return err
	}
	late.Add(c, c.Now().Sub(at).Seconds())
	return nil
}

// lookAt returns when the job is to be deleted, and whether it is time. If it isn't yet, the job is looked at again
// when it is.
func lookAt(c *sdk.Call, j *job) (at metav1.Time, due bool, _ error) {
	at, due, err := j.expires()
	if wait := at.Sub(c.Now()); due && wait > 0 {
		return at, false, c.After(wait)
	}
	return at, due, err
}
