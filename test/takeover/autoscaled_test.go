package takeover

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/workload"
)

const (
	period   = time.Second // of the autoscalers' syncs
	measured = 4           // metrics of autoscalers are asked for in each period
)

// autoscaled are Deployments with autoscalers, and what their metrics say.
type autoscaled struct {
	client  kubernetes.Interface
	metrics *metricsapi.Server
}

// create makes one for each way in which an autoscaler is at rest: within its limits, at either of them, and turned off.
func (a autoscaled) create(t *testing.T) {
	t.Helper()
	half, none, quantity := int32(50), int32(0), func(s string) *resource.Quantity { q := resource.MustParse(s); return &q }
	cpu := autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &half}}}
	external := autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "jobs"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity("10")}}}
	object := autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "web"},
		Metric:          autoscalingv2.MetricIdentifier{Name: "queue"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: quantity("10")}}}
	a.metrics.Use("scaled", "cpu", "40m") // the other container that is served uses 10m, of 100m
	a.metrics.Use("least", "cpu", "10m")
	a.metrics.Say("jobs?", "85")
	a.metrics.Say("services/web/queue", "10")
	for _, x := range []struct {
		name                string
		replicas, min, most int32
		metric              autoscalingv2.MetricSpec
	}{{"scaled", 2, 2, 4, cpu}, {"least", 3, 3, 5, cpu}, {"most", 3, 1, 3, external}, {"steady", 2, 1, 5, object}, {"off", 0, 1, 3, cpu}} {
		template := workload.Template(x.name, "main:1")
		template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *quantity("100m")}
		_, err := a.client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: x.name}, Spec: appsv1.DeploymentSpec{
			Replicas: &x.replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template}}, metav1.CreateOptions{})
		do(t, err)
		_, err = a.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: x.name},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: x.name}, MinReplicas: &x.min, MaxReplicas: x.most,
				Metrics:  []autoscalingv2.MetricSpec{x.metric},
				Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &none}},
			}}, metav1.CreateOptions{})
		do(t, err)
	}
	a.rest(t, 2)
}

// rest waits until there are so many replicas of the Deployment whose usage changes, and of the others as many as ever.
func (a autoscaled) rest(t *testing.T, replicas int32) {
	t.Helper()
	a.await(t, "scaled", replicas, autoscalingv2.ScalingActive, "ValidMetricFound")
	a.await(t, "least", 3, autoscalingv2.ScalingLimited, "TooFewReplicas")
	a.await(t, "most", 3, autoscalingv2.ScalingLimited, "TooManyReplicas")
	a.await(t, "steady", 2, autoscalingv2.ScalingLimited, "DesiredWithinRange")
	a.await(t, "off", 0, autoscalingv2.ScalingActive, "ScalingDisabled")
}

// goOn has the pods of one Deployment use so much, whereby it gets so many replicas.
func (a autoscaled) goOn(t *testing.T, cpu string, replicas int32) {
	t.Helper()
	a.metrics.Use("scaled", "cpu", cpu)
	a.rest(t, replicas)
}

// await waits until a Deployment has so many pods and its autoscaler wants as many, for this reason.
func (a autoscaled) await(t *testing.T, name string, replicas int32, condition autoscalingv2.HorizontalPodAutoscalerConditionType, reason string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s: %d replicas, %s", name, replicas, reason), func() (bool, string) {
		d, err := a.client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
		do(t, err)
		h, err := a.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(t.Context(), name, metav1.GetOptions{})
		do(t, err)
		holds := false
		for _, c := range h.Status.Conditions {
			holds = holds || c.Type == condition && c.Reason == reason
		}
		return holds && *d.Spec.Replicas == replicas && d.Status.AvailableReplicas == replicas && d.Status.Replicas == replicas && h.Status.DesiredReplicas == replicas &&
			h.Status.CurrentReplicas == replicas, fmt.Sprintf("%d replicas; autoscaler: %+v", *d.Spec.Replicas, h.Status)
	})
}
