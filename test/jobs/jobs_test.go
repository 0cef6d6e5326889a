// Package jobs runs Jobs on a real cluster.
package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const namespace = "default"

// patience is for machines on which many tests run at once.
const patience = 3 * time.Minute

var controllers = []string{"serviceaccount-controller", "job-controller"}

// world is a cluster with jobs.
type world struct {
	t      *testing.T
	client kubernetes.Interface
}

func start(t *testing.T) (*cluster.Cluster, *windlass.Manager, *world) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	m := windlass.Start(t, c, windlass.Options{Controllers: controllers})
	w := &world{t, c.Client()}
	windlass.Account(t, w.client, namespace)
	return c, m, w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// create makes a job. The pods of a stuck one find no node, so that nothing happens to them but what the test does.
func (w *world) create(name string, stuck bool, change func(*batchv1.JobSpec)) {
	w.t.Helper()
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "main"}}},
	}}}
	if stuck {
		j.Spec.Template.Spec.NodeSelector = map[string]string{"nowhere": ""}
	}
	change(&j.Spec)
	_, err := w.client.BatchV1().Jobs(namespace).Create(w.t.Context(), j, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) patch(name, patch string) {
	w.t.Helper()
	_, err := w.client.BatchV1().Jobs(namespace).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.must(err)
}

