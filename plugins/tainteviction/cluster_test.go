package tainteviction

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const (
	nodesOfTest = 10
	taintOfTest = "example.com/broken"
)

// patience is how many seconds a pod tolerates the taint, by its number modulo their count; -1: for ever.
var patience = []int64{0, 3, 30, -1}

// Pods on tainted nodes go at their time or stay, and where the taint goes before so does their timer. With FULL=1 there
// are 20,000.
func TestOnClusterPodsOfTaintedNodes(t *testing.T) {
	pods := workload.Size(500, 20_000)
	c := cluster.Start(t, cluster.Options{})
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-controller", "taint-eviction-controller"},
		Configure: func(c *config.Configuration) {
			c.ClientConnection.QPS, c.ClientConnection.Burst = 5000, 5000
		}})
	unlimited := rest.CopyConfig(c.RESTConfig())
	unlimited.QPS = -1
	client := kubernetes.NewForConfigOrDie(unlimited).CoreV1()
	makePods(t, client, pods)

	begun := time.Now()
	for i := range nodesOfTest {
		setTaints(t, client, i, `[{"key":"`+taintOfTest+`","effect":"NoExecute"}]`)
	}
	awaitMarked(t, client, pods, func(i int) bool { return patience[i%len(patience)] == 0 || patience[i%len(patience)] == 3 })
	for i := 0; i < nodesOfTest; i += 2 {
		setTaints(t, client, i, "null")
	}
	if spent := time.Since(begun); spent > 25*time.Second {
		t.Fatalf("the timers of 30 s may have ended before their taints did: %v", spent)
	}
	awaitMarked(t, client, pods, goes)
	checkTimes(t, client, begun, pods)
}

// goes reports whether the pod of that number is to go: what has 30 s is saved on every other node.
func goes(i int) bool {
	n := patience[i%len(patience)]
	return n >= 0 && (n < 30 || nodeOf(i)%2 == 1)
}

// nodeOf spreads each kind of pods over all nodes.
func nodeOf(i int) int { return i / len(patience) % nodesOfTest }

func makePods(t *testing.T, client typedcorev1.CoreV1Interface, pods int) {
	t.Helper()
	for i := range nodesOfTest {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n-", i)}}
		if _, err := client.Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, cluster.Patience, "service account default", func() (bool, string) {
		_, err := client.ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})

	workqueue.ParallelizeUntil(t.Context(), 32, pods, func(i int) {
		x := corev1.Toleration{Key: taintOfTest, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
		if n := patience[i%len(patience)]; n >= 0 {
			x.TolerationSeconds = &n
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Finalizers: []string{"example.com/stay"}},
			Spec: corev1.PodSpec{NodeName: fmt.Sprint("n-", nodeOf(i)), Tolerations: []corev1.Toleration{x},
				Containers: []corev1.Container{{Name: "main", Image: "main"}}}}
		if _, err := client.Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func setTaints(t *testing.T, client typedcorev1.CoreV1Interface, node int, taints string) {
	t.Helper()
	_, err := client.Nodes().Patch(t.Context(), fmt.Sprint("n-", node), types.MergePatchType,
		[]byte(`{"spec":{"taints":`+taints+`}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func byNumber(t *testing.T, client typedcorev1.CoreV1Interface, pods int) []*corev1.Pod {
	t.Helper()
	l, err := client.Pods("default").List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*corev1.Pod, pods)
	for i := range l.Items {
		var n int
		if _, err := fmt.Sscanf(l.Items[i].Name, "pod-%d", &n); err != nil {
			t.Fatal(err)
		}
		all[n] = &l.Items[i]
	}
	return all
}

// awaitMarked waits until the pods that are to be deleted are.
func awaitMarked(t *testing.T, client typedcorev1.CoreV1Interface, pods int, deleted func(i int) bool) {
	t.Helper()
	cluster.Eventually(t, cluster.Patience, "pods are deleted", func() (bool, string) {
		left := 0
		for i, p := range byNumber(t, client, pods) {
			if deleted(i) && p.DeletionTimestamp == nil {
				left++
			}
		}
		return left == 0, fmt.Sprint(left, " aren't")
	})
}

// checkTimes checks of each pod when it was deleted, as exactly as the API tells: in seconds.
func checkTimes(t *testing.T, client typedcorev1.CoreV1Interface, begun time.Time, pods int) {
	t.Helper()
	most := 5*time.Second + time.Duration(pods/1000)*time.Second // to delete all
	for i, p := range byNumber(t, client, pods) {
		if !goes(i) {
			if p.DeletionTimestamp != nil {
				t.Errorf("%s is deleted, and was to stay", p.Name)
			}
			continue
		}
		grace := time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
		wait := time.Duration(patience[i%len(patience)]) * time.Second
		if late := p.DeletionTimestamp.Add(-grace).Sub(begun) - wait; late < -time.Second || late > most {
			t.Errorf("%s was deleted %v after its time", p.Name, late)
		}
	}
}
