package horizontalpodautoscaler

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/differential/world"
)

// objects are targets, pods that are theirs or not, and autoscalers of them, or of nothing.
func objects(r *world.Rand) (all []runtime.Object) {
	for _, app := range []string{"web", "db"} {
		all = append(all, target(r, app))
	}
	if r.One(4) {
		all = append(all, &appsv1.DaemonSet{ObjectMeta: meta(r, "web"), Spec: appsv1.DaemonSetSpec{
			Selector: selecting(r, "web"), Template: r.Template(map[string]string{"app": "web"}),
		}})
	}
	for i := range 1 + r.IntN(6) {
		all = append(all, pod(r, fmt.Sprintf("pod-%d", i), world.Of(r, "web", "web", "web", "db")))
	}
	for i := range 1 + r.IntN(2) {
		all = append(all, autoscaler(r, fmt.Sprintf("hpa-%d", i)))
	}
	return all
}

func meta(r *world.Rand, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000),
		Generation: int64(1 + r.IntN(3))}
}

func replicas(r *world.Rand) *int32 {
	return world.Ptr(int32(world.Of(r, 0, 1, 1, 2, 3, 3, 4, 5, 7, 10, 40)))
}

// target is something that has a scale, web mostly a Deployment.
func target(r *world.Rand, app string) runtime.Object {
	labels := map[string]string{"app": app}
	switch r.IntN(6) {
	case 0:
		s := &appsv1.StatefulSet{ObjectMeta: meta(r, app)}
		s.Spec.Replicas, s.Spec.Selector, s.Spec.Template = replicas(r), selecting(r, app), r.Template(labels)
		s.Status.Replicas = about(r, *s.Spec.Replicas)
		return s
	case 1:
		s := &appsv1.ReplicaSet{ObjectMeta: meta(r, app)}
		s.Spec.Replicas, s.Spec.Selector, s.Spec.Template = replicas(r), selecting(r, app), r.Template(labels)
		s.Status.Replicas = about(r, *s.Spec.Replicas)
		return s
	case 2:
		c := &corev1.ReplicationController{ObjectMeta: meta(r, app)}
		template := r.Template(labels)
		c.Spec.Replicas, c.Spec.Selector, c.Spec.Template = replicas(r), labels, &template
		c.Status.Replicas = about(r, *c.Spec.Replicas)
		return c
	}
	d := &appsv1.Deployment{ObjectMeta: meta(r, app)}
	d.Spec.Replicas, d.Spec.Selector, d.Spec.Template = replicas(r), selecting(r, app), r.Template(labels)
	d.Status.Replicas = about(r, *d.Spec.Replicas)
	return d
}

// about is mostly the same number.
func about(r *world.Rand, n int32) int32 {
	if r.One(4) {
		return *replicas(r)
	}
	return n
}

func selecting(r *world.Rand, app string) *metav1.LabelSelector {
	if !r.One(6) {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		world.Of(r, metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpIn,
			Values: []string{"web", "db"}},
			metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpExists},
			metav1.LabelSelectorRequirement{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist},
			metav1.LabelSelectorRequirement{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"front"}}),
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{app, "other"}},
	}}
}

// pod is one whose containers mostly ask for what they use.
func pod(r *world.Rand, name, app string) *corev1.Pod {
	s := r.PodSpec()
	for i := range s.Containers {
		s.Containers[i].Resources.Requests = requests(r)
	}

	for i := range s.InitContainers {
		if s.InitContainers[i].Resources.Requests = requests(r); r.One(2) {
			s.InitContainers[i].RestartPolicy = world.Ptr(corev1.ContainerRestartPolicyAlways)
		}
	}

	if r.One(12) {
		s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: quantity(r, "3", "5")}}
		if r.One(2) {
			s.Resources.Requests[corev1.ResourceMemory] = quantity(r, "2Gi", "4Gi")
		}
	}

	p := r.Pod(name, r.Labels(app), s)
	if !r.One(3) { // most are well
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = nil, nil
		p.Spec.NodeName, p.Spec.SchedulingGates = "node-0", nil
		p.Status.Phase = corev1.PodRunning
		start, ready := r.Ago(700), r.Ago(600)
		p.Status.StartTime = &start
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: ready}}
		if r.One(5) {
			p.Status.Conditions[0].Status = world.Of(r, corev1.ConditionFalse, corev1.ConditionUnknown)
		}
	}
	return p
}

