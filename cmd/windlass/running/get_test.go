package running

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/cmd/windlass/running/runningtest"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/state"
)

// began is when the host of these tests was started, by its own clock, which isn't ours.
var began = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func ailingStatus() *state.Status {
	return &state.Status{
		Process: state.ProcessStatus{Host: "node-1", PID: 4711, Started: began, Now: began.Add(3 * time.Hour),
			Server: "https://10.0.0.1:6443", Memory: state.Memory{Held: 48 << 20, Limit: 2 << 30}},
		Controllers: []state.ControllerStatus{
			{Name: "job-controller", Plugin: "job", Digest: "sha256:0123456789abcdef", State: "Quarantined",
				Message: "trap:\nunreachable", Queue: 7, Workers: 5, Failing: 2, Parked: 1,
				Syncs:  state.Syncs{Total: 1204, Failed: 31, P50: 0.00042, P99: 0.012, Memory: 3 << 20, Fuel: 12345},
				Writes: state.Writes{Verbs: map[string]int64{"create": 9, "delete": 2, "update": 40}}},
			{Name: "replicaset-controller", Plugin: "replicaset", Digest: "sha256:ef", State: "Running", Workers: 5, Failing: 1,
				Oldest: &controller.Stuck{Key: "shop/web\x1b[31m", State: controller.Failing, Tries: 4,
					Error: "pods \"web\" is forbidden"}, Syncs: state.Syncs{Total: 3, P50: 1.5, P99: 12}},
			{Name: "ttl-controller", Plugin: "ttl", Digest: "sha256:ab", State: "Running", Workers: 1, Resync: "17h3m20s",
				Differences: 3},
		},
		Plugins: []state.PluginStatus{{Name: "job", Version: "1.2", Digest: "sha256:0123456789abcdef",
			Origin: "/plugins/job.wasm", Since: began.Add(time.Hour), Trial: true, Before: "sha256:fedcba9876543210",
			Controllers: []string{"job-controller"}, Instances: 3, Busy: 1, Shadow: "sha256:cd", Failed: []string{"it trapped"},
			Memory: state.Memory{Held: 40 << 20, Limit: 512 << 20, By: map[string]int64{"instances": 40 << 20}}},
			{Name: "ttl", Version: "1.0", Digest: "sha256:ab", Origin: "/plugins/ttl.wasm", Since: began.Add(30 * time.Minute),
				Broken: "/plugins/ttl.wasm: truncated"}},
		Swaps: []state.Swap{{Time: began.Add(time.Hour), Plugin: "job", Result: "rolled back",
			From: "sha256:fedcba9876543210", FromVersion: "1.1", To: "sha256:0123456789abcdef", ToVersion: "1.2",
			Why: "trap: unreachable"},
			{Time: began.Add(40 * time.Minute), Plugin: "ttl", Result: "failed", From: "sha256:ab", FromVersion: "1.0",
				Why: "/plugins/ttl.wasm: truncated"},
			{Time: began.Add(30 * time.Minute), Plugin: "ttl", Result: "added", To: "sha256:ab", ToVersion: "1.0"}},
		LeftOut: []string{"/plugins/x.wasm: not a WebAssembly module"},
		Troubles: []state.Trouble{{Level: state.Bad, About: "job-controller", What: "is quarantined: trap: unreachable",
			Do: "windlass release job-controller"},
			{Level: state.Warning, About: "replicaset-controller", What: "1 key held up",
				Do: "windlass get keys --controller replicaset-controller"}},
		Absent: []state.Absent{{Name: "cronjob-controller", State: state.NotBuilt, Message: "isn't built yet",
			Resource: "batch/v1/cronjobs", Objects: 3},
			{Name: "podgc-controller", State: state.Disabled, Message: "is turned off by --controllers"}},
		Refused: "plugins[0].name: no plugin",
	}
}

