package console

import (
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

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
	leader := spawn("first")
	first := ""
	// It is ready before it has asked for the Lease, as a warm standby is.
	cluster.Eventually(t, time.Minute, "the first one has the Lease", func() (bool, string) {
		first = c.LeaseHolder(t)
		return first != "", "nobody has it"
	})
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
	if second := c.LeaseHolder(t); second == first || second == "" {
		t.Errorf("the Lease is %q's, and was %q's", second, first)
	}
}
