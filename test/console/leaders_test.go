package console

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// The page tells where each controller runs: in this process, or in the one that holds its Lease; and it shows when
// that changes.
func TestLeaders(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	spawn := func(name string) *world {
		p := windlass.SpawnReplica(t, c,
			windlass.Replica{Name: name, Fields: "leaderElection: {leaderElect: true, standby: warm}\n"},
			"serviceaccount-controller", "replicaset-controller")
		p.AwaitReady(t)
		return &world{Cluster: c, client: c.Client(), host: p}
	}
	holder := func() (at string) { // a warm standby is ready before it has asked for the Lease
		cluster.Eventually(t, time.Minute, "the Lease has a holder", func() (bool, string) {
			l, err := c.Client().CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager",
				metav1.GetOptions{})
			if err != nil || l.Spec.HolderIdentity == nil {
				return false, fmt.Sprint(err)
			}
			at = *l.Spec.HolderIdentity
			return at != "", at
		})
		return at
	}
	leader := spawn("first")
	first := holder()
	standby := spawn("second")
	pages := map[string]*tab{}
	for name, w := range map[string]*world{"leader": leader, "standby": standby} {
		pages[name] = newTab(t)
		pages[name].runSteps("the console", chromedp.Navigate(w.openConsole(t)))
	}
	pages["leader"].awaitText("the leader runs its controllers", "#controllers", "Leader", "replicaset-controller",
		"Running",
		"here")
	pages["standby"].awaitText("the standby names the leader", "#controllers", "Leader", "replicaset-controller",
		"Standby",
		first)

	leader.host.KillManager(t, syscall.SIGKILL)
	pages["standby"].awaitText("the standby leads", "#controllers", "replicaset-controller", "Running", "here")
	if second := holder(); second == first {
		t.Errorf("the Lease is still %s's", second)
	}
}
