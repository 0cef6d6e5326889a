package state

import (
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/host/controller"
)

// What is wrong is said once, the worst first, each with what to do; what passes by itself isn't said.
func TestTroubles(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := Status{
		Process: ProcessStatus{Started: now.Add(-time.Hour), Now: now},
		Refused: "controllers[0]: nobody",
		Restart: []string{"leaderElection"},
		SigningKeys: []SigningKey{
			{Signs: "over", Files: []string{"a", "b"}, Until: &now},
			{Signs: "ends", Files: []string{"a", "b"}, Until: new(now.Add(expiringMax - 1))},
			{Signs: "lasts", Files: []string{"a", "b"}, Until: new(now.Add(expiringMax))},
			{Signs: "tokens", Files: []string{"a"}},
		},
		Keyless: []string{"tokens"},
		Missing: map[string]string{"mine": "no such image"},
		LeftOut: []string{"x.wasm: not a WebAssembly module", `plugin "mine": no such image`},
		Controllers: []ControllerStatus{
			{Name: "shadowed", State: "Running", Differences: 1},
			{Name: "conflicts", State: "Running", Failing: 1, Causes: []controller.Cause{{Text: "conflict", Keys: 1,
				Oldest: controller.Stuck{Key: "a/b", State: controller.Failing, Tries: 1, Error: "conflict"}}}},
			{Name: "drags", State: "Running", Failing: 1, Causes: []controller.Cause{{Text: "hung", Keys: 1,
				Oldest: controller.Stuck{Key: "a/b", State: controller.Failing, Tries: 1, Error: "hung",
					Since: now.Add(-failingMax - 1)}}}},
			{Name: "fails", State: "Running", Failing: 7, Causes: []controller.Cause{{Text: "no quota", Keys: 7,
				Oldest: controller.Stuck{Key: "a/b", State: controller.Failing, Tries: 3, Error: "no quota"}}}},
			{Name: "hastes", State: "Running", Restless: 2, Hastiest: &controller.Stuck{
				Key: "a/b", State: controller.Restless, Tries: 12, Error: "asks for the next sync in 1ns"}},
			{Name: "waits", State: "Running", Slow: 2, Slowest: &controller.Stuck{Key: "a/b", State: controller.Syncing,
				WaitsFor: []string{"the API server's answer to create v1/pods a/b-0 (for 31s)"}}},
			{Name: "doubts", State: "Running", Unsettled: 1, OldestUnsettled: &controller.Stuck{Key: "a/b",
				State: controller.Unsettled, WaitsFor: []string{"whether it was done: create v1/pods a/b-0"}}},
			{Name: "bad", State: "Quarantined", Message: "trap"},
			{Name: "ails", State: "Degraded", Message: "trap", Aside: 7},
			{Name: "idle", State: "Idle", Message: "settings are missing"},
			{Name: "starts", State: "Starting", Message: "waits for its caches"},
		},
		Plugins: []PluginStatus{
			{Name: "old", Failed: []string{"it trapped"}},
			{Name: "cut", Broken: "/plugins/cut.wasm: truncated"},
			{Name: "half", Memory: Memory{Held: 400, Limit: 500}},
			{Name: "full", Memory: Memory{Held: 401, Limit: 500}},
		},
	}

	var got []string
	for _, x := range Troubles(&s) {
		got = append(got, x.Level+" "+x.About)
		if x.What == "" || x.Do == "" && x.About != "idle" {
			t.Errorf("says too little: %+v", x)
		}
		if x.About == "configuration" && x.Level == Warning && !strings.HasPrefix(x.Do, "Restart windlass") {
			t.Errorf("what waits for a restart: %+v", x)
		}
		key := ""
		if strings.Contains(x.What, "a/b") {
			key = "a/b"
		}
		if x.Key != key || key != "" && x.Controller != x.About {
			t.Errorf("names the key %q of %q: %+v", x.Key, x.Controller, x)
		}
	}
	want := "bad configuration, bad signing of over, bad mine, bad plugins, bad bad, bad ails, bad idle, bad starts, bad cut, " +
		"warning signing of ends, warning configuration, warning hastes, warning waits, warning doubts, warning drags, warning fails, warning old, warning full, note signing, note shadowed"
	if g := strings.Join(got, ", "); g != want {
		t.Errorf("got %s, want %s", g, want)
	}

	s.Process.Started = now.Add(-time.Second)
	for _, x := range Troubles(&s) {
		if x.About == "starts" {
			t.Error("to start is no trouble at once")
		}
	}
	if all := Troubles(&Status{}); all == nil || len(all) != 0 {
		t.Errorf("%v", all)
	}
}

