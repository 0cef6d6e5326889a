package restart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// CronJobs that are all due at each full minute start each of their Jobs once, and miss none, whoever is killed while
// they do.
func TestCronJobs(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Audit: true})
	client := c.Client()
	n := workload.Size(200, 500)
	first := createCronJobs(t, client, n)
	seen := func() (done bool, seen string) {
		if time.Now().Second() >= 30 { // nobody is killed then before what is due is done, or it would be missed
			awaitMinute(t, client, first, n)
		}
		started := startedAt(t, client)
		twice, jobs := 0, 0
		for _, minutes := range started {
			if jobs += len(minutes); minutes[first] && minutes[first+1] {
				twice++
			}
		}
		return twice == n, fmt.Sprintf("%d Jobs, both of %d CronJobs", jobs, twice)
	}
	killUntil(t, c, 4, 5, []string{"cronjob-controller"}, seen)

	// One that isn't killed finds what there is, and has the status say so.
	windlass.Spawn(t, c, "cronjob-controller")
	cluster.Eventually(t, patience, "the status has each Job", func() (bool, string) {
		return statusAgrees(t, client)
	})
	made := map[string]int{}
	for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{"create"}, Resources: []string{"jobs"}}) {
		if e.Code == 201 {
			made[e.Name]++
		}
	}
	for name, times := range made {
		if times != 1 {
			t.Errorf("job %s was made %d times", name, times)
		}
	}
	for name, minutes := range startedAt(t, client) {
		all := slices.Sorted(maps.Keys(minutes))
		if all[0] < first-1 || all[len(all)-1]-all[0] != int64(len(all)-1) {
			t.Errorf("cron job %s started at the minutes %v, want each from %d on", name, all, first)
		}
	}
}

// awaitMinute waits until all CronJobs have started their Jobs of this minute, or it is over.
func awaitMinute(t *testing.T, client kubernetes.Interface, first int64, n int) {
	t.Helper()
	now := time.Now().Unix() / 60
	if now < first {
		return
	}
	cluster.Eventually(t, patience, "all CronJobs have started their Jobs of this minute", func() (bool, string) {
		done := 0
		for _, minutes := range startedAt(t, client) {
			if minutes[now] {
				done++
			}
		}
		return done == n || time.Now().Unix()/60 > now, fmt.Sprint(done, " have")
	})
}

// createCronJobs makes so many, which are due at each full minute, and returns the first one after that, counted since
// 1970. Their Jobs run no pods.
func createCronJobs(t *testing.T, client kubernetes.Interface, n int) (first int64) {
	t.Helper()
	errs := make([]error, n)
	var g sync.WaitGroup
	for i := range n {
		g.Go(func() {
			j := workload.Job("", 1, 1, func(s *batchv1.JobSpec) { s.Suspend = new(true) })
			_, errs[i] = client.BatchV1().CronJobs("default").Create(context.WithoutCancel(t.Context()), &batchv1.CronJob{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("cron-", i)},
				Spec:       batchv1.CronJobSpec{Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: j.Spec}},
			}, metav1.CreateOptions{})
		})
	}
	g.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return time.Now().Unix()/60 + 1
}

// startedAt returns the minutes at which CronJobs have started Jobs, by their names.
func startedAt(t *testing.T, client kubernetes.Interface) map[string]map[int64]bool {
	t.Helper()
	l, err := client.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}

	started := map[string]map[int64]bool{}
	for _, j := range l.Items {
		at := strings.LastIndex(j.Name, "-")
		minute, err := strconv.ParseInt(j.Name[at+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		name := j.Name[:at]
		if started[name] == nil {
			started[name] = map[int64]bool{}
		}
		started[name][minute] = true
		scheduled := j.Annotations[batchv1.CronJobScheduledTimestampAnnotation]
		if scheduled != time.Unix(minute*60, 0).UTC().Format(time.RFC3339) {
			t.Errorf("job %s was scheduled at %s", j.Name, scheduled)
		}
	}
	return started
}

// statusAgrees reports whether each CronJob's status has its Jobs, and the time of the last.
func statusAgrees(t *testing.T, client kubernetes.Interface) (bool, string) {
	t.Helper()
	l, err := client.BatchV1().CronJobs("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	started := startedAt(t, client)
	for _, cj := range l.Items {
		active := map[int64]bool{}
		for _, ref := range cj.Status.Active {
			minute, _ := strconv.ParseInt(ref.Name[strings.LastIndex(ref.Name, "-")+1:], 10, 64)
			active[minute] = true
		}
		if len(active) != len(cj.Status.Active) || !maps.Equal(active, started[cj.Name]) {
			return false, fmt.Sprintf("%s: active %v, started %v", cj.Name, active, started[cj.Name])
		}
		last := slices.Max(slices.Collect(maps.Keys(active)))
		if cj.Status.LastScheduleTime == nil || cj.Status.LastScheduleTime.Unix() != last*60 {
			return false, fmt.Sprintf("%s: last scheduled at %v, started at %d", cj.Name, cj.Status.LastScheduleTime, last)
		}
	}
	return true, ""
}
