package scale

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const autoscaling = "horizontal-pod-autoscaler-controller"

// BenchmarkFiveHundred is the time that 500 autoscalers, each with a Deployment of its own of one pod or two, take to
// see their metrics once, and, when all pods use twice as much from one moment to the next, to double their
// Deployments: under either manager, with the same rate of requests, period and number of workers. Run it with
// -benchtime 1x.
//
// Either manager is a process of its own, whose processor time is told: the test serves the metrics, and watches.
func BenchmarkFiveHundred(b *testing.B) {
	const n = 500
	c := cluster.Start(b, cluster.Options{Nodes: 10, Audit: true})
	client := c.Client()
	_, err := client.CoreV1().ServiceAccounts(namespace).Create(b.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	checkError(b, err)
	metrics := metricsapi.Serve(b, c.RESTConfig())
	use := func(cpu string) {
		for i := range n {
			metrics.Use(targetName(i), "cpu", cpu)
		}
	}
	following := informers.NewSharedInformerFactory(client, 0)
	deployments, autoscalers := following.Apps().V1().Deployments().Lister().Deployments(namespace),
		following.Autoscaling().V2().HorizontalPodAutoscalers().Lister().HorizontalPodAutoscalers(namespace)
	pods := following.Core().V1().Pods().Lister().Pods(namespace)
	following.Start(b.Context().Done())
	b.Cleanup(following.Shutdown)

	runParallel(b, n, func(ctx context.Context, i int) error {
		return createTarget(ctx, client, targetName(i),
			replicas(i))
	})
	cluster.Eventually(b, 2*time.Minute, "the pods run", func() (bool, string) {
		running := 0
		list, err := pods.List(labels.Everything())
		checkError(b, err)
		for _, p := range list {
			if p.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == n*3/2, fmt.Sprint(running)
	})
	// await waits until all autoscalers want their Deployments to have so many times the replicas of their beginning, and
	// they have.
	await := func(b *testing.B, what string, times int32) {
		cluster.Eventually(b, 2*time.Minute, what, func() (bool, string) {
			done := 0
			for i := range n {
				d, err := deployments.Get(targetName(i))
				h, err2 := autoscalers.Get(targetName(i))
				if err == nil && err2 == nil && *d.Spec.Replicas == times*replicas(i) &&
					h.Status.DesiredReplicas == times*replicas(i) && len(h.Status.CurrentMetrics) > 0 {
					done++
				}
			}
			return done == n, fmt.Sprint(done)
		})
	}
	all := client.AutoscalingV2().HorizontalPodAutoscalers(namespace)
	run := func(b *testing.B, cpu func() time.Duration) {
		_, err := all.Create(b.Context(), autoscaler("probe"), metav1.CreateOptions{}) // there is no such Deployment
		checkError(b, err)
		cluster.Eventually(b, time.Minute, "the manager works", func() (bool, string) {
			h, err := autoscalers.Get("probe")
			return err == nil && len(h.Status.Conditions) > 0, ""
		})
		checkError(b, all.Delete(b.Context(), "probe", metav1.DeleteOptions{}))
		for b.Loop() {
			use("40m") // the other container uses 10m
			runParallel(b, n, func(ctx context.Context, i int) error {
				_, err := client.AppsV1().Deployments(namespace).Patch(ctx, targetName(i), "application/merge-patch+json",
					fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas(i)), metav1.PatchOptions{})
				return err
			})
			begin, idle := time.Now(), cpu()
			runParallel(b, n, func(ctx context.Context, i int) error {
				_, err := all.Create(ctx, autoscaler(targetName(i)), metav1.CreateOptions{})
				return err
			})
			await(b, "all have seen their metrics", 1)
			b.ReportMetric(time.Since(begin).Seconds(), "s/first")
			b.ReportMetric((cpu() - idle).Seconds(), "cpu-s/first")
			began, asked, used := time.Now(), metrics.Requests(), cpu()
			use("90m")
			await(b, "all are doubled", 2)
			took := time.Since(began)
			b.ReportMetric(took.Seconds(), "s/scale-up")
			b.ReportMetric((cpu() - used).Seconds(), "cpu-s/scale-up")
			b.ReportMetric(float64(metrics.Requests()-asked), "asked-metrics")
			calls := map[string]float64{"get": 0, "list": 0, "create": 0, "update": 0, "patch": 0}
			for _, e := range c.Audit(b, cluster.Filter{Users: []string{account("horizontal-pod-autoscaler")}, Since: began}) {
				if !e.Time.After(began.Add(took)) { // the log is long to read, and the autoscalers go on looking
					calls[e.Verb]++
				}
			}
			for verb, n := range calls {
				b.ReportMetric(n, verb)
			}
			runParallel(b, n, func(ctx context.Context, i int) error {
				return all.Delete(ctx, targetName(i), metav1.DeleteOptions{})
			})
			cluster.Eventually(b, time.Minute, "no autoscalers", func() (bool, string) {
				list, err := autoscalers.List(labels.Everything())
				return err == nil && len(list) == 0, fmt.Sprint(len(list), err)
			})
		}
	}
	b.Run("windlass", func(b *testing.B) {
		m := windlass.SpawnWith(b, c,
			"plugins: [{name: horizontalpodautoscaler, settings: {horizontal-pod-autoscaler-sync-period: "+"1s"+"}}]\n",
			autoscaling)
		run(b, func() time.Duration { return cluster.CPU(b, m.PID) })
		windlass.ReportSyncs(b, m, autoscaling)
		m.Stop(b)
	})
	b.Run("native", func(b *testing.B) {
		stop := c.Native(b, []string{autoscaling}, "--horizontal-pod-autoscaler-sync-period="+"1s",
			"--concurrent-horizontal-pod-autoscaler-syncs=5")
		run(b, func() time.Duration { return c.NativeCPU(b) })
		stop()
	})
}

func targetName(i int) string { return fmt.Sprint("app-", i) }

func replicas(i int) int32 { return 1 + int32(i%2) }

// createTarget makes a Deployment, and its pods, which nobody else makes here.
func createTarget(ctx context.Context, client kubernetes.Interface, name string, replicas int32) error {
	labels := map[string]string{"app": name}
	cpu := func(quantity string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity)}}
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "main", Image: "main", Resources: cpu("90m")},
			{Name: "side", Image: "side", Resources: cpu("10m")},
		}}}
	_, err := client.AppsV1().Deployments(namespace).Create(ctx, workload.Deployment(name, replicas,
		func(d *appsv1.DeploymentSpec) { d.Template = template }), metav1.CreateOptions{})
	for i := 0; i < int(replicas) && err == nil; i++ {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(name, "-", i), Labels: labels}, Spec: template.Spec}
		_, err = client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{})
	}
	return err
}

// autoscaler wants half of what the pods request to be used.
func autoscaler(name string) *autoscalingv2.HorizontalPodAutoscaler {
	half := int32(50)
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MaxReplicas:    10,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
						AverageUtilization: &half}}}},
		}}
}

// runParallel does something n times, some at once.
func runParallel(b *testing.B, n int, do func(ctx context.Context, i int) error) {
	b.Helper()
	const atOnce = 16
	errs := make([]error, atOnce)
	var g sync.WaitGroup
	for k := range atOnce {
		g.Go(func() {
			for i := k; i < n && errs[k] == nil; i += atOnce {
				errs[k] = do(b.Context(), i)
			}
		})
	}
	g.Wait()
	for _, err := range errs {
		checkError(b, err)
	}
}

func checkError(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