// serveStatus serves what a windlass would; asked returns what the last request was about.
func serveStatus(t *testing.T, s *state.Status, healthy bool) (address string, asked func() string) {
	t.Helper()
	var last atomic.Pointer[string]
	mux := http.NewServeMux()
	serve := func(path string, at func(now time.Time) any) {
		mux.HandleFunc("GET /windlass/v1/"+path, func(w http.ResponseWriter, r *http.Request) {
			last.Store(&r.URL.RawQuery)
			_ = json.NewEncoder(w).Encode(at(time.Now()))
		})
	}
	serve("status", func(time.Time) any { return s })
	serve("keys", sampleKeys)
	serve("syncs", sampleSyncs)
	serve("differences", differences)

	mux.HandleFunc("GET /debug/recordings/{controller}/sync", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(record.Shown{Controller: r.PathValue("controller"), Key: r.URL.Query().Get("key")})
	})
	mux.HandleFunc("POST /windlass/v1/controllers/{name}/release", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		last.Store(&name)
		if name != "job-controller" {
			http.Error(w, "the controller isn't quarantined", http.StatusConflict)
		}
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if !healthy {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(w, "[+]ping ok\n[-]job-controller failed: quarantined\nhealthz check failed\n")
		}
	})
	return runningtest.Known(t, mux), func() string {
		if query := last.Load(); query != nil {
			return *query
		}
		return ""
	}
}

func sampleKeys(now time.Time) any {
	return state.Keys{All: 120, Keys: []controller.Stuck{
		{Controller: "job-controller", Key: "shop/pay", State: controller.Failing, Result: "trap", Error: "it trapped",
			Tries: 5, Since: now.Add(-15 * time.Minute), Next: now.Add(13 * time.Minute)},
		{Controller: "job-controller", Key: "shop/send", State: controller.GivenUp, Result: "error", Error: "forbidden",
			Tries: 16, Since: now.Add(-2 * time.Hour)},
		{Controller: "replicaset-controller", Key: "shop/web", State: controller.Parked, Since: now.Add(-11 * time.Minute),
			WaitsFor: []string{"v1/pods at resourceVersion 7: the cache is at 6"}},
		{Controller: "ttl-controller", State: controller.Syncing, Since: now.Add(-16 * time.Minute)},
	}, AllWaiting: 1, Waiting: []controller.Stuck{{Controller: "ttl-controller", Key: "shop/late",
		State: controller.Waiting, Since: now.Add(-4 * time.Minute), Next: now.Add(12 * time.Minute)}}}
}

func sampleSyncs(now time.Time) any {
	return state.Recorded{All: 2, Syncs: []state.Sync{
		{Controller: "job-controller", Key: "shop/pay", Time: now.Add(-12 * time.Minute), Seconds: 0.0042, Result: "error",
			Error: "no\x1b[2J\nquota", Digest: "sha256:0123456789abcdef",
			Did: []string{"create v1/pods shop/pay-1", "update batch/v1/jobs/status shop/pay"}},
		{Controller: "job-controller", Key: "shop/pay", Time: now.Add(-20 * time.Minute), Seconds: 0.0001, Result: "ok",
			Digest: "sha256:0123456789abcdef"},
	}}
}

func differences(time.Time) any {
	return []controller.Difference{{Controller: "ttl-controller", Key: "default/a", Live: "sha256:ab", Shadow: "sha256:cd",
		Text: "+ one pod more\n+ \x1b]0;owned\a"}}
}

// runCommand runs a command against a served status.
func runCommand(t *testing.T, address, args string) (stdout, stderr string, code int) {
	t.Helper()
	cmd, out, errs := answertest.Command(t, append(strings.Fields(args), "--server", address)...)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return out.String(), errs.String(), code
}

