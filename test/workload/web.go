// Package workload has the objects that tests as well as the demo put into a cluster.
package workload

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// Conflicts is how changes are tried again that controllers come before: for some seconds, where client-go's default
// has five tries in a twentieth of one.
var Conflicts = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.1, Steps: 15}

// Web is a Deployment behind a Service of the same name, whose pods run one container.
type Web struct {
	Client          kubernetes.Interface
	Namespace, Name string
}

// Create makes the Deployment, with image web:1, and the Service.
func (w Web) Create(ctx context.Context, replicas int32) error {
	labels := map[string]string{"app": w.Name}
	_, err := w.Client.AppsV1().Deployments(w.Namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1",
					Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = w.Client.CoreV1().Services(w.Namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name},
		Spec: corev1.ServiceSpec{Selector: labels,
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}, metav1.CreateOptions{})
	return err
}

// Change updates the Deployment, again where somebody else was quicker.
func (w Web) Change(ctx context.Context, f func(*appsv1.Deployment)) error {
	return retry.RetryOnConflict(Conflicts, func() error {
		d, err := w.Client.AppsV1().Deployments(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		f(d)
		_, err = w.Client.AppsV1().Deployments(w.Namespace).Update(ctx, d, metav1.UpdateOptions{})
		return err
	})
}

// Image sets the pods' image.
func (w Web) Image(ctx context.Context, image string) error {
	return w.Change(ctx, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image })
}

// Scale sets the number of replicas.
func (w Web) Scale(ctx context.Context, replicas int32) error {
	return w.Change(ctx, func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
}

// Undo rolls back to a revision, as `kubectl rollout undo` once did.
func (w Web) Undo(ctx context.Context, revision string) error {
	return w.Change(ctx, func(d *appsv1.Deployment) {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedRollbackTo, revision)
	})
}

// Converged reports whether the Deployment has n available replicas of the image, all of them ready endpoints, and
// nothing else; seen says what there is.
func (w Web) Converged(ctx context.Context, n int32, image string) (done bool, seen string, err error) {
	d, err := w.Client.AppsV1().Deployments(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
	if err != nil {
		return false, "", err
	}
	ready, err := w.Ready(ctx)
	if err != nil {
		return false, "", err
	}
	s, now := d.Status, d.Spec.Template.Spec.Containers[0].Image
	seen = fmt.Sprintf("%s: %d replicas, %d updated, %d available, %d ready endpoints",
		now, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas, len(ready))
	return now == image && s.ObservedGeneration >= d.Generation && s.Replicas == n && s.UpdatedReplicas == n &&
		s.AvailableReplicas == n && int32(len(ready)) == n, seen, nil
}

// Ready names the pods that are ready behind the Service.
func (w Web) Ready(ctx context.Context) ([]string, error) {
	slices, err := w.Client.DiscoveryV1().EndpointSlices(w.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + w.Name})
	if err != nil {
		return nil, err
	}
	var pods []string
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready && e.TargetRef != nil {
				pods = append(pods, e.TargetRef.Name)
			}
		}
	}
	return pods, nil
}
