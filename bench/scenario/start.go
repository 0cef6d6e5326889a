package scenario

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/test/workload"
)

// Where the sentinels are, which show that a manager works.
const (
	ready    = "ready"    // made with the base: pods can be made in it
	untended = "untended" // made anew: its service account and its certificate are still to be made
)

// Sentinels puts what a manager has to do first into the cluster, before it starts.
func (w *World) Sentinels(ctx context.Context) error {
	if _, err := w.Client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: untended}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := w.Client.AppsV1().Deployments(ready).Create(ctx, deployment("sentinel", 1),
		metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := w.Client.CoreV1().Services(ready).Create(ctx, service("sentinel"), metav1.CreateOptions{})
	return err
}

// Started waits until the manager has done it: its controllers work. first is called when the first of it is done.
func (w *World) Started(ctx context.Context, first func()) error {
	done := map[string]bool{}
	look := map[string]func() error{
		"service account": func() error {
			_, err := w.Client.CoreV1().ServiceAccounts(untended).Get(ctx, "default", metav1.GetOptions{})
			return err
		},
		"certificate": func() error {
			_, err := w.Client.CoreV1().ConfigMaps(untended).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
			return err
		},
		"pod": func() error {
			l, err := w.Client.CoreV1().Pods(ready).List(ctx, metav1.ListOptions{LabelSelector: "app=sentinel"})
			if err == nil && len(l.Items) == 0 {
				err = fmt.Errorf("none")
			}
			return err
		},
		"endpoint slice": func() error {
			l, err := w.Client.DiscoveryV1().EndpointSlices(ready).List(ctx,
				metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=sentinel"})
			if err == nil && len(l.Items) == 0 {
				err = fmt.Errorf("none")
			}
			return err
		},
	}

	return w.pollUntil(ctx, 5*time.Millisecond, "the manager works", func() (bool, string, error) {
		for what, get := range look {
			if done[what] || get() != nil {
				continue
			}
			if len(done) == 0 {
				first()
			}
			done[what] = true
		}
		return len(done) == len(look), fmt.Sprint(done), nil
	})
}

// Tended waits until a manager has done what it does first, on a cluster without sentinels.
func (w *World) Tended(ctx context.Context) error {
	return w.pollUntil(ctx, 50*time.Millisecond, "the manager works", func() (bool, string, error) {
		_, err := w.Client.CoreV1().ConfigMaps(ready).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil, "", err
	})
}

// deployment is one of tiny pods, with as many replicas.
func deployment(name string, replicas int) *appsv1.Deployment {
	return workload.Deployment(name, int32(replicas),
		func(d *appsv1.DeploymentSpec) { d.Template.Spec = minimalPodSpec() })
}

func minimalPodSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1",
		Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}}
}

// service selects the pods of a deployment of the same name.
func service(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
}
