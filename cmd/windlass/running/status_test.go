package running

import (
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
)

// One screen says what is wrong and what to do; the exit code says it to programs.
func TestStatus(t *testing.T) {
	address, _ := serveStatus(t, ailingStatus(), false)
	stdout, stderr, code := runCommand(t, address, "status")
	want := `windlass on node-1, process 4711, up 3h, for the API server https://10.0.0.1:6443

health         failing: job-controller failed: quarantined
controllers    3: 2 running, 1 quarantined
not running    2: 1 not built yet, 1 disabled; windlass get controllers lists them
keys           7 in queues, 0 being synced, 4 stuck
syncs          1207, 31 of them failed
last swap      job, 120m ago: rolled back

BROKEN   job-controller: is quarantined: trap: unreachable
         windlass release job-controller
WARNING  replicaset-controller: 1 key held up
         windlass get keys --controller replicaset-controller
`
	if !strings.Contains(stdout, "windlass release --server "+address+" job-controller") {
		t.Errorf("what it proposes asks another windlass:\n%s", stdout)
	}
	if strings.ReplaceAll(stdout, " --server "+address, "") != want || stderr != "" || code != exitUnhealthy {
		t.Errorf("exit code %d: %s\ngot\n%s\nwant\n%s", code, stderr, stdout, want)
	}

	well := ailingStatus()
	well.Process.Guardian = 4710
	since := began.Add(time.Hour)
	well.Leaders = []state.LeaderStatus{{Group: "all", Lease: "kube-system/windlass", Holder: "node-1_x", Here: true,
		Since: &since, Controllers: []string{"ttl-controller"}},
		{Group: "apps", Lease: "kube-system/windlass-apps", Holder: "node-2_y",
			Controllers: []string{"replicaset-controller"}}}
	until := time.Date(2036, 11, 30, 1, 0, 0, 0, time.UTC)
	well.SigningKeys = []state.SigningKey{{Signs: "a", Files: []string{"ca.crt", "ca.key"}, Until: &until},
		{Signs: "b", Files: []string{"ca.crt", "ca.key"}, Until: &until}, {Signs: "tokens", Files: []string{"sa.key"}}}
	well.Controllers, well.Troubles, well.Swaps = well.Controllers[1:], well.Troubles[1:], nil
	address, _ = serveStatus(t, well, true)
	if stdout, stderr, code = runCommand(t, address, "status"); code != 0 ||
		!strings.HasPrefix(stdout, "windlass on node-1, process 4711 with guardian 4710, up 3h, ") ||
		!strings.Contains(stdout,
			"health         ok\nleader         kube-system/windlass: here, for 120m\nleader         kube-system/windlass-apps: node-2_y\n"+
				"signing        ca.crt until 2036-11-30: a, b\nsigning        sa.key: tokens\n") ||
		!strings.Contains(stdout, "WARNING  replicaset-controller: 1 key held up\n") {
		t.Errorf("single keys that fail are warnings: exit code %d: %s\n%s", code, stderr, stdout)
	}

	waits := ailingStatus()
	waits.Leaders = []state.LeaderStatus{{Group: "all", Lease: "kube-system/kube-controller-manager", Holder: "node-2_y"}}
	waits.Controllers, waits.Troubles = nil, nil
	address, _ = serveStatus(t, waits, true)
	if stdout, _, _ = runCommand(t, address, "status"); !strings.Contains(stdout, "Nothing is wrong, but no controller "+
		"runs here: it stands by for the Lease kube-system/kube-controller-manager, which node-2_y holds.\n") {
		t.Errorf("it doesn't say what it waits for:\n%s", stdout)
	}

	nobody, _ := cluster.FreeAddress(t)
	if _, stderr, code = runCommand(t, nobody, "status"); code != exitUnreachable ||
		!strings.Contains(stderr, nobody) || !strings.Contains(stderr, "does windlass run") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// What top shows is what happened between two looks, the busiest first.
func TestTop(t *testing.T) {
	before, now := ailingStatus(), ailingStatus()
	now.Process.Now = before.Process.Now.Add(2 * time.Second)
	now.Controllers[1].Syncs.Total += 100
	now.Controllers[1].Syncs.GuestSeconds = 0.5
	now.Controllers[0].Syncs.Failed += 4
	now.Controllers[0].Syncs.Total += 4
	now.Controllers[0].Writes.Verbs = map[string]int64{"create": 15, "delete": 2, "update": 40}
	x := &top{before: before, now: now}
	got := strings.Join(x.screenLines(), "\n") + "\n"
	want := `windlass on node-1, process 4711, up 3h: 3 controllers, 52.0 syncs/s, 3.0 writes/s, 25.0% of a processor in sandboxes, plugins hold 48.0Mi of 2048.0Mi
BROKEN job-controller: is quarantined: trap: unreachable

  SYNCS/S  ERRORS/S  WRITES/S   TIME     P50   P99  QUEUE  SYNCING  STUCK  ERRORS    HELD   BUDGET        STATE   CONTROLLER
     50.0       0.0       0.0  25.0%    1.5s   12s      0      0/5      1       0       -        -      Running   replicaset-controller
      2.0       2.0       3.0   0.0%  0.42ms  12ms      7      0/5      3      35  40.0Mi  512.0Mi  Quarantined   job-controller
      0.0       0.0       0.0   0.0%       -     -      0      0/1      0       0       -        -      Running   ttl-controller
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	first := func(order int) string {
		x.order = order
		return x.sortedLoads()[0].Name
	}
	for i, name := range []string{"replicaset-controller", "replicaset-controller", "job-controller", "job-controller",
		"job-controller"} {
		if got := first(i); got != name {
			t.Errorf("sorted by %s: %s is first, want %s", orders[i].name, got, name)
		}
	}
	if s := x.renderScreen(40, 5); strings.Count(s, "\n") != 4 || strings.Contains(s, "ttl-controller") {
		t.Errorf("doesn't fit: %q", s)
	}
	x.before = &state.Status{Process: state.ProcessStatus{Started: began.Add(-time.Hour)}}
	if l := x.sortedLoads()[0]; l.syncs != 0 {
		t.Errorf("another process's numbers are compared: %v syncs/s", l.syncs)
	}
}

// Where stdout isn't a terminal it is shown once.
func TestTopOnce(t *testing.T) {
	address, _ := serveStatus(t, ailingStatus(), true)
	stdout, stderr, code := runCommand(t, address, "top --interval 100ms --sort errors")
	if code != 0 || !strings.Contains(stdout, "CONTROLLER\n") || strings.Count(stdout, "job-controller\n") != 1 ||
		strings.Contains(stdout, "\x1b") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	for args, want := range map[string]string{"top --sort fun": `--sort "fun": must be syncs, time, queue, errors or name`,
		"top --interval 1ms": "--interval 1ms: must be at least 100ms"} {
		if _, stderr, code := runCommand(t, address, args); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d: %s", args, code, stderr)
		}
	}
}
