package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Template is that of pods of one container, called main, with the label app.
func Template(app, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// StatefulSet is one of image main:1.
func StatefulSet(name string, replicas int32, change ...func(*appsv1.StatefulSetSpec)) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, ServiceName: name, Selector: selector(name), Template: Template(name, "main:1"),
	}}
	for _, f := range change {
		f(&s.Spec)
	}
	return s
}

// DaemonSet is one of image main:1.
func DaemonSet(name string, change ...func(*appsv1.DaemonSetSpec)) *appsv1.DaemonSet {
	s := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{Selector: selector(name), Template: Template(name, "main:1")}}
	for _, f := range change {
		f(&s.Spec)
	}
	return s
}

// Job is one whose pods complete by themselves.
func Job(name string, completions, parallelism int32, change ...func(*batchv1.JobSpec)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism, Template: Template(name, "main:1")}}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	for _, f := range change {
		f(&j.Spec)
	}
	return j
}

// Indexed makes a job give its pods indexes.
func Indexed(s *batchv1.JobSpec) {
	mode := batchv1.IndexedCompletion
	s.CompletionMode = &mode
}

// Deployment is one of image main:1.
func Deployment(name string, replicas int32, change ...func(*appsv1.DeploymentSpec)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(name), Template: Template(name, "main:1")}}
	for _, f := range change {
		f(&d.Spec)
	}
	return d
}

// Rolling sets how a Deployment's pods are replaced.
func Rolling(surge, unavailable int32) func(*appsv1.DeploymentSpec) {
	s, u := intstr.FromInt32(surge), intstr.FromInt32(unavailable)
	return func(d *appsv1.DeploymentSpec) {
		d.Strategy = appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s,
			MaxUnavailable: &u}}
	}
}

// Recreated has all of a Deployment's pods go before there are others.
func Recreated(d *appsv1.DeploymentSpec) { d.Strategy.Type = appsv1.RecreateDeploymentStrategyType }

// Service is one that selects an app's pods.
func Service(app string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 80}}}}
}