// await waits until the job's status is as wanted.
func (w *world) await(name, what string, holds func(*batchv1.JobStatus) bool) *batchv1.Job {
	w.t.Helper()
	var job *batchv1.Job
	windlass.Eventually(w.t, patience, name+": "+what, func() (bool, string) {
		var err error
		job, err = w.client.BatchV1().Jobs(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		return err == nil && holds(&job.Status), fmt.Sprintf("%v %+v", err, job.Status)
	})
	return job
}

// reason is that of a true condition, empty where it isn't true.
func reason(s *batchv1.JobStatus, t batchv1.JobConditionType) string {
	for _, c := range s.Conditions {
		if c.Type == t && c.Status == corev1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

func (w *world) awaitComplete(name string) *batchv1.Job {
	w.t.Helper()
	return w.await(name, "complete", func(s *batchv1.JobStatus) bool { return reason(s, batchv1.JobComplete) != "" })
}

func (w *world) pods(job string) []corev1.Pod {
	w.t.Helper()
	l, err := w.client.CoreV1().Pods(namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	w.must(err)
	return l.Items
}

// awaitActive waits until the job has n active pods, and gives them.
func (w *world) awaitActive(job string, n int32) []corev1.Pod {
	w.t.Helper()
	w.await(job, fmt.Sprint(n, " active pods"), func(s *batchv1.JobStatus) bool { return s.Active == n })
	return slices.DeleteFunc(w.pods(job), func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	})
}

// end has a pod end with an exit code some time ago, and tells when that was.
func (w *world) end(p *corev1.Pod, code int, ago time.Duration, more string) time.Time {
	w.t.Helper()
	phase := corev1.PodFailed
	if code == 0 {
		phase = corev1.PodSucceeded
	}
	ended := time.Now().Add(-ago).Truncate(time.Second)
	at := ended.UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"status":{"phase":%q,"containerStatuses":[{"name":"main","image":"main","imageID":"x","state":{"terminated":{"exitCode":%d,"startedAt":%q,"finishedAt":%q}}}]%s}}`, phase, code, at, at, more)
	_, err := w.client.CoreV1().Pods(namespace).Patch(w.t.Context(), p.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	w.must(err)
	return ended
}

// expectCounted fails the test unless the finished job's numbers are these and no pod is kept any more.
func (w *world) expectCounted(job *batchv1.Job, succeeded, failed int32) {
	w.t.Helper()
	s := job.Status
	if u := s.UncountedTerminatedPods; s.Succeeded != succeeded || s.Failed != failed || s.Active != 0 || u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		w.t.Errorf("%s: status %+v, want %d succeeded and %d failed", job.Name, s, succeeded, failed)
	}
	w.expectReleased(job.Name)
}

func (w *world) expectReleased(job string) {
	w.t.Helper()
	for _, p := range w.pods(job) {
		if slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) {
			w.t.Errorf("%s: pod %s still has the finalizer; status %+v", job, p.Name, p.Status)
		}
	}
}

func to[T any](v T) *T { return &v }

func indexed(s *batchv1.JobSpec) { s.CompletionMode = to(batchv1.IndexedCompletion) }

// expectIndexes fails the test unless each index has had exactly one pod.
func (w *world) expectIndexes(job *batchv1.Job) {
	w.t.Helper()
	n := int(*job.Spec.Completions)
	if want := fmt.Sprintf("0-%d", n-1); job.Status.CompletedIndexes != want {
		w.t.Errorf("%s: completed indexes %q, want %q", job.Name, job.Status.CompletedIndexes, want)
	}
	seen := map[string]string{}
	for _, p := range w.pods(job.Name) {
		i := p.Annotations[batchv1.JobCompletionIndexAnnotation]
		if seen[i] != "" {
			w.t.Errorf("%s: %s and %s have the index %s", job.Name, seen[i], p.Name, i)
		}
		seen[i] = p.Name
		if p.Spec.Hostname != job.Name+"-"+i || p.Labels[batchv1.JobCompletionIndexAnnotation] != i || p.Spec.Containers[0].Env[0].Name != "JOB_COMPLETION_INDEX" {
			w.t.Errorf("%s: pod %s of index %s: host name %q, labels %v", job.Name, p.Name, i, p.Spec.Hostname, p.Labels)
		}
	}
	if len(seen) != n {
		w.t.Errorf("%s: %d pods, want %d", job.Name, len(seen), n)
	}
}

func (w *world) awaitEvent(job, reason string) {
	w.t.Helper()
	windlass.Eventually(w.t, time.Minute, "event "+reason, func() (bool, string) {
		l, err := w.client.CoreV1().Events(namespace).List(w.t.Context(), metav1.ListOptions{FieldSelector: "source=job-controller,involvedObject.name=" + job})
		w.must(err)
		var seen []string
		for _, e := range l.Items {
			seen = append(seen, e.Reason)
		}
		return slices.Contains(seen, reason), fmt.Sprint(seen)
	})
}

// What jobs go through, as the upstream service account with the bootstrap role alone.
func TestJobs(t *testing.T) {
	c, m, w := start(t)

	t.Log("a number of completions")
	w.create("five", false, func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = to(int32(5)), to(int32(2)) })
	five := w.awaitComplete("five")
	w.expectCounted(five, 5, 0)
	if n := len(w.pods("five")); n != 5 || five.Status.CompletionTime == nil || reason(&five.Status, batchv1.JobSuccessCriteriaMet) != "CompletionsReached" {
		t.Errorf("%d pods, status %+v", n, five.Status)
	}
	w.awaitEvent("five", "Completed")

	t.Log("indexes")
	w.create("ten", false, func(s *batchv1.JobSpec) { indexed(s); s.Completions, s.Parallelism = to(int32(10)), to(int32(4)) })
	ten := w.awaitComplete("ten")
	w.expectCounted(ten, 10, 0)
	w.expectIndexes(ten)

	t.Log("suspended from the start, resumed, suspended with pods, resumed")
	w.create("pause", true, func(s *batchv1.JobSpec) {
		s.Completions, s.Parallelism, s.Suspend = to(int32(3)), to(int32(3)), to(true)
	})
	s := w.await("pause", "suspended", func(s *batchv1.JobStatus) bool { return reason(s, batchv1.JobSuspended) == "JobSuspended" })
	if s.Status.StartTime != nil || len(w.pods("pause")) > 0 {
		t.Errorf("a suspended job has started: %+v", s.Status)
	}
	w.patch("pause", `{"spec":{"suspend":false}}`)
	if j := w.awaitActive("pause", 3); len(j) != 3 {
		t.Errorf("resumed: %d pods", len(j))
	}
	w.patch("pause", `{"spec":{"suspend":true}}`)
	w.await("pause", "suspended, no pods", func(s *batchv1.JobStatus) bool {
		return reason(s, batchv1.JobSuspended) != "" && s.Active == 0 && s.StartTime == nil && s.Terminating != nil && *s.Terminating == 0
	})
	if p := w.pods("pause"); len(p) > 0 {
		t.Errorf("suspended: %d pods", len(p))
	}
	w.patch("pause", `{"spec":{"suspend":false}}`)
	for _, p := range w.awaitActive("pause", 3) {
		w.end(&p, 0, 0, "")
	}
	w.expectCounted(w.awaitComplete("pause"), 3, 0)
	w.awaitEvent("pause", "Suspended")
	w.awaitEvent("pause", "Resumed")

	t.Log("failures, the second pod later than the first failure by its backoff, and too many of them")
	w.create("bad", true, func(s *batchv1.JobSpec) { s.BackoffLimit = to(int32(1)) })
	first := w.awaitActive("bad", 1)[0]
	failedAt := w.end(&first, 1, 7*time.Second, "")
	w.await("bad", "one failure", func(s *batchv1.JobStatus) bool { return s.Failed == 1 && s.Active == 0 })
	second := w.awaitActive("bad", 1)[0]
	// From when it was noticed on it would be 17 s at least.
	if d := second.CreationTimestamp.Sub(failedAt); d < 10*time.Second || d >= 17*time.Second {
		t.Errorf("the next pod came %v after the failure, want 10 s", d)
	}
	w.end(&second, 1, 0, "")
	bad := w.await("bad", "failed", func(s *batchv1.JobStatus) bool { return reason(s, batchv1.JobFailed) == "BackoffLimitExceeded" })
	w.expectCounted(bad, 0, 2)
	w.awaitEvent("bad", "BackoffLimitExceeded")

	t.Log("a failure policy: one failure ignored, one fails the job, whose other pod is deleted")
	w.create("policy", true, func(s *batchv1.JobSpec) {
		s.Completions, s.Parallelism, s.BackoffLimit = to(int32(2)), to(int32(2)), to(int32(0))
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
			{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}},
		}}
	})
	p := w.awaitActive("policy", 2)
	w.end(&p[0], 137, time.Minute, `,"conditions":[{"type":"DisruptionTarget","status":"True"}]`)
	windlass.Eventually(t, time.Minute, "a pod in place of the disrupted one", func() (bool, string) {
		all := w.pods("policy")
		return len(all) == 3, fmt.Sprint(len(all))
	})
	p = w.awaitActive("policy", 2)
	w.end(&p[0], 42, 0, "")
	j := w.await("policy", "failed", func(s *batchv1.JobStatus) bool { return reason(s, batchv1.JobFailed) == "PodFailurePolicy" })
	w.expectCounted(j, 0, 2)
	if want := fmt.Sprintf("Container main for pod default/%s failed with exit code 42 matching FailJob rule at index 1", p[0].Name); j.Status.Conditions[0].Message != want {
		t.Errorf("message %q, want %q", j.Status.Conditions[0].Message, want)
	}

	t.Log("a limit for each index, a success policy, a deadline")
	w.create("each", true, func(s *batchv1.JobSpec) {
		indexed(s)
		s.Completions, s.Parallelism, s.BackoffLimitPerIndex = to(int32(2)), to(int32(2)), to(int32(1))
	})
	of := func(job, index string, active int32) *corev1.Pod {
		t.Helper()
		l := w.awaitActive(job, active)
		i := slices.IndexFunc(l, func(p corev1.Pod) bool { return p.Annotations[batchv1.JobCompletionIndexAnnotation] == index })
		if i < 0 {
			t.Fatalf("%s: no active pod of index %s", job, index)
		}
		return &l[i]
	}
	w.end(of("each", "0", 2), 1, 8*time.Second, "")
	w.await("each", "kept pod", func(s *batchv1.JobStatus) bool { return s.Active == 1 && s.Failed == 0 })
	again := of("each", "0", 2)
	if n := again.Annotations[batchv1.JobIndexFailureCountAnnotation]; n != "1" {
		t.Errorf("the index has failed %q times, want 1", n)
	}
	w.end(again, 1, 0, "")
	w.end(of("each", "1", 1), 0, 0, "")
	j = w.await("each", "failed", func(s *batchv1.JobStatus) bool { return reason(s, batchv1.JobFailed) == "FailedIndexes" })
	if w.expectCounted(j, 1, 2); *j.Status.FailedIndexes != "0" || j.Status.CompletedIndexes != "1" {
		t.Errorf("failed %q, completed %q", *j.Status.FailedIndexes, j.Status.CompletedIndexes)
	}
	w.create("leader", true, func(s *batchv1.JobSpec) {
		indexed(s)
		s.Completions, s.Parallelism = to(int32(3)), to(int32(3))
		s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: to("0")}}}
	})
	w.end(of("leader", "0", 3), 0, 0, "")
	w.expectCounted(w.awaitComplete("leader"), 1, 0)
	w.create("late", true, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = to(int64(2)) })
	j = w.await("late", "failed", func(s *batchv1.JobStatus) bool { return reason(s, batchv1.JobFailed) == "DeadlineExceeded" })
	w.expectCounted(j, 0, 1)

	t.Log("someone else's job")
	w.create("theirs", false, func(s *batchv1.JobSpec) { s.ManagedBy = to("example.com/other") })
	windlass.Eventually(t, time.Minute, "counted", func() (bool, string) {
		n := m.Counted(t, "job_controller_jobs_by_external_controller_total")
		return n == 1, fmt.Sprint(n)
	})
	if n := len(w.pods("theirs")); n > 0 {
		t.Errorf("someone else's job has got %d pods", n)
	}
	for metric, want := range map[string]float64{
		`job_controller_jobs_finished_total completion_mode=NonIndexed result=succeeded`:     2,
		`job_controller_jobs_finished_total completion_mode=Indexed result=succeeded`:        2,
		`job_controller_jobs_finished_total result=failed`:                                   4,
		`job_controller_job_pods_finished_total completion_mode=NonIndexed result=succeeded`: 8,
		`job_controller_job_pods_finished_total completion_mode=Indexed result=succeeded`:    12,
		`job_controller_job_pods_finished_total result=failed`:                               7,
		`job_controller_job_finished_indexes_total status=failed backoffLimit=perIndex`:      1,
		`job_controller_pod_failures_handled_by_failure_policy_total action=Ignore`:          1,
		`job_controller_pod_failures_handled_by_failure_policy_total action=FailJob`:         1,
	} {
		var labels []string
		f := strings.Fields(metric)
		for _, l := range f[1:] {
			name, value, _ := strings.Cut(l, "=")
			labels = append(labels, name, value)
		}
		m.AwaitCount(t, want, f[0], labels...)
	}
	if durations, syncs := m.Count(t, "job_controller_job_sync_duration_seconds"), m.Count(t, "job_controller_job_syncs_total"); durations == 0 || durations > syncs {
		t.Errorf("%v durations of %v syncs", durations, syncs)
	}
	windlass.Eventually(t, time.Minute, "all pods that have ended lose the finalizer", func() (bool, string) {
		added, lost := m.Count(t, "job_controller_terminated_pods_tracking_finalizer_total", "event", "add"), m.Count(t, "job_controller_terminated_pods_tracking_finalizer_total", "event", "delete")
		return added > 0 && added == lost, fmt.Sprint(added, lost)
	})
	windlass.ExpectRoles(t, c)
}

// A job that is deleted and leaves its pods behind: they lose the finalizer, and so can go.
func TestOrphans(t *testing.T) {
	c, _, w := start(t)
	c.Native(t, []string{"garbage-collector-controller"})
	w.create("left", true, func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = to(int32(3)), to(int32(3)) })
	w.awaitActive("left", 3)
	w.must(w.client.BatchV1().Jobs(namespace).Delete(t.Context(), "left", metav1.DeleteOptions{PropagationPolicy: to(metav1.DeletePropagationOrphan)}))
	windlass.Eventually(t, time.Minute, "pods of nobody without the finalizer", func() (bool, string) {
		all := w.pods("left")
		free := 0
		for _, p := range all {
			if len(p.OwnerReferences) == 0 && len(p.Finalizers) == 0 {
				free++
			}
		}
		return free == 3, fmt.Sprint(free, " of ", len(all))
	})
	// One that appears later, as if the job had been deleted while nobody looked.
	stray, err := w.client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stray", Finalizers: []string{batchv1.JobTrackingFinalizer}},
		Spec:       corev1.PodSpec{NodeSelector: map[string]string{"nowhere": ""}, Containers: []corev1.Container{{Name: "main", Image: "main"}}},
	}, metav1.CreateOptions{})
	w.must(err)
	windlass.Eventually(t, time.Minute, "a stray pod loses the finalizer", func() (bool, string) {
		p, err := w.client.CoreV1().Pods(namespace).Get(t.Context(), stray.Name, metav1.GetOptions{})
		return err == nil && len(p.Finalizers) == 0, fmt.Sprint(err)
	})
	// And a job that goes with all its pods.
	w.create("gone", true, func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = to(int32(3)), to(int32(3)) })
	w.awaitActive("gone", 3)
	w.must(w.client.BatchV1().Jobs(namespace).Delete(t.Context(), "gone", metav1.DeleteOptions{PropagationPolicy: to(metav1.DeletePropagationBackground)}))
	windlass.Eventually(t, time.Minute, "job and pods go", func() (bool, string) {
		_, err := w.client.BatchV1().Jobs(namespace).Get(t.Context(), "gone", metav1.GetOptions{})
		n := len(w.pods("gone"))
		return apierrors.IsNotFound(err) && n == 0, fmt.Sprint(err, n)
	})
}

// The manager is replaced again and again while a job runs: each index is counted once and has had one pod.
func TestRestarts(t *testing.T) {
	c, m, w := start(t)
	const n = 200
	begin := time.Now()
	w.create("many", false, func(s *batchv1.JobSpec) { indexed(s); s.Completions, s.Parallelism = to(int32(n)), to(int32(40)) })
	for _, at := range []int32{1, 30, 80, 120, 170} {
		w.await("many", fmt.Sprint(at, " have succeeded"), func(s *batchv1.JobStatus) bool {
			if s.Succeeded > 0 && s.CompletedIndexes == "" {
				t.Errorf("%d indexes have succeeded, none is named", s.Succeeded)
			}
			return s.Succeeded >= at
		})
		m.Stop(t)
		m = windlass.Start(t, c, windlass.Options{Controllers: controllers})
	}
	many := w.awaitComplete("many")
	t.Logf("%d pods in %v with five restarts", n, time.Since(begin))
	w.expectCounted(many, n, 0)
	w.expectIndexes(many)

	w.create("plain", false, func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = to(int32(n)), to(int32(40)) })
	for _, at := range []int32{1, 60, 140} {
		w.await("plain", fmt.Sprint(at, " have succeeded"), func(s *batchv1.JobStatus) bool { return s.Succeeded >= at })
		m.Stop(t)
		m = windlass.Start(t, c, windlass.Options{Controllers: controllers})
	}
	plain := w.awaitComplete("plain")
	w.expectCounted(plain, n, 0)
	if p := w.pods("plain"); len(p) != n {
		t.Errorf("%d pods, want %d", len(p), n)
	}
	begin = time.Now()
	w.create("undisturbed", false, func(s *batchv1.JobSpec) { indexed(s); s.Completions, s.Parallelism = to(int32(n)), to(int32(40)) })
	w.expectIndexes(w.awaitComplete("undisturbed"))
	t.Logf("%d pods in %v undisturbed", n, time.Since(begin))
}
