package cluster_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
)

// A pod lives as on a real cluster, except that nobody but the test makes the service account that admission asks for.
func TestPodLives(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	client := c.Client()
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}

	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("creating a pod without its service account: %v; want forbidden", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(t.Context(), account,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Admission has seen the account soon after.
	cluster.Eventually(t, time.Minute, "the pod to be admitted", func() (bool, any) {
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return err == nil, err
	})

	cluster.Eventually(t, time.Minute, "the pod to be ready", func() (bool, any) {
		live, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil || live.Status.Phase != corev1.PodRunning {
			return false, err
		}
		ready := false
		for _, condition := range live.Status.Conditions {
			ready = ready || condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		}
		if !ready {
			return false, nil
		}
		if len(live.Status.PodIPs) != 2 || live.Spec.NodeName == "" {
			t.Errorf("node %q, addresses %v: want a node and an address of each family", live.Spec.NodeName, live.Status.PodIPs)
		}
		return true, nil
	})

	if err := pods.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, time.Minute, "the pod to be gone", func() (bool, any) {
		_, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})

	created := c.Audit(t, cluster.Filter{Verbs: []string{"create"}, Resources: []string{"pods"}, Users: []string{"admin"},
		Codes: []int{201}})
	if len(created) != 1 || created[0].Name != "web" || created[0].Namespace != metav1.NamespaceDefault {
		t.Errorf("pods created according to the audit log: %v; want one, default/web", created)
	}
	bound := c.Audit(t, cluster.Filter{Resources: []string{"pods/binding"}, Users: []string{"system:kube-scheduler"}})
	if len(bound) != 1 {
		t.Errorf("bindings according to the audit log: %v; want one", bound)
	}
}

// KWOK plays the kubelet of every pod, of those too that are there before it holds their nodes' leases.
func TestNoPodIsForgotten(t *testing.T) {
	t.Parallel()
	const nodes = 300
	c := cluster.Start(t, cluster.Options{Nodes: nodes})
	client := c.Client()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(t.Context(), account,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	for i := range nodes {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i)},
			Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i),
				Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}}
		cluster.Eventually(t, time.Minute, "the pod to be admitted", func() (bool, any) {
			_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
			if apierrors.IsForbidden(err) {
				return false, nil // the service account isn't seen yet
			}
			return err == nil, err
		})
	}

	await := func(what, selector string) {
		cluster.Eventually(t, time.Minute, what, func() (bool, any) {
			left, err := pods.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
			return err == nil && len(left.Items) == 0, err
		})
	}

	await("all pods to run", "status.phase!=Running")
	if err := pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	await("all pods to be gone", "")
}

// The manager's user has the rights of upstream's bootstrap role, so that RBAC is tested and not only run.
func TestManagerIsBound(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{})
	client := kubernetes.NewForConfigOrDie(c.ManagerRESTConfig())
	if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing pods: %v", err)
	}
	err := client.CoreV1().Namespaces().Delete(t.Context(), metav1.NamespaceDefault, metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("deleting a namespace: %v; want forbidden", err)
	}
}

// The native manager runs on the cluster, and a second cluster on the same folder has the first one's data and accepts
// its credentials.
func TestNativeManagerAndRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := cluster.Start(t, cluster.Options{Dir: dir})
	stop := c.Native(t, []string{"serviceaccount-controller"})
	accounts := c.Client().CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	cluster.Eventually(t, time.Minute, "the native manager to create the default service account", func() (bool, any) {
		_, err := accounts.Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	stop()
	before := c.RESTConfig()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}

	c = cluster.Start(t, cluster.Options{Dir: dir})
	if after := c.RESTConfig(); after.BearerToken != before.BearerToken {
		t.Error("the administrator has another token after the restart")
	}
	if _, err := c.Client().CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(t.Context(), "default",
		metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
