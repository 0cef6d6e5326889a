package restart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const replicas = 20

// A roll-out of a StatefulSet goes on where it was: pods are replaced one after another from the top, each once, and the end is as if nothing had happened.
func TestRollout(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	client := c.Client()
	controllers := []string{"serviceaccount-controller", "statefulset-controller"}
	p := windlass.Spawn(t, c, controllers...)
	begin(t, client)
	for _, namespace := range []string{calm, killed} {
		if _, err := client.AppsV1().StatefulSets(namespace).Create(t.Context(), workload.StatefulSet("web", replicas), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range []string{calm, killed} {
		windlass.Eventually(t, patience, namespace+": all pods", rolled(t, client, namespace, "main:1"))
	}
	// KWOK deletes by name, now and then a new pod after the old one of its name; kubelets don't.
	c.Restrain(t, "own-pods-only", admissionv1.Delete, "pods", `has(oldObject.metadata.deletionTimestamp)`)
	windlass.Eventually(t, patience, "KWOK is kept from deleting", func() (bool, string) {
		err := c.Kwok().CoreV1().Pods(calm).Delete(t.Context(), "web-0", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err) || apierrors.IsForbidden(err), fmt.Sprint(err)
	})
	var want []string
	for i := replicas - 1; i >= 0; i-- {
		want = append(want, fmt.Sprintf("-web-%d +web-%[1]d", i))
	}
	rollOut := func(namespace string, run func(done func() (bool, string))) {
		t.Helper()
		d := workload.Watch(t, client, namespace, "web", true)
		_, err := client.AppsV1().StatefulSets(namespace).Patch(t.Context(), "web", types.StrategicMergePatchType,
			[]byte(`{"spec":{"minReadySeconds":1,"template":{"spec":{"containers":[{"name":"main","image":"main:2"}]}}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		run(rolled(t, client, namespace, "main:2"))
		if d := cmp.Diff(strings.Join(want, " "), d.End(t)); d != "" {
			t.Errorf("%s: not one after another (-want +got):\n%s", namespace, d)
		}
	}
	rollOut(calm, func(done func() (bool, string)) { windlass.Eventually(t, patience, "undisturbed", done) })
	p.Stop(t)
	rollOut(killed, func(done func() (bool, string)) { kill(t, c, 1, 5, controllers, done) })

	expectSame(t, client)
	count := map[string]int{}
	for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{"create", "delete"}, Resources: []string{"pods"}, Namespace: killed, Users: []string{"system:serviceaccount:kube-system:statefulset-controller"}}) {
		count[fmt.Sprint(e.Verb, " ", e.Code)]++
	}
	// One that found the pod of the same name would be a 409.
	if d := cmp.Diff(map[string]int{"create 201": 2 * replicas, "delete 200": replicas}, count); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

// rolled tells whether all pods have the image and are available, and the status says so.
func rolled(t *testing.T, client kubernetes.Interface, namespace, image string) func() (bool, string) {
	return func() (bool, string) {
		s, err := client.AppsV1().StatefulSets(namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		x := s.Status
		seen := fmt.Sprintf("%d pods, %d updated, %d available", x.Replicas, x.UpdatedReplicas, x.AvailableReplicas)
		return s.Spec.Template.Spec.Containers[0].Image == image && x.ObservedGeneration == s.Generation && x.Replicas == replicas && x.AvailableReplicas == replicas &&
			x.UpdatedReplicas == replicas && x.CurrentReplicas == replicas && x.CurrentRevision == x.UpdateRevision, seen
	}
}
