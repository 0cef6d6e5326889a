package metrics

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const (
	namespace = "work"
	patience  = 2 * time.Minute
)

// world is one cluster with work for every controller.
type world struct {
	testing.TB
	client kubernetes.Interface
	usage  *metricsapi.Server
}

// work gives each controller something to do, and returns when all of it is done.
func work(t testing.TB, c *cluster.Cluster) {
	w := &world{t, c.Client(), metricsapi.Serve(t, c.RESTConfig())}
	for _, name := range []string{namespace, "going"} {
		_, err := w.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		w.must(err)
		windlass.Account(t, w.client, name)
	}
	stray := w.stray(c)
	w.pods()
	w.jobs()
	w.autoscale()
	w.collect()
	stray() // before something that takes seconds: what is counted of it is served some moments later
	w.must(w.client.CoreV1().Namespaces().Delete(t.Context(), "going", metav1.DeleteOptions{}))
	windlass.Eventually(t, patience, "namespace going is gone", func() (bool, string) {
		_, err := w.client.CoreV1().Namespaces().Get(t.Context(), "going", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// stray makes a pod that nobody schedules and deletes it; wait waits until the pod garbage collector has marked it and deleted it, too.
func (w *world) stray(c *cluster.Cluster) (wait func()) {
	pods := w.client.CoreV1().Pods(namespace)
	windlass.Eventually(w, patience, "the pod to be admitted", func() (bool, string) {
		_, err := pods.Create(w.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Finalizers: []string{"example.com/keep"}},
			Spec: corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "main"}}}}, metav1.CreateOptions{})
		return err == nil, fmt.Sprint(err)
	})
	w.must(pods.Delete(w.Context(), "stray", metav1.DeleteOptions{}))
	return func() {
		windlass.Eventually(w, patience, "the stray pod is marked", func() (bool, string) {
			p, err := pods.Get(w.Context(), "stray", metav1.GetOptions{})
			w.must(err)
			return p.Status.Phase == corev1.PodFailed, string(p.Status.Phase)
		})
		windlass.Eventually(w, patience, "the stray pod is deleted", func() (bool, string) { // gone without that it would be counted otherwise
			all := c.Audit(w, cluster.Filter{Verbs: []string{"delete"}, Resources: []string{"pods"}, Namespace: namespace, Users: []string{"system:serviceaccount:kube-system:pod-garbage-collector"}})
			return len(all) > 0, ""
		})
		_, err := pods.Patch(w.Context(), "stray", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		w.must(err)
	}
}

// pods is for the controllers of pods that run on, and of services.
func (w *world) pods() {
	web := workload.Web{Client: w.client, Namespace: namespace, Name: "web"}
	converge := func(n int32, image string) {
		w.Helper()
		windlass.Eventually(w, patience, fmt.Sprint(n, " replicas of ", image), func() (bool, string) {
			done, seen, err := web.Converged(w.Context(), n, image)
			return done, fmt.Sprint(seen, err)
		})
	}
	w.must(web.Create(w.Context(), 3))
	near := workload.Service("web")
	near.Name, near.Spec.TrafficDistribution = "near", new(corev1.ServiceTrafficDistributionPreferSameZone)
	_, err := w.client.CoreV1().Services(namespace).Create(w.Context(), near, metav1.CreateOptions{})
	w.must(err)

	sets := w.client.AppsV1().StatefulSets(namespace)
	_, err = w.client.CoreV1().Services(namespace).Create(w.Context(), workload.Service("db"), metav1.CreateOptions{})
	w.must(err)
	_, err = sets.Create(w.Context(), workload.StatefulSet("db", 2, func(s *appsv1.StatefulSetSpec) {
		s.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: new(intstr.FromInt32(1))}}
	}), metav1.CreateOptions{})
	w.must(err)
	daemons := w.client.AppsV1().DaemonSets(namespace)
	_, err = daemons.Create(w.Context(), workload.DaemonSet("agent"), metav1.CreateOptions{})
	w.must(err)

	converge(3, "web:1")
	updated := func(image string) {
		w.Helper()
		windlass.Eventually(w, patience, "db runs "+image, func() (bool, string) {
			s, err := sets.Get(w.Context(), "db", metav1.GetOptions{})
			w.must(err)
			return s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == 2 && s.Status.AvailableReplicas == 2 && s.Status.CurrentRevision == s.Status.UpdateRevision, fmt.Sprintf("%+v", s.Status)
		})
	}
	updated("main:1")
	w.must(web.Scale(w.Context(), 1))
	_, err = sets.Patch(w.Context(), "db", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"main:2"}]`), metav1.PatchOptions{})
	w.must(err)
	_, err = w.client.CoreV1().Nodes().Patch(w.Context(), "node-0", types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"yes"}}}`), metav1.PatchOptions{})
	w.must(err)
	converge(1, "web:1")
	updated("main:2")
	windlass.Eventually(w, patience, "a daemon runs on each node", func() (bool, string) {
		s, err := daemons.Get(w.Context(), "agent", metav1.GetOptions{})
		w.must(err)
		return s.Status.NumberAvailable == 3, fmt.Sprintf("%+v", s.Status)
	})
}

