package cronjob

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

// changes are moments of the year 2000 at which the offsets of some zones change.
var changes = changesOf(2000, inZones)

func changesOf(year int, names []string) (all []time.Time) {
	end := time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range names {
		location, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		for t := world.Begin; ; {
			_, next := t.In(location).ZoneBounds()
			if next.IsZero() || next.After(end) {
				break
			}
			all = append(all, next)
			t = next
		}
	}
	return all
}

// begin is how long after the bubble's beginning a world begins: often within hours of a change of an offset.
func begin(pick func(int) int) time.Duration {
	if pick(2) == 0 {
		return time.Duration(pick(60*60)) * time.Second
	}
	at := changes[pick(len(changes))].Add(time.Duration(pick(30*60)-26*60) * time.Minute)
	return max(0, at.Sub(world.Begin))
}

var (
	schedules = []string{"* * * * *", "*/5 * * * *", "*/5 * * * *", "0 * * * *", "30 2 * * *", "*/20 1-3 * * *",
		"0 0 * * *", "15 0 * * 0", "30 6-16/4 * * 1-5", "@every 90s", "@every 1h", "@hourly", "@daily",
		"0 0 31 2 *", "10,40 */2 1-7 jan-dec mon"}
	inZones = []string{here, "Europe/Rome", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"}
)

// objects are one or two CronJobs with Jobs that are theirs, could be, were, or aren't.
func objects(r *world.Rand) []runtime.Object {
	time.Sleep(begin(r.IntN))
	r.At(time.Now())
	var all []runtime.Object
	for i := range 1 + r.IntN(2) {
		cj := newCronJob(r, fmt.Sprintf("cron-%d", i))
		for range r.IntN(6) {
			j := newJob(r, cj)
			if !r.One(4) && (!ended(j) || r.One(4)) {
				cj.Status.Active = append(cj.Status.Active, reference(j))
			}
			if !r.One(8) {
				all = append(all, j)
			}
		}
		all = append(all, cj)
	}
	return all
}

func newCronJob(r *world.Rand, name string) *batchv1.CronJob {
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: world.Namespace, UID: r.UID(),
		CreationTimestamp: when(r)}}
	s := &cj.Spec
	reschedule(r, cj)
	s.ConcurrencyPolicy = world.Of(r, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)
	if r.One(6) {
		s.Suspend = world.Ptr(!r.One(3))
	}
	if r.One(2) {
		s.StartingDeadlineSeconds = world.Ptr(int64(world.Of(r, 0, 1, 10, 60, 200, 3600, 100_000, 10_000_000_000)))
	}
	if r.One(2) {
		s.SuccessfulJobsHistoryLimit = world.Ptr(int32(r.IntN(3)))
	}
	if r.One(2) {
		s.FailedJobsHistoryLimit = world.Ptr(int32(r.IntN(3)))
	}
	template(r, cj)

	if !r.One(3) {
		cj.Status.LastScheduleTime = world.Ptr(when(r))
	}
	if r.One(2) {
		cj.Status.LastSuccessfulTime = world.Ptr(when(r))
	}
	if r.One(8) {
		cj.Finalizers = []string{metav1.FinalizerOrphanDependents}
	}
	if r.One(15) {
		r.End(cj)
	}
	return cj
}

func template(r *world.Rand, cj *batchv1.CronJob) {
	t := &cj.Spec.JobTemplate
	t.Labels, t.Annotations = nil, nil
	if r.One(2) {
		t.Labels = r.Labels("web")
	}
	if r.One(3) {
		t.Annotations = map[string]string{"example.com/note": world.Of(r, "a", "b")}
	}
	t.Spec.Template = r.Template(map[string]string{"app": "web"})
	t.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	t.Spec.Parallelism = world.Maybe(r, int32(r.IntN(3)))
}

func reschedule(r *world.Rand, cj *batchv1.CronJob) {
	cj.Spec.Schedule, cj.Spec.TimeZone = world.Of(r, schedules...), nil
	if r.One(2) {
		cj.Spec.TimeZone = world.Ptr(world.Of(r, inZones...))
	}
}

