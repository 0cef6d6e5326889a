package scenario

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// cronJobs have all been due at the same minute when they are let go.
var cronJobs = &Scenario{
	Name: "cronjobs", Named: true, Base: empty, Title: titleWithNumbers("%d CronJobs due at the same minute", 500, 500),
	Setup: func(ctx context.Context, w *World) error {
		if err := w.namespace(ctx, "cronjobs"); err != nil {
			return err
		}
		due := time.Now().UTC().Add(2 * time.Minute).Truncate(time.Minute)
		if err := parallel(ctx, 500, 32, func(ctx context.Context, i int) error {
			_, err := w.Client.BatchV1().CronJobs("cronjobs").Create(ctx, cronJob(i, due), metav1.CreateOptions{})
			return err
		}); err != nil {
			return err
		}
		return w.pollUntil(ctx, time.Second, "the minute has come", func() (bool, string, error) {
			return time.Now().After(due), due.String(), nil
		})
	},
	Act: func(ctx context.Context, w *World) error {
		w.Events = 500
		return w.addWallTime(func() error {
			if err := parallel(ctx, 500, 32, func(ctx context.Context, i int) error {
				_, err := w.Client.BatchV1().CronJobs("cronjobs").Patch(ctx, fmt.Sprint("cron-", i), types.MergePatchType,
					[]byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
				return err
			}); err != nil {
				return err
			}
			return watchUntil(ctx, w, w.Client.BatchV1().RESTClient(), "cronjobs", "cronjobs", &batchv1.CronJob{},
				"each has its Job", func(all []*batchv1.CronJob) (bool, string) {
					active := 0
					for _, cj := range all {
						active += len(cj.Status.Active)
					}
					return active == 500, fmt.Sprint(active, " Jobs")
				})
		})
	},
}

// cronJob is one that is suspended, and due once an hour. Its Jobs run no pods.
func cronJob(i int, due time.Time) *batchv1.CronJob {
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("cron-", i)}}
	cj.Spec.Schedule, cj.Spec.TimeZone = fmt.Sprint(due.Minute(), " * * * *"), new("Etc/UTC")
	cj.Spec.Suspend, cj.Spec.JobTemplate.Spec.Suspend = new(true), new(true)
	cj.Spec.JobTemplate.Spec.Template.Spec = minimalPodSpec()
	cj.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return cj
}

// mirrored are Endpoints that somebody writes for services without selector.
var mirrored = &Scenario{
	Name: "mirrored", Named: true, Base: empty,
	Title: titleWithNumbers("%d Endpoints of services without selector", 1000, 1000),
	Setup: func(ctx context.Context, w *World) error {
		if err := w.namespace(ctx, "mirrored"); err != nil {
			return err
		}
		return parallel(ctx, 1000, 32, func(ctx context.Context, i int) error {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("service-", i)}}
			s.Spec.ClusterIP, s.Spec.Ports = corev1.ClusterIPNone, []corev1.ServicePort{{Port: 80}}
			_, err := w.Client.CoreV1().Services("mirrored").Create(ctx, s, metav1.CreateOptions{})
			return err
		})
	},
	Act: func(ctx context.Context, w *World) error {
		w.Events = 1000
		return w.addWallTime(func() error {
			if err := parallel(ctx, 1000, 32, func(ctx context.Context, i int) error {
				e := &corev1.Endpoints{} //nolint:staticcheck // what is mirrored
				e.Name = fmt.Sprint("service-", i)
				s := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Port: 80}}}
				for k := range 10 {
					s.Addresses = append(s.Addresses, corev1.EndpointAddress{IP: fmt.Sprintf("10.%d.%d.%d", 100+k, i/250, i%250)})
				}
				e.Subsets = []corev1.EndpointSubset{s}
				_, err := w.Client.CoreV1().Endpoints("mirrored").Create(ctx, e, metav1.CreateOptions{})
				return err
			}); err != nil {
				return err
			}
			return watchUntil(ctx, w, w.Client.DiscoveryV1().RESTClient(), "endpointslices", "mirrored",
				&discoveryv1.EndpointSlice{}, "each has its slice", func(all []*discoveryv1.EndpointSlice) (bool, string) {
					return len(all) == 1000, fmt.Sprint(len(all), " slices")
				})
		})
	},
}

// finished are Jobs that have finished, and whose time is over from one moment to the next.
var finished = &Scenario{
	Name: "finished", Named: true, Base: empty, Title: titleWithNumbers("%d finished Jobs whose time is over", 2000, 2000),
	Setup: func(ctx context.Context, w *World) error {
		if err := w.namespace(ctx, "finished"); err != nil {
			return err
		}
		if err := parallel(ctx, 2000, 32, func(ctx context.Context, i int) error {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("job-", i)}}
			j.Spec.Completions = new(int32(0)) // it is complete as soon as its controller sees it
			j.Spec.Template.Spec = minimalPodSpec()
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			_, err := w.Client.BatchV1().Jobs("finished").Create(ctx, j, metav1.CreateOptions{})
			return err
		}); err != nil {
			return err
		}
		return watchUntil(ctx, w, w.Client.BatchV1().RESTClient(), "jobs", "finished", &batchv1.Job{}, "all are complete",
			func(all []*batchv1.Job) (bool, string) {
				complete := 0
				for _, j := range all {
					if j.Status.CompletionTime != nil {
						complete++
					}
				}
				return complete == 2000, fmt.Sprint(complete, " complete")
			})
	},
	Act: func(ctx context.Context, w *World) error {
		w.Events = 2000
		return w.addWallTime(func() error {
			if err := parallel(ctx, 2000, 32, func(ctx context.Context, i int) error {
				_, err := w.Client.BatchV1().Jobs("finished").Patch(ctx, fmt.Sprint("job-", i), types.MergePatchType,
					[]byte(`{"spec":{"ttlSecondsAfterFinished":0}}`), metav1.PatchOptions{})
				return err
			}); err != nil {
				return err
			}
			return w.pollUntil(ctx, 50*time.Millisecond, "all Jobs are gone", func() (bool, string, error) {
				l, err := w.Client.BatchV1().Jobs("finished").List(ctx, metav1.ListOptions{Limit: 1})
				return err == nil && len(l.Items) == 0, fmt.Sprint(l), err
			})
		})
	},
}
