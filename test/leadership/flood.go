package leadership

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
)

// many is how many pods there are at the end of an even round.
const many = 120

// slowly is the field of the configuration file that has a round last for seconds: what is to happen in the middle of
// it must not come when all is done.
const slowly = "plugins: [{name: replicaset, api: {qps: 40, burst: 10}}]\n"

// createReplicaSet makes a ReplicaSet without pods, which rounds fill and empty.
func (w *world) createReplicaSet(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "many"}
	_, err := w.client.AppsV1().ReplicaSets(namespace).Create(t.Context(),
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "many"}, Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main",
					Image: "main:1"}}},
			},
		}}, metav1.CreateOptions{})
	mustSucceed(t, err)
}

// scaleInRound has a leader make all pods in even rounds and delete all in odd ones, and returns when it has done more
// than so many. It returns how many there will be.
func (w *world) scaleInRound(t *testing.T, round, done int) (want int) {
	t.Helper()
	want, under := many, func(n int) bool { return n > done }
	if round%2 == 1 {
		want, under = 0, func(n int) bool { return n < many-done }
	}
	_, err := w.client.AppsV1().ReplicaSets(namespace).Patch(t.Context(), "many", types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, want), metav1.PatchOptions{}, "scale")
	mustSucceed(t, err)
	eventually(t, "the leader is in the middle of it", func() (bool, string) {
		n, err := w.countPods(t.Context())
		return err == nil && under(n), fmt.Sprint(n, " pods")
	})
	return want
}

// awaitPods waits until there are so many pods, and the ReplicaSet says so.
func (w *world) awaitPods(t *testing.T, n int) {
	t.Helper()
	cluster.Poll(t, 100*time.Millisecond, patience, fmt.Sprint(n, " pods"), func() (bool, string) {
		have, err := w.countPods(t.Context())
		if err != nil {
			return false, err.Error()
		}
		s, err := w.client.AppsV1().ReplicaSets(namespace).Get(t.Context(), "many", metav1.GetOptions{})
		return err == nil && have == n && int(s.Status.Replicas) == n, fmt.Sprintf("%d pods, %v", have, err)
	})
}