func requests(r *world.Rand) corev1.ResourceList {
	l := corev1.ResourceList{}
	if !r.One(15) {
		l[corev1.ResourceCPU] = quantity(r, "100m", "100m", "250m", "1", "0", "1500u")
	}
	if !r.One(4) {
		l[corev1.ResourceMemory] = quantity(r, "64Mi", "100M", "1Gi", "0")
	}
	return l
}

func quantity(r *world.Rand, all ...string) resource.Quantity {
	return resource.MustParse(world.Of(r, all...))
}

func autoscaler(r *world.Rand, name string) *autoscalingv2.HorizontalPodAutoscaler {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta(r, name), Spec: spec(r)}
	h.Labels = r.Labels("web")
	if r.One(2) {
		status(r, h)
	}
	if r.One(10) {
		h.Finalizers = []string{"example.com/stay"}
		if r.One(2) {
			r.End(h)
		}
	}
	return h
}

func spec(r *world.Rand) autoscalingv2.HorizontalPodAutoscalerSpec {
	s := autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: reference(r)}
	if !r.One(10) {
		for range 1 + world.Of(r, 0, 0, 0, 1, 2) {
			s.Metrics = append(s.Metrics, metric(r))
		}
	}
	limits(r, &s)
	if r.One(2) {
		s.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
		if !r.One(3) {
			s.Behavior.ScaleUp = rules(r)
		}
		if !r.One(3) {
			s.Behavior.ScaleDown = rules(r)
		}
	}
	return s
}

func limits(r *world.Rand, s *autoscalingv2.HorizontalPodAutoscalerSpec) {
	s.MaxReplicas = int32(world.Of(r, 1, 3, 6, 10, 20, 100))
	s.MinReplicas = world.Maybe(r, min(int32(world.Of(r, 1, 1, 2, 3, 5)), s.MaxReplicas))
	for i := range s.Metrics {
		if t := s.Metrics[i].Type; (t == autoscalingv2.ObjectMetricSourceType ||
			t == autoscalingv2.ExternalMetricSourceType) && r.One(2) {
			s.MinReplicas = world.Ptr(int32(0))
		}
	}
}

// reference is to web in its various forms, mostly to one that is there.
func reference(r *world.Rand) autoscalingv2.CrossVersionObjectReference {
	ref := func(apiVersion, kind, name string) autoscalingv2.CrossVersionObjectReference {
		return autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: kind, Name: name}
	}
	name := world.Of(r, "web", "web", "web", "db")
	if !r.One(8) {
		return world.Of(r, ref("apps/v1", "Deployment", name), ref("apps/v1", "Deployment", name),
			ref("apps/v1", "Deployment", name),
			ref("apps/v1", "StatefulSet", name), ref("apps/v1", "ReplicaSet", name), ref("v1", "ReplicationController", name))
	}
	return world.Of(r, ref("apps/v1beta1", "Deployment", name), ref("extensions/v1beta1", "Deployment", name),
		ref("", "ReplicationController", name),
		ref("apps/v1", "DaemonSet", "web"), ref("batch/v1", "Job", "web"), ref("example.com/v1", "Widget", "web"),
		ref("apps/v1", "Widget", "web"),
		ref("apps/v1", "Deployment", "none"), ref("v1", "Pod", "pod-0"), ref("", "Deployment", name))
}

// metric is one of any type, with a target of any type that goes with it.
func metric(r *world.Rand) autoscalingv2.MetricSpec {
	value := func() *resource.Quantity {
		return world.Ptr(quantity(r, "1", "5", "10", "10", "100", "1500m", "100Mi"))
	}
	either := func() (t autoscalingv2.MetricTarget) {
		if t.Type = world.Of(r, autoscalingv2.ValueMetricType,
			autoscalingv2.AverageValueMetricType); t.Type == autoscalingv2.ValueMetricType {
			t.Value = value()
		} else {
			t.AverageValue = value()
		}
		return t
	}

	usage := func(name corev1.ResourceName) (t autoscalingv2.MetricTarget) {
		if r.One(2) {
			return autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
				AverageUtilization: world.Ptr(int32(world.Of(r, 1, 50, 80, 100, 130)))}
		}
		t = autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
			AverageValue: world.Ptr(quantity(r, "100m", "150m", "1", "2m"))}
		if name == corev1.ResourceMemory {
			t.AverageValue = world.Ptr(quantity(r, "64Mi", "100M", "1Gi"))
		}
		return t
	}

	name := world.Of(r, corev1.ResourceCPU, corev1.ResourceCPU, corev1.ResourceMemory)
	switch r.IntN(6) {
	case 0:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: described(r), Metric: identifier(r), Target: either(),
		}}
	case 1:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: identifier(r), Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
				AverageValue: value()},
		}}
	case 2:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: name, Container: world.Of(r, "main", "main", "side", "init", "none"), Target: usage(name),
			}}
	case 3, 4:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: usage(name)}}
	}

	return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{
			Metric: identifier(r), Target: either(),
		}}
}