// jobs end in all ways that have a name.
func (w *world) jobs() {
	jobs := w.client.BatchV1().Jobs(namespace)
	create := func(name string, completions int32, change ...func(*batchv1.JobSpec)) {
		w.Helper()
		_, err := jobs.Create(w.Context(), workload.Job(name, completions, completions, change...), metav1.CreateOptions{})
		w.must(err)
	}
	ends := map[string]string{ // by job
		"done": batchv1.JobReasonCompletionsReached, "indexed": batchv1.JobReasonCompletionsReached, "again": batchv1.JobReasonCompletionsReached, "failing": batchv1.JobReasonBackoffLimitExceeded,
		"each": batchv1.JobReasonFailedIndexes, "policy": batchv1.JobReasonPodFailurePolicy, "late": batchv1.JobReasonDeadlineExceeded,
	}
	create("done", 2)
	create("indexed", 2, workload.Indexed)
	create("failing", 1, workload.Stuck, func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(0)) })
	create("again", 1, workload.Stuck)
	create("each", 2, workload.Stuck, workload.Indexed, func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = new(int32(0)) })
	create("policy", 1, workload.Stuck, func(s *batchv1.JobSpec) {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{3}}}}}
	})
	create("late", 1, workload.Stuck, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(1)) })
	create("elsewhere", 1, func(s *batchv1.JobSpec) { s.ManagedBy = new("kueue.x-k8s.io/multikueue") })
	w.end("failing", 0, 1)
	w.end("again", 0, 1)
	w.end("again", 0, 0)
	w.end("each", 0, 1)
	w.end("each", 1, 0)
	w.end("policy", 0, 3)
	windlass.Eventually(w, patience, "all jobs have ended", func() (bool, string) {
		all, err := jobs.List(w.Context(), metav1.ListOptions{})
		w.must(err)
		left := fmt.Sprint(ends)
		for _, j := range all.Items {
			for _, c := range j.Status.Conditions {
				if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && (c.Type == batchv1.JobComplete || c.Reason == ends[j.Name]) {
					delete(ends, j.Name)
				}
			}
		}
		return len(ends) == 0, left
	})
}

// end has the job's pod of an index that runs, or its only one, end with an exit code, a while ago.
func (w *world) end(job string, index, code int) {
	w.Helper()
	pods := w.client.CoreV1().Pods(namespace)
	var p *corev1.Pod
	windlass.Eventually(w, patience, "a pod of job "+job, func() (bool, string) {
		l, err := pods.List(w.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		w.must(err)
		i := slices.IndexFunc(l.Items, func(p corev1.Pod) bool {
			at, indexed := p.Annotations[batchv1.JobCompletionIndexAnnotation]
			return p.Status.Phase == corev1.PodPending && (!indexed || at == fmt.Sprint(index))
		})
		if i >= 0 {
			p = &l.Items[i]
		}
		return i >= 0, fmt.Sprint(len(l.Items), " pods")
	})
	phase := corev1.PodFailed
	if code == 0 {
		phase = corev1.PodSucceeded
	}
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) // a failed pod is replaced after a pause from its end on
	_, err := pods.Patch(w.Context(), p.Name, types.StrategicMergePatchType, fmt.Appendf(nil,
		`{"status":{"phase":%q,"containerStatuses":[{"name":"main","image":"main","imageID":"x","state":{"terminated":{"exitCode":%d,"startedAt":%q,"finishedAt":%q}}}]}}`, phase, code, at, at),
		metav1.PatchOptions{}, "status")
	w.must(err)
}

// autoscale has one Deployment scaled up, and leaves one that the metrics say nothing of.
func (w *world) autoscale() {
	w.usage.Use("busy", "cpu", "150m") // and 10m of the sidecar that isn't there
	w.usage.Say("jobs?", "30")
	for _, name := range []string{"busy", "unknown"} {
		_, err := w.client.AppsV1().Deployments(namespace).Create(w.Context(), workload.Deployment(name, 1), metav1.CreateOptions{})
		w.must(err)
		h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}, MaxReplicas: 3,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "hits"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("1"))}}}},
		}}
		if name == "busy" {
			h.Spec.Metrics = []autoscalingv2.MetricSpec{
				{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("50m"))}}},
				{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "jobs"},
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: new(resource.MustParse("30"))}}},
			}
		}
		_, err = w.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(w.Context(), h, metav1.CreateOptions{})
		w.must(err)
	}
	windlass.Eventually(w, patience, "one is scaled, one isn't", func() (bool, string) {
		busy, err := w.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(w.Context(), "busy", metav1.GetOptions{})
		w.must(err)
		unknown, err := w.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(w.Context(), "unknown", metav1.GetOptions{})
		w.must(err)
		return busy.Status.CurrentReplicas == 3 && busy.Status.DesiredReplicas == 3 && len(unknown.Status.Conditions) > 1, fmt.Sprintf("%+v\n%+v", busy.Status, unknown.Status)
	})
}

// collect has the garbage collector delete in the background and in the foreground, and leave an orphan.
func (w *world) collect() {
	maps := w.client.CoreV1().ConfigMaps(namespace)
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		name := "owner-" + string(policy[0]+'a'-'A')
		owner, err := maps.Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		w.must(err)
		dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-dependent", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: owner.UID, BlockOwnerDeletion: new(true)}}}}
		_, err = maps.Create(w.Context(), dependent, metav1.CreateOptions{})
		w.must(err)
		w.must(maps.Delete(w.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
		windlass.Eventually(w, patience, name+" is gone", func() (bool, string) { return w.collected(maps.Get, name, policy) })
	}
}

func (w *world) collected(get func(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error), name string, policy metav1.DeletionPropagation) (bool, string) {
	_, owner := get(w.Context(), name, metav1.GetOptions{})
	dependent, err := get(w.Context(), name+"-dependent", metav1.GetOptions{})
	if policy == metav1.DeletePropagationOrphan {
		return apierrors.IsNotFound(owner) && err == nil && len(dependent.OwnerReferences) == 0, fmt.Sprint(owner, err)
	}
	return apierrors.IsNotFound(owner) && apierrors.IsNotFound(err), fmt.Sprint(owner, err)
}
