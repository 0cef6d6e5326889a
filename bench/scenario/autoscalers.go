package scenario

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HPAPeriod is how often autoscalers look, under either manager: more often than by default, to see more of it in less
// time.
func HPAPeriod(full bool) time.Duration { return time.Duration(sizeOfForm(full, 5, 3)) * time.Second }

// autoscalers is the last of its base: they go on and on. Each has a Deployment of one pod, whose load doubles.
var autoscalers = &Scenario{
	Name: "hpa", Base: empty, Title: titleWithNumbers("%d HPAs, each period %d s, whose load doubles, for %d periods",
		500, 50, 5, 3, 3, 2),
	Setup: func(ctx context.Context, w *World) error {
		if err := w.namespace(ctx, "hpa"); err != nil {
			return err
		}
		s, err := w.serveMetrics(ctx, "hpa")
		if err != nil {
			return err
		}
		s.load.Store(100)
		w.load = s.load.Store
		n := w.Size(500, 50)
		if err := parallel(ctx, n, 32, func(ctx context.Context, i int) error {
			d := deployment(namespaceName("hpa", i), 1)
			d.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(
				"100m")}
			_, err := w.Client.AppsV1().Deployments("hpa").Create(ctx, d, metav1.CreateOptions{})
			return err
		}); err != nil {
			return err
		}
		if err := w.awaitScaled(ctx, n, 1); err != nil {
			return err
		}
		if err := parallel(ctx, n, 32, func(ctx context.Context, i int) error {
			_, err := w.Client.AutoscalingV2().HorizontalPodAutoscalers("hpa").Create(ctx, autoscaler(namespaceName("hpa", i)),
				metav1.CreateOptions{})
			return err
		}); err != nil {
			return err
		}
		// Each has found its metrics once.
		return watchUntil(ctx, w, w.Client.AutoscalingV2().RESTClient(), "horizontalpodautoscalers", "hpa",
			&autoscalingv2.HorizontalPodAutoscaler{}, "the autoscalers see their metrics",
			func(all []*autoscalingv2.HorizontalPodAutoscaler) (bool, string) {
				seeing := 0
				for _, h := range all {
					if len(h.Status.CurrentMetrics) > 0 && h.Status.CurrentReplicas == 1 {
						seeing++
					}
				}
				return seeing == n, fmt.Sprint(seeing, " of ", n)
			})
	},
	Act: func(ctx context.Context, w *World) error {
		until := time.After(time.Duration(w.Size(3, 2)) * HPAPeriod(w.Full))
		w.load(200)
		if err := w.addWallTime(func() error { return w.awaitScaled(ctx, w.Size(500, 50), 2) }); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-until:
		}
		return ctx.Err()
	},
}

func autoscaler(name string) *autoscalingv2.HorizontalPodAutoscaler {
	full, least := int32(100), int32(1)
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    &least, MaxReplicas: 10,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
						AverageUtilization: &full}}}},
		}}
}

// awaitScaled waits until all targets of the autoscalers have so many pods that are available.
func (w *World) awaitScaled(ctx context.Context, n int, want int32) error {
	return watchUntil(ctx, w, w.Client.AppsV1().RESTClient(), "deployments", "hpa", &appsv1.Deployment{},
		fmt.Sprintf("%d targets of %d", n, want), func(all []*appsv1.Deployment) (bool, string) {
			done := 0
			for _, d := range all {
				if d.Status.AvailableReplicas == want && *d.Spec.Replicas == want {
					done++
				}
			}
			return done == n, fmt.Sprint(done, " of ", n)
		})
}
