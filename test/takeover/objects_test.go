package takeover

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/workload"
)

const (
	namespace = "default"
	nodes     = 3
)

// hard are sets, daemon sets and jobs in the midst of their lives: what is to be done about them only a controller knows that has read their histories and counted their pods.
type hard struct{ client kubernetes.Interface }

// create makes them and brings them to where they rest.
func (h hard) create(t *testing.T) {
	t.Helper()
	apps, jobs := h.client.AppsV1(), h.client.BatchV1().Jobs(namespace)
	two, yes, none := int32(2), true, int32(0)
	for _, s := range []*appsv1.StatefulSet{
		workload.StatefulSet("ordered", 3),
		workload.StatefulSet("claiming", 2, workload.Claiming, func(s *appsv1.StatefulSetSpec) { s.PodManagementPolicy = appsv1.ParallelPodManagement }),
		workload.StatefulSet("partitioned", 4, func(s *appsv1.StatefulSetSpec) {
			s.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &two}
		}),
	} {
		_, err := apps.StatefulSets(namespace).Create(t.Context(), s, metav1.CreateOptions{})
		do(t, err)
	}
	for _, s := range []*appsv1.DaemonSet{
		workload.DaemonSet("rolling"),
		workload.DaemonSet("on-delete", func(s *appsv1.DaemonSetSpec) { s.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType }),
	} {
		_, err := apps.DaemonSets(namespace).Create(t.Context(), s, metav1.CreateOptions{})
		do(t, err)
	}
	for _, j := range []*batchv1.Job{
		workload.Job("finished", 3, 2),
		workload.Job("failed", 3, 2, workload.Stuck, func(s *batchv1.JobSpec) { s.BackoffLimit = &none }),
		workload.Job("running", 5, 3, workload.Stuck),
		workload.Job("indexed", 6, 3, workload.Stuck, workload.Indexed),
		workload.Job("suspended", 3, 3, workload.Stuck, func(s *batchv1.JobSpec) { s.Suspend = &yes }),
	} {
		_, err := jobs.Create(t.Context(), j, metav1.CreateOptions{})
		do(t, err)
	}
	h.sets(t, "ordered", 3, 3, 3)
	h.sets(t, "claiming", 2, 2, 0) // nobody makes volumes here, so its pods wait
	h.sets(t, "partitioned", 4, 4, 4)
	h.daemons(t, "rolling", nodes)
	h.daemons(t, "on-delete", nodes)
	h.image(t, "statefulsets", "ordered", "main:2")
	h.image(t, "statefulsets", "partitioned", "main:2")
	h.image(t, "daemonsets", "rolling", "main:2")
	h.image(t, "daemonsets", "on-delete", "main:2") // until somebody deletes its pods they are those of main:1

	h.end(t, "failed", 2, corev1.PodFailed)
	h.end(t, "running", 3, corev1.PodSucceeded)
	h.end(t, "indexed", 3, corev1.PodSucceeded)
	h.rest(t)
	h.jobs(t, "finished", batchv1.JobComplete, 0, 3)
	h.jobs(t, "failed", batchv1.JobFailed, 0, 0)
	h.jobs(t, "suspended", batchv1.JobSuspended, 0, 0)
}

// rest waits until all that can change has changed, and fails the test where something else has.
func (h hard) rest(t *testing.T) {
	t.Helper()
	h.sets(t, "ordered", 3, 3, 3)
	h.sets(t, "partitioned", 4, 2, 4)
	h.daemons(t, "rolling", nodes)
	h.daemons(t, "on-delete", 0)
	h.jobs(t, "running", "", 3, 1)
	h.jobs(t, "indexed", "", 3, 1)
}