// Each cause is told once, with how many keys have it, whichever controllers' they are; so is what several controllers
// wait for.
func TestCausesAreToldOnce(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	held := func(name, key string, ago time.Duration) controller.Stuck {
		return controller.Stuck{Controller: name, Key: key, State: controller.Failing, Tries: 4, Error: "refused: " + key,
			Since: now.Add(-ago)}
	}
	s := Status{
		Process: ProcessStatus{Started: now.Add(-time.Hour), Now: now},
		Controllers: []ControllerStatus{
			{Name: "job-controller", State: "Running", Message: "v1/pods can't be read: forbidden",
				Causes: []controller.Cause{
					{Text: "refused: …", Keys: 40, Oldest: held("job-controller", "shop/a", time.Minute)},
					{Text: "no node", Keys: 2, Oldest: held("job-controller", "shop/b", time.Second)}}},
			{Name: "replicaset-controller", State: "Running", Message: "v1/pods can't be read: forbidden",
				Causes: []controller.Cause{
					{Text: "refused: …", Keys: 2, Oldest: held("replicaset-controller", "shop/c", time.Hour)}}},
		},
		Ending: []Ending{{"old", now.Add(-3 * time.Hour)}, {"young", now.Add(-time.Minute)}},
	}

	var got []string
	for _, x := range Troubles(&s) {
		got = append(got, x.About+": "+x.What+". "+x.Do)
	}
	want := []string{
		"job-controller, replicaset-controller: v1/pods can't be read: forbidden. It goes on with what was " +
			"there last. Where a definition has gone, so may the controller.",
		"job-controller, replicaset-controller: 42 keys stuck, the longest replicaset-controller's shop/c " +
			"(failing, 4 failed syncs): refused: shop/c. windlass get keys",
		"job-controller: 2 keys stuck, the longest shop/b (failing, 4 failed syncs): refused: shop/b. " +
			"windlass get keys --controller job-controller",
		"namespace old: has been terminating for 3h0m0s. kubectl get namespace old -o yaml: its conditions say " +
			"what is left in it, and which finalizers keep that.",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Objects that nobody acts for are told once for each resource, with what to do: to turn a controller on helps only
// where there is one.
func TestUnattended(t *testing.T) {
	s := Status{Absent: []Absent{
		{Name: "cronjob-controller", State: NotBuilt, Message: "isn't built yet", Resource: "batch/v1/cronjobs",
			Objects: 3},
		{Name: "job-controller", State: Disabled, Message: "is turned off by --controllers", Resource: "batch/v1/jobs",
			Objects: 1, Built: true},
		{Name: "node-lifecycle-controller", State: NotBuilt, Message: "isn't built yet", Resource: "v1/nodes", Objects: 2},
		{Name: "taint-eviction-controller", State: NotBuilt, Message: "isn't built yet", Resource: "v1/nodes", Objects: 2},
		{Name: "ttl-controller", State: NotBuilt, Message: "isn't built yet"},
	}}

	var got []string
	for _, x := range Troubles(&s) {
		got = append(got, x.Level+" "+x.About+": "+x.What+". "+x.Do)
	}
	want := []string{
		"note cronjob-controller: isn't built yet: no controller here handles 3 cronjobs.batch. Run one that " +
			"does beside this manager: windlass docs migrating.",
		"note job-controller: is turned off by --controllers: no controller here handles 1 jobs.batch. Turn it on " +
			"with --controllers, unless another manager runs it.",
		"note node-lifecycle-controller, taint-eviction-controller: don't run: no controller here handles 2 nodes. " +
			"Run one that does beside this manager: windlass docs migrating.",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
