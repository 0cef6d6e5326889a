// Package clock runs controllers by a clock that jumps: what a real one comes to in days and years.
package clock

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const namespace = "default"

// A clock that is put on by a day has each CronJob start the last Job that was due, and none of those before. One that
// is put back has none started again, until it is past the last that was.
func TestCronJobs(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	c := cluster.Start(t, cluster.Options{Audit: true})
	var by atomic.Int64 // that the clock is wrong
	now := func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	windlass.Start(t, c, windlass.Options{Controllers: []string{"cronjob-controller"}, Wall: now})
	client := c.Client()
	created := now()
	names := createCronJobs(t, client, 5, "* * * * *")
	before := span{created.Unix()/60 + 1, now().Unix() / 60} // none, unless a minute was just over

	var due []span
	for _, jump := range []struct {
		by    time.Duration
		start bool
	}{
		{day, true}, {-day, false}, {0, false}, {day + time.Hour, true}, {time.Hour, false},
	} {
		by.Store(int64(jump.by))
		from := now()
		for _, name := range names {
			awaitSync(t, client, name)
		}
		if jump.start {
			due = append(due, span{from.Unix() / 60, now().Unix() / 60})
		}
	}

	expectStarted(t, client, names, before, due)
	made := map[string]int{}
	for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{"create"}, Resources: []string{"jobs"}}) {
		if made[e.Name]++; made[e.Name] > 1 {
			t.Errorf("job %s was made again: %v", e.Name, e)
		}
	}
}

// A clock that is put on makes no timer go off: a CronJob that is given another schedule then waits for one of its
// times, or for the old one's timer. What it has missed by the new one is made up for when it is looked at anyway.
func TestRescheduledCronJob(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{})
	var by atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{"cronjob-controller"}, Wall: now})
	client := c.Client()
	daily := func(from time.Duration) string { return fmt.Sprint("30 ", now().UTC().Add(from).Hour(), " * * *") }
	name := createCronJobs(t, client, 1, daily(12*time.Hour))[0]
	syncs := awaitRest(t, m, 0)

	by.Store(int64(36 * time.Hour))
	patch := fmt.Appendf(nil, `{"spec": {"schedule": %q}}`, daily(6*time.Hour))
	all := client.BatchV1().CronJobs(namespace)
	_, err := all.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitRest(t, m, syncs)
	started := func() int {
		l, err := client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Items)
	}
	if n := started(); n != 0 {
		t.Errorf("the new schedule has started %d Jobs at once", n)
	}
	awaitSync(t, client, name)
	if n := started(); n != 1 {
		t.Errorf("%d Jobs are started for the times that were missed, expected the last one", n)
	}
}

// awaitRest waits until the one controller of a manager has synced more often than so many times, and has nothing to
// do. It returns how many times it has.
func awaitRest(t *testing.T, m *windlass.Manager, than int64) (syncs int64) {
	t.Helper()
	cluster.Eventually(t, cluster.Patience, "the controller to rest", func() (bool, string) {
		s := m.Status(t).Controllers[0]
		syncs = s.Syncs.Total
		return syncs > than && s.Queue+s.Syncing+s.Parked == 0, fmt.Sprintf("%+v", s)
	})
	return syncs
}

// span is the minutes since 1970 from one to another, both included.
type span struct{ from, to int64 }

func (s span) has(minute int64) bool { return s.from <= minute && minute <= s.to }

// createCronJobs makes so many, whose Jobs run no pods, and returns their names.
func createCronJobs(t *testing.T, client kubernetes.Interface, n int, schedule string) (names []string) {
	t.Helper()
	template := workload.Job("", 1, 1, func(s *batchv1.JobSpec) { s.Suspend = new(true) })
	for i := range n {
		name := fmt.Sprint("cron-", i)
		_, err := client.BatchV1().CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       batchv1.CronJobSpec{Schedule: schedule, JobTemplate: batchv1.JobTemplateSpec{Spec: template.Spec}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// awaitSync puts a Job that there isn't into a CronJob's status, and waits until a sync has taken it away.
func awaitSync(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	const ghost = types.UID("of-no-job")
	all := client.BatchV1().CronJobs(namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		cj, err := all.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		cj.Status.Active = append(cj.Status.Active, corev1.ObjectReference{
			APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: "nobody", UID: ghost,
		})
		_, err = all.UpdateStatus(t.Context(), cj, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	cluster.Eventually(t, cluster.Patience, name+" is synced", func() (bool, string) {
		cj, err := all.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		there := slices.ContainsFunc(cj.Status.Active, func(r corev1.ObjectReference) bool { return r.UID == ghost })
		return !there, fmt.Sprintf("active: %+v", cj.Status.Active)
	})
}

// expectStarted fails the test unless each CronJob has started Jobs in each of the spans that were due, and none
// outside of them and of the one before.
func expectStarted(t *testing.T, client kubernetes.Interface, names []string, before span, due []span) {
	t.Helper()
	l, err := client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	started := map[string]int{} // by CronJob and span
	for _, j := range l.Items {
		at, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
		if err != nil {
			t.Fatalf("job %s: %v", j.Name, err)
		}
		minute := at.Unix() / 60
		in := slices.IndexFunc(due, func(s span) bool { return s.has(minute) })
		if in < 0 && !before.has(minute) {
			t.Errorf("job %s was started for %v, and nothing but %v was due", j.Name, at, due)
		}
		started[fmt.Sprint(j.OwnerReferences[0].Name, " ", in)]++
	}
	for _, name := range names {
		for in := range due {
			if started[fmt.Sprint(name, " ", in)] == 0 {
				t.Errorf("cron job %s started no Job in the minutes %v", name, due[in])
			}
		}
	}
}
