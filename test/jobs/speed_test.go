package jobs

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const account = "system:serviceaccount:kube-system:job-controller"

// A job of many pods takes one create and one patch a pod and few writes of its status, as under the native controller on the same cluster at the same rate of requests. The native one's patches are told, not judged: it repeats some when its cache is late.
func TestSpeed(t *testing.T) {
	c, m, w := start(t)
	const pods = 100
	run := func(name string) (took time.Duration, writes map[string]int) {
		begin := time.Now()
		w.create(name, false, func(s *batchv1.JobSpec) { indexed(s); s.Completions, s.Parallelism = to(int32(pods)), to(int32(25)) })
		j := w.awaitComplete(name)
		took = time.Since(begin)
		w.expectIndexes(j)
		writes = map[string]int{}
		for _, e := range c.Audit(t, cluster.Filter{Verbs: cluster.Writes, Namespace: namespace, Since: begin, Users: []string{account}}) {
			writes[e.Verb+" "+e.Resource]++
		}
		t.Logf("%s: %v, %v", name, took.Round(time.Millisecond), writes)
		return took, writes
	}
	ours, writes := run("ours")
	for _, write := range []string{"create pods", "patch pods"} {
		if writes[write] != pods {
			t.Errorf("%d times %s, want %d", writes[write], write, pods)
		}
	}
	if syncs := m.Count(t, "windlass_snapshot_bytes_total", "controller", "job-controller"); syncs > 0 {
		t.Logf("%.0f bytes in %v syncs of the job", syncs, m.Count(t, "windlass_sync_duration_seconds", "controller", "job-controller"))
	}
	m.Stop(t)
	c.Native(t, []string{"job-controller"})
	windlass.Eventually(t, time.Minute, "the native controller runs", func() (bool, string) {
		s, err := w.client.BatchV1().Jobs(namespace).Get(t.Context(), "probe", metav1.GetOptions{})
		if err != nil {
			w.create("probe", false, func(*batchv1.JobSpec) {})
			return false, err.Error()
		}
		return reason(&s.Status, batchv1.JobComplete) != "", ""
	})
	theirs, nativeWrites := run("native")
	// How long it takes is for people to compare: machines that run other tests at the same time make either one slow.
	// The longer it takes, the more statuses there are; one for each pod is too many for anybody.
	if statuses, native := writes["update jobs/status"], nativeWrites["update jobs/status"]; statuses > max(2*native+10, pods/2) {
		t.Errorf("%v with %d statuses, native %v with %d", ours, statuses, theirs, native)
	}
}
