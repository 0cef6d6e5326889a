package workload

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
)

// CreateDeployment creates a Deployment.
func CreateDeployment(t testing.TB, client kubernetes.Interface, namespace string, d *appsv1.Deployment) {
	t.Helper()
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// PatchDeployment changes a Deployment by a merge patch.
func PatchDeployment(t testing.TB, client kubernetes.Interface, namespace, name, patch string) {
	t.Helper()
	if _, err := client.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ScaleDeployment sets a Deployment's number of replicas.
func ScaleDeployment(t testing.TB, client kubernetes.Interface, namespace, name string, replicas int) {
	t.Helper()
	PatchDeployment(t, client, namespace, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// CountPods returns how many pods an app has, without those that are going.
func CountPods(t testing.TB, client kubernetes.Interface, namespace, app string) (n int) {
	t.Helper()
	l, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range l.Items {
		if p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// AwaitPods waits until an app has n pods, without those that are going.
func AwaitPods(t testing.TB, client kubernetes.Interface, namespace, app string, n int) {
	t.Helper()
	cluster.Eventually(t, time.Minute, fmt.Sprint(app, " has ", n, " pods"), func() (bool, int) {
		have := CountPods(t, client, namespace, app)
		return have == n, have
	})
}