func identifier(r *world.Rand) autoscalingv2.MetricIdentifier {
	m := autoscalingv2.MetricIdentifier{Name: world.Of(r, "hits", "queue", "pubsub.example.com|subscription")}
	if r.One(3) {
		m.Selector = world.Of(r, &metav1.LabelSelector{},
			&metav1.LabelSelector{MatchLabels: map[string]string{"verb": "get"}},
			&metav1.LabelSelector{MatchLabels: map[string]string{"b": "2", "a": "1"},
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "code", Operator: metav1.LabelSelectorOpIn, Values: []string{"500", "200"}},
					{Key: "a", Operator: metav1.LabelSelectorOpExists},
				}},
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "code", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"500"}},
				{Key: "z", Operator: metav1.LabelSelectorOpDoesNotExist},
			}})
		if r.One(15) { // the API server takes any selector here
			m.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: "code", Operator: world.Of(r, metav1.LabelSelectorOperator("Near"), metav1.LabelSelectorOpIn,
					metav1.LabelSelectorOpExists), Values: world.Of(r, nil, []string{"a b"}),
			}}}
		}
	}
	return m
}

// described is an object that a metric may be of.
func described(r *world.Rand) autoscalingv2.CrossVersionObjectReference {
	ref := func(apiVersion, kind, name string) autoscalingv2.CrossVersionObjectReference {
		return autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: kind, Name: name}
	}
	return world.Of(r, ref("v1", "Service", "front"), ref("v1", "Service", "front"), ref("apps/v1", "Deployment", "web"),
		ref("v1", "Namespace", "other"),
		ref("v1", "Pod", "pod-0"), ref("example.com/v1", "Widget", "w"), ref("apps/v1beta2", "Deployment", "web"),
		ref("", "Node", "node-0"), ref("v1", "Widget", "w"))
}

// rules are how fast may be scaled in one direction.
func rules(r *world.Rand) *autoscalingv2.HPAScalingRules {
	u := &autoscalingv2.HPAScalingRules{}
	if r.One(2) {
		u.StabilizationWindowSeconds = world.Ptr(int32(world.Of(r, 0, 15, 60, 300, 3600)))
	}
	if r.One(2) {
		u.SelectPolicy = world.Ptr(world.Of(r, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect,
			autoscalingv2.DisabledPolicySelect))
	}
	if r.One(2) {
		for range 1 + r.IntN(2) {
			u.Policies = append(u.Policies, autoscalingv2.HPAScalingPolicy{
				Type:  world.Of(r, autoscalingv2.PodsScalingPolicy, autoscalingv2.PercentScalingPolicy),
				Value: int32(world.Of(r, 1, 2, 4, 10, 50, 100, 150)), PeriodSeconds: int32(world.Of(r, 1, 15, 60, 600, 1800)),
			})
		}
	}
	if r.One(3) {
		u.Tolerance = world.Ptr(quantity(r, "0", "0.05", "100m", "0.3", "2"))
	}
	return u
}

// status is anything that could be left of an earlier time.
func status(r *world.Rand, h *autoscalingv2.HorizontalPodAutoscaler) {
	h.Status = autoscalingv2.HorizontalPodAutoscalerStatus{CurrentReplicas: *replicas(r), DesiredReplicas: *replicas(r)}
	if r.One(2) {
		h.Status.ObservedGeneration = world.Ptr(int64(1))
	}
	if r.One(2) {
		h.Status.LastScaleTime = world.Ptr(r.Ago(600))
	}
	for _, t := range []autoscalingv2.HorizontalPodAutoscalerConditionType{
		autoscalingv2.ScalingActive, autoscalingv2.AbleToScale, autoscalingv2.ScalingLimited, autoscalingv2.ScaledToZero,
		"Strange",
	} {
		if r.One(2) {
			h.Status.Conditions = append(h.Status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{
				Type: t, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
				LastTransitionTime: r.Ago(900),
				Reason:             "Before", Message: "it was so",
			})
		}
	}
}
