package parity

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// A manager that is stopped in the middle of a roll-out leaves it to the next, which ends it within its bounds and
// makes no pod twice.
func restart(t *testing.T, c *cluster.Cluster) {
	const n = 20
	m := windlass.Start(t, c, windlass.Options{Controllers: workloadControllers})
	s := newSpace(t, c, "restart", false)
	s.createDeployment(n, setBounds(2, 1))
	s.complete(n)
	s.changeDeployment(setImage("web:2"))
	updated := func() (some int) {
		for _, p := range s.podHistory.currentWorld() {
			if p.Spec.Containers[0].Image == "web:2" {
				some++
			}
		}
		return some
	}

	s.eventually("some new pods", func() (bool, string) { return updated() >= 3, "" })
	m.Stop(t)
	if some := updated(); some == n {
		t.Fatal("the roll-out was over before the manager stopped: the test tests nothing")
	}

	windlass.Start(t, c, windlass.Options{Controllers: workloadControllers})
	s.complete(n)
	s.eventually("old pods are gone", func() (bool, string) {
		l := s.listPods()
		for _, p := range l {
			if p.Spec.Containers[0].Image != "web:2" || p.Status.Phase != corev1.PodRunning {
				return false, p.Name
			}
		}
		return len(l) == n, fmt.Sprint(len(l))
	})

	s.expectBounds(n-1, n+2)
	created := c.Audit(t, cluster.Filter{Verbs: []string{"create"}, Resources: []string{"pods"}, Namespace: s.name,
		Codes: []int{http.StatusCreated}})
	if len(created) != 2*n {
		t.Errorf("%d pods were made, want %d", len(created), 2*n)
	}
}
