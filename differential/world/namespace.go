package world

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespaces are the names of those that worlds have whose subject is namespaces; the first is there from the
// beginning.
var Namespaces = []string{Namespace, "one", "two", "three", "kube-system"}

// Namespace returns a namespace of that name, in which things may still be made.
func (r *Rand) Namespace(name string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: r.UID(), CreationTimestamp: r.Ago(3000)}}
	if r.One(4) {
		ns.Labels = r.Labels("web")
	}
	ns.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	ns.Status.Phase = corev1.NamespaceActive
	if r.One(6) {
		ns.Finalizers = []string{"example.com/stay"}
	}
	return ns
}

// Terminate has a namespace be on its way out, with what the namespace controller has found out so far.
func (r *Rand) Terminate(ns *corev1.Namespace) {
	t := r.Ago(60)
	ns.DeletionTimestamp, ns.Status.Phase = &t, corev1.NamespaceTerminating
	if r.One(2) {
		ns.Status.Conditions = []corev1.NamespaceCondition{
			{
				Type:               corev1.NamespaceContentRemaining,
				Status:             Of(r, corev1.ConditionTrue, corev1.ConditionFalse),
				LastTransitionTime: r.Ago(50),
				Reason:             "SomeResourcesRemain",
				Message:            "some",
			},
		}
	}
}
