package restart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const replicas = 20

// A roll-out of a StatefulSet goes on where it was: pods are replaced one after another from the top, each once, and
// the end is as if nothing had happened.
func TestRollout(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	client := c.Client()
	controllers := []string{"serviceaccount-controller", "statefulset-controller"}
	p := windlass.Spawn(t, c, controllers...)
	createNamespaces(t, client)
	for _, namespace := range []string{calm, killed} {
		if _, err := client.AppsV1().StatefulSets(namespace).Create(t.Context(), workload.StatefulSet("web", replicas),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range []string{calm, killed} {
		cluster.Eventually(t, patience, namespace+": all pods", isRolledOut(t, client, namespace, "main:1"))
	}
	c.OwnPodsOnly(t, calm)
	var want []string
	for i := replicas - 1; i >= 0; i-- {
		want = append(want, fmt.Sprintf("-web-%d +web-%[1]d", i))
	}
	rollOut := func(namespace string, run func(done func() (bool, string))) {
		t.Helper()
		d := workload.Watch(t, client, namespace, "web", true)
		_, err := client.AppsV1().StatefulSets(namespace).Patch(t.Context(), "web", types.StrategicMergePatchType,
			[]byte(`{"spec":{"minReadySeconds":1,"template":{"spec":{"containers":[{"name":"main","image":"main:2"}]}}}}`),
			metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		run(isRolledOut(t, client, namespace, "main:2"))
		if d := cmp.Diff(strings.Join(want, " "), d.End(t)); d != "" {
			t.Errorf("%s: not one after another (-want +got):\n%s", namespace, d)
		}
	}
	rollOut(calm, func(done func() (bool, string)) { cluster.Eventually(t, patience, "undisturbed", done) })
	p.Stop(t)
	kills := 0
	rollOut(killed, func(done func() (bool, string)) { kills = killUntil(t, c, 1, 5, controllers, done) })

	expectSame(t, client)
	for verb, want := range map[string]int{"create": 2 * replicas, "delete": replicas} {
		done, unknown := 0, 0
		for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{verb}, Resources: []string{"pods"}, Namespace: killed,
			Users: []string{"system:serviceaccount:kube-system:statefulset-controller"}}) {
			switch {
			case e.Code < 300:
				done++
			case e.Code >= 500:
				// under way when the process was killed: done or not, the API server notes no more than that nobody waited for its
				// answer
				unknown++
			default: // one that found the pod of the same name would be a 409
				t.Errorf("refused: %v", e)
			}
		}
		if done > want || done+unknown < want || unknown > kills {
			t.Errorf("%d times %s was done, and it isn't known of %d, with %d kills; want %d", done, verb, unknown, kills, want)
		}
	}
}

// isRolledOut returns a condition: that all pods have the image and are available, and the status says so.
func isRolledOut(t *testing.T, client kubernetes.Interface, namespace, image string) func() (bool, string) {
	return func() (bool, string) {
		s, err := client.AppsV1().StatefulSets(namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		x := s.Status
		seen := fmt.Sprintf("%d pods, %d updated, %d available", x.Replicas, x.UpdatedReplicas, x.AvailableReplicas)
		return s.Spec.Template.Spec.Containers[0].Image == image && x.ObservedGeneration == s.Generation &&
			x.Replicas == replicas && x.AvailableReplicas == replicas &&
			x.UpdatedReplicas == replicas && x.CurrentReplicas == replicas && x.CurrentRevision == x.UpdateRevision, seen
	}
}