// goOn has whoever runs now do what goes on from what the other one has left.
func (h hard) goOn(t *testing.T, image string) {
	t.Helper()
	h.image(t, "statefulsets", "ordered", image)
	h.image(t, "statefulsets", "partitioned", image)
	h.image(t, "daemonsets", "rolling", image)
	h.rest(t)
	revisions, err := h.client.AppsV1().ControllerRevisions(namespace).List(t.Context(), metav1.ListOptions{})
	do(t, err)
	// Three of each that was rolled out, two and one of the others: each manager finds the other's.
	if n := len(revisions.Items); n != 3*3+2+1 {
		t.Errorf("with %s there are %d revisions, want 12", image, n)
	}
	_, err = h.client.BatchV1().Jobs(namespace).Patch(t.Context(), "suspended", types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	do(t, err)
	h.jobs(t, "suspended", "", 3, 0)
	_, err = h.client.BatchV1().Jobs(namespace).Patch(t.Context(), "suspended", types.MergePatchType, []byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{})
	do(t, err)
	h.jobs(t, "suspended", batchv1.JobSuspended, 0, 0)
}

// finish lets the jobs come to their ends.
func (h hard) finish(t *testing.T) {
	t.Helper()
	// In all they lack four and five pods, three of which are there at a time: each that is there ends, then there are others.
	for _, left := range []int{3, 3, 2, 1} {
		h.end(t, "running", left, corev1.PodSucceeded)
	}
	for _, left := range []int{3, 3, 3, 2, 1} {
		h.end(t, "indexed", left, corev1.PodSucceeded)
	}
	h.jobs(t, "running", batchv1.JobComplete, 0, 5)
	h.jobs(t, "indexed", batchv1.JobComplete, 0, 6)
}

func (h hard) image(t *testing.T, resource, name, image string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
	do(t, h.client.AppsV1().RESTClient().Patch(types.StrategicMergePatchType).Namespace(namespace).Resource(resource).Name(name).Body(patch).Do(t.Context()).Error())
}

// sets waits until a set has so many pods, so many of them of the current template and available.
func (h hard) sets(t *testing.T, name string, replicas, updated, available int32) {
	t.Helper()
	eventually(t, "set "+name, func() (bool, string) {
		s, err := h.client.AppsV1().StatefulSets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		x := s.Status
		return x.ObservedGeneration == s.Generation && x.Replicas == replicas && x.UpdatedReplicas == updated && x.AvailableReplicas == available, fmt.Sprintf("%+v", x)
	})
}

// daemons waits until a daemon set has an available pod on each node, so many of them of the current template.
func (h hard) daemons(t *testing.T, name string, updated int32) {
	t.Helper()
	eventually(t, "daemon set "+name, func() (bool, string) {
		s, err := h.client.AppsV1().DaemonSets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		x := s.Status
		return x.ObservedGeneration == s.Generation && x.NumberAvailable == nodes && x.UpdatedNumberScheduled == updated, fmt.Sprintf("%+v", x)
	})
}

// jobs waits until a job has so many active pods and completions, and the condition if one is named.
func (h hard) jobs(t *testing.T, name string, condition batchv1.JobConditionType, active, succeeded int32) {
	t.Helper()
	eventually(t, "job "+name, func() (bool, string) {
		j, err := h.client.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		holds := condition == ""
		for _, c := range j.Status.Conditions {
			holds = holds || c.Type == condition && c.Status == corev1.ConditionTrue
		}
		return holds && j.Status.Active == active && j.Status.Succeeded == succeeded, fmt.Sprintf("%+v", j.Status)
	})
}

// end waits until a job has at least so many active pods, and has one of them end.
func (h hard) end(t *testing.T, job string, active int, phase corev1.PodPhase) {
	t.Helper()
	var name string
	eventually(t, "active pods of job "+job, func() (bool, string) {
		l, err := h.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		if err != nil {
			return false, err.Error()
		}
		n := 0
		for _, p := range l.Items {
			if p.Status.Phase == corev1.PodPending && p.DeletionTimestamp == nil {
				n, name = n+1, p.Name
			}
		}
		return n >= active, fmt.Sprint(n)
	})
	_, err := h.client.CoreV1().Pods(namespace).Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"status":{"phase":%q}}`, phase), metav1.PatchOptions{}, "status")
	do(t, err)
}
