// Package webapp runs WebApps: for each a Deployment, a Service, and where it asks for one a HorizontalPodAutoscaler.
package webapp

import (
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/resource"

	v1 "example.com/webapp/api/v1"
)

// name is the label of an app's pods.
const name = "app.kubernetes.io/name"

var (
	apps        = sdk.Key(v1.WebApps).Fields("metadata.generation", "metadata.deletionTimestamp", "spec", "status")
	deployments = sdk.Select(appsv1.Deployments, sdk.KeyNamespace(), sdk.ControlledBy(apps)).
			Fields("metadata.generation", "spec", "status.observedGeneration", "status.updatedReplicas",
			"status.availableReplicas")
	services = sdk.Select(corev1.Services, sdk.KeyNamespace(), sdk.ControlledBy(apps)).Fields("spec.selector",
		"spec.ports")
	autoscalers = sdk.Select(autoscalingv2.HorizontalPodAutoscalers, sdk.KeyNamespace(),
		sdk.ControlledBy(apps)).Fields("spec")
)

// Plugin is the webapp module.
var Plugin = &sdk.Plugin{
	Name:        "webapp",
	Version:     "1.0.0",
	Description: "Runs WebApps: for each a Deployment, a Service, and where it asks for one a HorizontalPodAutoscaler.",
	Controllers: []*sdk.Controller{{
		Name:  "webapp-controller",
		Alias: "webapp",
		Reads: sdk.Views{apps, deployments, services, autoscalers},
		Writes: sdk.Writes{
			v1.WebApps.Sub("status", "update"), v1.WebApps.Sub("finalizers", "update"),
			appsv1.Deployments.Verbs("create", "update"),
			corev1.Services.Verbs("create", "update"),
			autoscalingv2.HorizontalPodAutoscalers.Verbs("create", "update", "delete"),
		},
		Workers: 2,
		Sync:    sync,
	}},
}

func sync(c *sdk.Call) error {
	app, ok := apps.Get(c)
	if !ok || app.Deleting() {
		return nil // its children have it as their owner: the garbage collector takes them
	}
	current := keep(c, deployments, app, func(d *appsv1.Deployment) { deployment(app, d) })
	keep(c, services, app, func(s *corev1.Service) { service(app, s) })
	if autoscaled(app) {
		keep(c, autoscalers, app, func(h *autoscalingv2.HorizontalPodAutoscaler) { autoscaler(app, h) })
	} else {
		for _, h := range autoscalers.List(c) {
			c.Delete(h)
		}
	}
	updateStatus(c, app, current)
	return nil
}

// keep creates the child that the view doesn't hold, or changes the one that it holds into what set makes of it. It
// tells whether the child was so already.
func keep[T any, P resource.Pointer[T]](c *sdk.Call, view *sdk.View[T, P], app *v1.WebApp, set func(P)) bool {
	have, ok := view.Get(c)
	if !ok {
		child := P(new(T))
		m := child.GetObjectMeta()
		m.Namespace, m.Name, m.OwnerReferences = app.Namespace, app.Name, []metav1.OwnerReference{owner.Ref(app)}
		set(child)
		c.Create(child)
		return false
	}
	child := sdk.Clone(have)
	set(child)
	if resource.Equal(child, have) {
		return true
	}
	c.Update(child)
	return false
}

// replicas is how many pods there are at least.
func replicas(app *v1.WebApp) int32 { return sdk.Deref(app.Spec.Replicas, 1) }

func autoscaled(app *v1.WebApp) bool { return app.Spec.MaxReplicas > replicas(app) }

// deployment sets what of a Deployment is the app's affair; all else is the API server's defaults, or other people's.
func deployment(app *v1.WebApp, d *appsv1.Deployment) {
	if d.Spec.Selector == nil { // it is new; nobody can change a selector
		d.Spec.Selector = &metav1.LabelSelector{}
		d.Spec.Selector.MatchLabels.Set(name, app.Name)
	}
	d.Spec.Template.Labels.Set(name, app.Name)
	if d.Spec.Replicas == nil || !autoscaled(app) { // else they are the autoscaler's
		n := replicas(app)
		d.Spec.Replicas = &n
	}
	pod := &d.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		pod.Containers = []corev1.Container{{Name: "web"}}
	}
	container := &pod.Containers[0]
	container.Image, container.Env, container.Resources = app.Spec.Image, nil, app.Spec.Resources
	for _, e := range app.Spec.Env {
		container.Env = append(container.Env, corev1.EnvVar{Name: e.Name, Value: e.Value})
	}
	if len(container.Ports) == 0 {
		container.Ports = []corev1.ContainerPort{{Name: "http"}}
	}
	container.Ports[0].ContainerPort = app.Spec.Port
}

func service(app *v1.WebApp, s *corev1.Service) {
	s.Spec.Selector.Set(name, app.Name)
	if len(s.Spec.Ports) == 0 {
		s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	}
	s.Spec.Ports[0].TargetPort = wire.FromString("http")
}

func autoscaler(app *v1.WebApp, h *autoscalingv2.HorizontalPodAutoscaler) {
	n, target := max(1, replicas(app)), app.Spec.TargetCPU
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment",
		Name: app.Name}
	h.Spec.MinReplicas, h.Spec.MaxReplicas = &n, app.Spec.MaxReplicas
	h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
				AverageUtilization: &target}}}}
}