// when is a moment ago: most often minutes or hours, sometimes days, and sometimes one that is yet to come, by a clock
// that was set back.
func when(r *world.Rand) metav1.Time {
	t := r.Ago(world.Of(r, 10, 600, 600, 7200, 7200, 100_000, 3_000_000))
	switch {
	case r.One(15):
		t = metav1.NewTime(t.Add(24 * time.Hour))
	case r.One(15):
		t = metav1.NewTime(t.Add(-24 * time.Hour))
	case r.One(3):
		t = metav1.NewTime(t.Truncate(time.Minute))
	}
	return t
}

func newJob(r *world.Rand, cj *batchv1.CronJob) *batchv1.Job {
	at := time.Now().Add(-time.Duration(r.IntN(180)-20) * time.Minute)
	if r.One(2) {
		at = time.Now().Add(-time.Duration(r.IntN(4)-1) * time.Minute)
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", cj.Name, at.Unix()/60), Namespace: world.Namespace, UID: r.UID(),
		CreationTimestamp: metav1.NewTime(at.Truncate(time.Second)),
	}}
	if !r.One(8) {
		j.OwnerReferences = []metav1.OwnerReference{world.Owner("batch/v1", "CronJob", cj.Name, cj.UID)}
	} else if r.One(2) {
		j.OwnerReferences = []metav1.OwnerReference{world.Owner(world.Of(r, "batch/v1", "example.com/v1"), world.Of(r,
			"CronJob", "Workflow"), cj.Name, r.UID())}
	}

	j.Spec.ManualSelector = world.Ptr(true)
	j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	j.Spec.Template = r.Template(map[string]string{"app": "web"})
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if r.One(8) {
		j.Spec.Suspend = world.Ptr(true)
	} else if !r.One(4) {
		j.Status.StartTime = world.Ptr(metav1.NewTime(j.CreationTimestamp.Add(time.Duration(r.IntN(3)) * time.Second)))
	}

	if r.One(2) {
		end(r, j)
	}
	if r.One(12) {
		j.Finalizers = []string{"example.com/stay"}
		r.End(j)
	}
	return j
}

// end has a Job be done, well or not.
func end(r *world.Rand, j *batchv1.Job) {
	if ended(j) {
		return
	}
	if j.Status.StartTime == nil {
		j.Status.StartTime = world.Ptr(j.CreationTimestamp)
	}
	now := metav1.NewTime(j.Status.StartTime.Add(time.Duration(r.IntN(100)) * time.Second))
	if r.One(2) {
		j.Status.CompletionTime = &now
		j.Status.Conditions = append(j.Status.Conditions,
			batchv1.JobCondition{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
			batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now})
		return
	}
	j.Status.Conditions = append(j.Status.Conditions,
		batchv1.JobCondition{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, LastTransitionTime: now},
		batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: now})
}

func ended(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

func reference(j *batchv1.Job) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID,
		ResourceVersion: "1"}
}

// deeds are what others do, and what the clock does.
func deeds() []differential.Deed {
	return slices.Concat(clockDeeds(), cronJobDeeds(), jobDeeds())
}

// clockDeeds have time go by: minutes, days, and hours up to a change of an offset.
func clockDeeds() []differential.Deed {
	passes := func(what string, d func(*world.Rand) time.Duration) differential.Deed {
		return func(r *world.Rand, _ *api.Cluster) (string, error) {
			time.Sleep(d(r))
			return what, nil
		}
	}

	return []differential.Deed{
		passes("minutes pass", func(r *world.Rand) time.Duration { return time.Duration(r.IntN(600)) * time.Second }),
		passes("minutes pass", func(r *world.Rand) time.Duration { return time.Duration(r.IntN(600)) * time.Second }),
		passes("hours pass", func(r *world.Rand) time.Duration { return time.Duration(r.IntN(5*60)) * time.Minute }),
		passes("a day passes", func(*world.Rand) time.Duration { return 24 * time.Hour }),
		passes("an offset changes", func(r *world.Rand) time.Duration {
			at := world.Of(r, changes...).Add(time.Duration(r.IntN(240)-60) * time.Minute)
			if wait := time.Until(at); wait > 0 && wait < 40*24*time.Hour {
				return wait
			}
			return time.Hour
		}),
	}
}

