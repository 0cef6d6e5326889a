package life

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestrainKubelets keeps KWOK from deleting pods that have only the name of one that was deleted, and from telling
// of nodes with the label silent.
func (s *Stage) RestrainKubelets(t testing.TB) {
	t.Helper()
	const silent = `!("silent" in object.metadata.?labels.orValue({}))`
	s.Cluster.Restrain(t, "silence", admissionv1.Update, "nodes/status", silent)

	const name = "kubelets"
	p := &player{Stage: s, TB: t, what: name}
	ctx, core := t.Context(), s.Client.CoreV1()
	meta := metav1.ObjectMeta{Name: name}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pod := &corev1.Pod{ObjectMeta: meta}
	pod.Spec = corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "main"}}}
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	p.must(err)
	if _, err = core.ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		p.must(err) // a manager may run
	}
	_, err = core.Pods(name).Create(ctx, pod, metav1.CreateOptions{})
	p.must(err)
	s.Cluster.OwnPodsOnly(t, name)
}