// What a running windlass says of its controllers, plugins, keys and shadows is shown to people; no text of a cluster's
// reaches the terminal but as text.
func TestGet(t *testing.T) {
	address, asked := serveStatus(t, ailingStatus(), true)
	for _, c := range []struct{ args, want, query string }{
		{args: "get controllers", want: `
NAME                    STATE         PLUGIN       VERSION   QUEUE   STUCK   SYNCS   ERRORS   P50      P99    MESSAGE
job-controller          Quarantined   job          1.2       7       3       1204    31       0.42ms   12ms   trap: unreachable
replicaset-controller   Running       replicaset             0       1       3       0        1.5s     12s    shop/web\x1b[31m: pods "web" is forbidden
ttl-controller          Running       ttl          1.0       0       0       0       0        -        -      3 differences of its shadow

NOT RUNNING          STATE      WHY
cronjob-controller   NotBuilt   isn't built yet: 3 batch/v1/cronjobs
podgc-controller     Disabled   is turned off by --controllers

Not applied: plugins[0].name: no plugin
`},
		{args: "get controllers -o name",
			want: "\njob-controller\nreplicaset-controller\nttl-controller\ncronjob-controller\npodgc-controller\n"},
		{args: "get plugins", want: `
NAME   VERSION   DIGEST         AGE    ORIGIN              STATE
job    1.2       0123456789ab   120m   /plugins/job.wasm   on trial, before it fedcba987654; shadow cd; failed: it trapped
ttl    1.0       ab             150m   /plugins/ttl.wasm   its file can't be used: /plugins/ttl.wasm: truncated

Left out: /plugins/x.wasm: not a WebAssembly module

Not applied: plugins[0].name: no plugin
`},
		{args: "get swaps", want: `
AGE    PLUGIN   FROM               TO                 RESULT        WHY
120m   job      1.1 fedcba987654   1.2 0123456789ab   rolled back   trap: unreachable
140m   ttl      1.0 ab             -                  failed        /plugins/ttl.wasm: truncated
150m   ttl      -                  1.0 ab             added
`},
		{args: "get keys", want: `
CONTROLLER              KEY         STATE      TRIES   AGE    NEXT              WHY
job-controller          shop/pay    failing    5       15m    12m               trap: it trapped
job-controller          shop/send   given up   16      120m   when it changes   forbidden
replicaset-controller   shop/web    parked     -       11m    -                 waits for v1/pods at resourceVersion 7: the cache is at 6
ttl-controller          -           syncing    -       16m    -
ttl-controller          shop/late   waiting    -       4m     11m
5 of 121: --limit shows more
`},
		{args: "get keys --controller job --match shop/ --limit 4", query: "controller=job&limit=4&match=shop%2F",
			want: "\nCONTROLLER"},
		{args: "get syncs --key shop/pay", query: "key=shop%2Fpay", want: `
AGE   CONTROLLER       KEY        RESULT   TOOK     DID                                    ERROR
12m   job-controller   shop/pay   error    4.2ms    create v1/pods shop/pay-1 and 1 more   no\x1b[2J quota
20m   job-controller   shop/pay   ok       0.10ms   nothing
`},
		{args: "get differences --controller ttl", query: "controller=ttl", want: `
0001-01-01T00:00:00Z ttl-controller default/a: ab is shadowed by cd, which answers differently:
+ one pod more
+ \x1b]0;owned\a
`},
	} {
		stdout, stderr, code := runCommand(t, address, c.args)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr)
		}
		if got := "\n" + stdout; got != c.want && (c.query == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: got%s\nwant%s", c.args, got, c.want)
		}
		if c.query != "" && asked() != c.query {
			t.Errorf("%s asks for %q", c.args, asked())
		}
	}
}

// To programs it is given as it is; wide tables have more columns.
func TestGetForPrograms(t *testing.T) {
	address, _ := serveStatus(t, ailingStatus(), true)
	for args, want := range map[string][]string{
		"get controllers -o json": {`"state": "Quarantined"`, `"queue": 7`, `"p99": 0.012`},
		"get plugins -o yaml":     {"trial: true\n", "held: 41943040\n", "instances: 41943040\n"},
		"get keys -o json":        {`"state": "given up"`, `"waitsFor": [`},
		"get controllers -o wide": {"DIGEST", "RESYNC", "17h3m20s", "0123456789ab", "update:40,create:9,delete:2", "3.0Mi"},
		"get plugins -o wide":     {"job-controller   3           1      40.0Mi   512.0Mi   on trial"},
		"get syncs -o wide":       {"create v1/pods shop/pay-1; update batch/v1/jobs/status shop/pay   0123456789ab   no\\x1b[2J quota"},
		"status -o json":          {`"pid": 4711`},
	} {
		stdout, stderr, _ := runCommand(t, address, args)
		for _, w := range want {
			if !strings.Contains(stdout, w) {
				t.Errorf("%s: %q isn't in\n%s%s", args, w, stdout, stderr)
			}
		}
	}
	if _, stderr, code := runCommand(t, address, "get keys -o name"); code != 1 ||
		!strings.Contains(stderr, `--output "name": must be wide, yaml, json, or left out`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A quarantine is ended by name.
func TestRelease(t *testing.T) {
	address, asked := serveStatus(t, ailingStatus(), true)
	if stdout, stderr, code := runCommand(t, address, "release job-controller"); stdout != "job-controller: released\n" ||
		asked() != "job-controller" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := runCommand(t, address, "release ttl-controller"); code != 1 ||
		!strings.Contains(stderr, "controller ttl-controller: ") ||
		!strings.Contains(stderr, "the controller isn't quarantined") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
