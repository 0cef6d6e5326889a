// Package readyourwrites checks that no controller acts twice because its cache is behind or an answer was lost.
package readyourwrites

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedapps "k8s.io/client-go/kubernetes/typed/apps/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/faults"
	"github.com/windlass-dev/windlass/test/windlass"
)

const (
	namespace = "default"
	replicas  = 250
)

// A scale from 0 to 250 and back makes exactly 250 creates and 250 deletes, whatever the network does to the cache or
// to the answers.
func TestScaleWritesOnce(t *testing.T) {
	lossy := func() func(*http.Request) bool {
		r := rand.New(rand.NewPCG(1, 2))
		return func(*http.Request) bool { return r.IntN(10) == 0 }
	}

	for name, set := range map[string]func(*faults.Faults){
		"clean":                        func(*faults.Faults) {},
		"cache delayed by two seconds": func(f *faults.Faults) { f.WatchDelay.Store(int64(2 * time.Second)) },
		"answers lost after the server committed":  func(f *faults.Faults) { f.After = synchronised(lossy()) },
		"requests lost before the server saw them": func(f *faults.Faults) { f.Before = synchronised(lossy()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Start(t, cluster.Options{Nodes: 5, Audit: true})
			f := &faults.Faults{}
			set(f)
			w := windlass.Start(t, c, windlass.Options{Wrap: f.Wrap,
				Controllers: []string{"serviceaccount-controller", "replicaset-controller"}})
			scaleToZero(t, c)
			w.Stop(t)
			windlass.ExpectRoles(t, c)
			expectWrites(t, c, "create", replicas, http.StatusCreated)
			expectDeletes(t, c, f)
			if f.After != nil || f.Before != nil {
				if n := f.Lost.Load(); n < 20 {
					t.Errorf("only %d requests were lost: the test tests nothing", n)
				}
			}
		})
	}
}

// A manager that is stopped in the middle of a scale-up ends what it has begun; its successor makes what is missing and
// nothing twice.
func TestStopMidway(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Nodes: 5, Audit: true})
	o := windlass.Options{Controllers: []string{"serviceaccount-controller", "replicaset-controller"},
		Configure: func(k *config.Configuration) {
			// a scale-up takes a minute: longer than it takes to see that it has begun and to stop
			k.ClientConnection.QPS, k.ClientConnection.Burst = 4, 4
		}}
	first := windlass.Start(t, c, o)
	_, status := createReplicaSet(t, c)
	cluster.Eventually(t, time.Minute, "some pods", func() (bool, string) {
		n := created(t, c)
		return n > 25, fmt.Sprint(n)
	})
	first.Stop(t)
	if n := created(t, c); n >= replicas {
		t.Fatalf("all %d pods were made before the stop: the test tests nothing", n)
	}

	o.Configure = nil
	windlass.Start(t, c, o)
	cluster.Eventually(t, 3*time.Minute, "all pods are ready", status(replicas))
	// One that the end of the stop has cut short may be done without an answer.
	cluster.Eventually(t, cluster.Patience, "all writes are in the audit log", func() (bool, string) {
		n := created(t, c)
		return n >= replicas-1, fmt.Sprint(n)
	})
	if n := created(t, c); n > replicas {
		t.Errorf("%d pods were created, want %d", n, replicas)
	}
}

// createReplicaSet makes a ReplicaSet of that size; status returns a condition on its status.
func createReplicaSet(t *testing.T, c *cluster.Cluster) (sets typedapps.ReplicaSetInterface,
	status func(want int32) func() (bool, string)) {
	ctx := t.Context()
	client := c.Client()
	windlass.Account(t, client, "default")
	sets = client.AppsV1().ReplicaSets(namespace)
	n := int32(replicas)
	labels := map[string]string{"app": "web"}
	_, err := sets.Create(ctx, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.ReplicaSetSpec{
		Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status = func(want int32) func() (bool, string) {
		return func() (bool, string) {
			s, err := sets.Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			return s.Status.ObservedGeneration == s.Generation && s.Status.Replicas == want && s.Status.ReadyReplicas == want,
				fmt.Sprintf("%+v", s.Status)
		}
	}
	return sets, status
}

func scaleToZero(t *testing.T, c *cluster.Cluster) {
	ctx, client := t.Context(), c.Client()
	sets, status := createReplicaSet(t, c)
	cluster.Eventually(t, 3*time.Minute, "all pods are ready", status(replicas))
	if _, err := sets.Patch(ctx, "web", "application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, 3*time.Minute, "no replicas", status(0))
	cluster.Eventually(t, 3*time.Minute, "no pods", func() (bool, string) {
		l, err := client.CoreV1().Pods(namespace).List(context.WithoutCancel(ctx), metav1.ListOptions{Limit: 1})
		if err != nil {
			return false, err.Error()
		}
		return len(l.Items) == 0, "pods are left"
	})
}

// expectWrites counts the pods that the controller really created or deleted: what the server refused doesn't count.
func expectWrites(t *testing.T, c *cluster.Cluster, verb string, want, code int) {
	t.Helper()
	cluster.Eventually(t, cluster.Patience, "all writes are in the audit log", func() (bool, string) {
		n := countRequests(t, c, verb, code) // what a write leads to may be seen before its request ends
		return n >= want, fmt.Sprintf("%d %ss of %d", n, verb, want)
	})
	got := countRequests(t, c, verb, code)
	if got != want {
		t.Errorf("%d pods were %sd with code %d, want %d", got, verb, code, want)
	}
}

// expectDeletes counts the pods that were deleted: each once. Where the answer to a delete was lost the same delete is
// sent again, by UID: the server answers it a second time as long as the pod is on its way out, and nothing more
// happens.
func expectDeletes(t *testing.T, c *cluster.Cluster, f *faults.Faults) {
	t.Helper()
	pods, all := map[string]bool{}, 0
	cluster.Eventually(t, cluster.Patience, "all deletes are in the audit log", func() (bool, string) {
		clear(pods)
		all = 0
		for _, e := range requests(t, c, "delete", http.StatusOK) {
			pods[e.Name] = true
			all++
		}
		return len(pods) >= replicas, fmt.Sprintf("%d of %d pods", len(pods), replicas)
	})
	if len(pods) != replicas {
		t.Errorf("%d pods were deleted, want %d", len(pods), replicas)
	}
	repeated := 0
	if f.After != nil {
		repeated = int(f.Lost.Load())
	}
	if all > replicas+repeated {
		t.Errorf("%d deletes of %d pods, though only %d answers were lost", all, replicas, repeated)
	}
}

func created(t *testing.T, c *cluster.Cluster) int {
	return countRequests(t, c, "create", http.StatusCreated)
}

func countRequests(t *testing.T, c *cluster.Cluster, verb string, code int) int {
	return len(requests(t, c, verb, code))
}

// requests are the controller's requests for pods that ended with the code.
func requests(t *testing.T, c *cluster.Cluster, verb string, code int) []cluster.Event {
	return c.Audit(t, cluster.Filter{Verbs: []string{verb}, Resources: []string{"pods"},
		Users: []string{"system:serviceaccount:kube-system:replicaset-controller"}, Codes: []int{code}})
}

func synchronised(f func(*http.Request) bool) func(*http.Request) bool {
	turn := make(chan struct{}, 1)
	return func(r *http.Request) bool {
		turn <- struct{}{}
		defer func() { <-turn }()
		return f(r)
	}
}
