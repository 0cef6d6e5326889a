package scale

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const quotaController = "resourcequota-controller"

// Many clients make and delete objects under a quota that most of them find full. At rest Windlass knows how many there
// are; the native manager may need five minutes for that. How many there were above what the quota allows is printed:
// between a delete that a manager has seen and a create that it hasn't, it may tell the API server's admission of room
// that there isn't. With FULL=1 there are 200 clients.
func TestQuotaUnderClients(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{quotaController}})
	ours, there := underQuota(t, c, "ours")
	awaitUsed(t, c, "ours", there)
	m.Stop(t)

	stop := c.Native(t, []string{quotaController})
	natives, there := underQuota(t, c, "native")
	used, _ := readUsed(t.Context(), c, "native")
	stop()
	t.Logf("above the quota of %d: %d under Windlass, %d under the native manager, which says that of %d objects %d are in use",
		quotaHard, ours, natives, there, used)
}

// quotaHard is how many objects there may be.
const quotaHard = 50

// underQuota has clients make and delete config maps in a namespace of its own, and returns how many of them there were
// at most above what is allowed, and how many there are.
func underQuota(t *testing.T, c *cluster.Cluster, namespace string) (above, there int) {
	t.Helper()
	ctx, client := t.Context(), unlimited(c)
	if _, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "quota"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourceConfigMaps: *resource.NewQuantity(quotaHard, resource.DecimalSI)}}}
	if _, err := client.CoreV1().ResourceQuotas(namespace).Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitUsed(t, c, namespace, 0)

	most := countMost(t, client, namespace)
	const rounds = 20
	clients := workload.Size(40, 200)
	workqueue.ParallelizeUntil(ctx, clients, clients, func(i int) {
		for round := range rounds {
			if err := makeAndDelete(ctx, client, namespace, fmt.Sprintf("of-%d-%d", i, round), round == rounds-1); err != nil {
				t.Error(err)
			}
		}
	})

	l, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return max(most()-quotaHard, 0), len(l.Items)
}

// readUsed returns how many config maps a namespace's quota says there are.
func readUsed(ctx context.Context, c *cluster.Cluster, namespace string) (n int, known bool) {
	q, err := c.Client().CoreV1().ResourceQuotas(namespace).Get(ctx, "quota", metav1.GetOptions{})
	if err != nil {
		return 0, false
	}
	used, known := q.Status.Used[corev1.ResourceConfigMaps]
	return int(used.Value()), known
}

func awaitUsed(t *testing.T, c *cluster.Cluster, namespace string, n int) {
	t.Helper()
	cluster.Eventually(t, cluster.Patience, fmt.Sprint(namespace, ": the quota knows of ", n), func() (bool, string) {
		used, known := readUsed(t.Context(), c, namespace)
		return known && used == n, fmt.Sprint(used, known)
	})
}

// makeAndDelete makes an object, if the quota has room, and deletes it unless it is to stay.
func makeAndDelete(ctx context.Context, client kubernetes.Interface, namespace, name string, stays bool) error {
	all := client.CoreV1().ConfigMaps(namespace)
	_, err := all.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsConflict(err), apierrors.IsServerTimeout(err):
		return nil // the quota is full, or too many others want it
	case err != nil || stays:
		return err
	}
	return all.Delete(ctx, name, metav1.DeleteOptions{})
}

// countMost counts objects as they come and go; the function that it returns ends that, and returns how many there have
// been at most.
func countMost(t *testing.T, client kubernetes.Interface, namespace string) func() int {
	t.Helper()
	w, err := client.CoreV1().ConfigMaps(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counted := make(chan int, 1)
	go func() {
		now, most := 0, 0
		for e := range w.ResultChan() {
			switch e.Type {
			case watch.Added:
				now++
			case watch.Deleted:
				now--
			}
			most = max(most, now)
		}
		counted <- most
	}()
	return func() int {
		w.Stop()
		return <-counted
	}
}
