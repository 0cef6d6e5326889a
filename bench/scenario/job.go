package scenario

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var job = &Scenario{
	Name: "job", Base: empty, Title: titleWithNumbers("Job of %d pods, %d at once", 1000, 150, 100, 50),
	Setup: func(ctx context.Context, w *World) error { return w.namespace(ctx, "job") },
	Act: func(ctx context.Context, w *World) error {
		completions, parallelism := int32(w.Size(1000, 150)), int32(w.Size(100, 50))
		return w.addWallTime(func() error {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"},
				Spec: batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism}}
			j.Spec.Template.Labels = map[string]string{"app": "job"}
			j.Spec.Template.Spec = minimalPodSpec()
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			if _, err := w.Client.BatchV1().Jobs("job").Create(ctx, j, metav1.CreateOptions{}); err != nil {
				return err
			}
			return watchUntil(ctx, w, w.Client.BatchV1().RESTClient(), "jobs", "job", &batchv1.Job{}, "the job is complete",
				func(all []*batchv1.Job) (bool, string) {
					if len(all) == 0 {
						return false, "it isn't there"
					}
					for _, c := range all[0].Status.Conditions {
						if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
							return true, ""
						}
					}
					return false, fmt.Sprintf("%+v", all[0].Status)
				})
		})
	},
}