// cronJobDeeds are what people do to CronJobs.
func cronJobDeeds() []differential.Deed {
	change := func(what string, f func(*world.Rand, *batchv1.CronJob)) differential.Deed {
		return differential.Vary(cronJobs, what, f)
	}

	return []differential.Deed{
		change("another schedule", reschedule),
		change("another schedule", reschedule),
		change("a schedule of before it was validated", func(r *world.Rand, cj *batchv1.CronJob) {
			cj.Spec.Schedule = world.Of(r, "TZ=Europe/Rome 30 2 * * *", "CRON_TZ=UTC */5 * * * *", "TZ=0", "every night",
				"0 0 * * 7", "@every 1d", "0 * * * *")
			cj.Spec.TimeZone = world.Of(r, nil, nil, world.Ptr("Europe/Rome"), world.Ptr("Europe/Nowhere"), world.Ptr(""))
		}),

		change("suspension", func(_ *world.Rand, cj *batchv1.CronJob) {
			cj.Spec.Suspend = world.Ptr(cj.Spec.Suspend == nil || !*cj.Spec.Suspend)
		}),
		change("another policy", func(r *world.Rand, cj *batchv1.CronJob) {
			cj.Spec.ConcurrencyPolicy = world.Of(r, batchv1.AllowConcurrent, batchv1.ForbidConcurrent,
				batchv1.ReplaceConcurrent)
		}),
		change("another deadline", func(r *world.Rand, cj *batchv1.CronJob) {
			cj.Spec.StartingDeadlineSeconds = world.Maybe(r, int64(world.Of(r, 10, 300, 100_000)))
		}),

		change("another template", template),

		change("another last start", func(r *world.Rand, cj *batchv1.CronJob) {
			cj.Status.LastScheduleTime = world.Maybe(r, when(r))
		}),
		change("the clock set a day forward or back", func(r *world.Rand, cj *batchv1.CronJob) {
			if t := cj.Status.LastScheduleTime; t != nil {
				cj.Status.LastScheduleTime = world.Ptr(metav1.NewTime(t.Add(world.Of(r, 24*time.Hour, -24*time.Hour))))
			}
		}),
		change("no Jobs in the status", func(_ *world.Rand, cj *batchv1.CronJob) {
			cj.Status.Active = nil
		}),

		change("labels", func(r *world.Rand, cj *batchv1.CronJob) { cj.Labels = r.Labels("web") }),
		differential.Delete(cronJobs),
		differential.Vanish(cronJobs),
	}
}

// jobDeeds are what becomes of Jobs.
func jobDeeds() []differential.Deed {
	return []differential.Deed{
		differential.Vary(jobs, "the end", end),
		differential.Vary(jobs, "the end", end),
		differential.Vary(jobs, "another owner", func(_ *world.Rand, j *batchv1.Job) { j.OwnerReferences = nil }),
		differential.Vary(jobs, "labels", func(r *world.Rand, j *batchv1.Job) { j.Labels = r.Labels("web") }),
		differential.Delete(jobs),
		differential.Vanish(jobs),
		appear,
	}
}

// appear has somebody make a Job for a CronJob, perhaps under the name of one that is due soon.
func appear(r *world.Rand, c *api.Cluster) (string, error) {
	all, err := c.List(cronJobs)
	if err != nil || len(all) == 0 {
		return "", err
	}
	j := newJob(r, all[r.IntN(len(all))].(*batchv1.CronJob))
	if err := c.Add(j); err != nil {
		return "", nil // it isn't admitted, or there is one
	}
	return "job " + j.Name + " comes", nil
}
