package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/windlass-dev/windlass/host/console"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
)

// The long names that a large cluster has, and an error that says much.
const (
	longKey = "team-payments-production-europe/checkout-frontend-canary-7d9c6bfb84"
	longWhy = `pods "checkout-frontend-canary-7d9c6bfb84-x2v4q" is forbidden: exceeded quota: compute-resources, ` +
		`requested: requests.cpu=4,requests.memory=16Gi, used: requests.cpu=398,requests.memory=1596Gi, ` +
		`limited: requests.cpu=400`
)

// crowd is what a windlass with many controllers answers, one of which has a stuck key and one is quarantined.
type crowd struct {
	began   time.Time
	parked  atomic.Bool  // whether a key of a controller that is well waits for the cache
	denied  atomic.Bool  // whether only others may see what is in objects
	elapsed atomic.Int64 // how often the status was asked for
}

// serveCrowd serves the console of a crowd.
func serveCrowd(t *testing.T) (c *crowd, address string) {
	t.Helper()
	c = &crowd{began: time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)}
	mux := http.NewServeMux()
	mux.Handle("GET "+console.Path, console.Handler())
	for path, answer := range map[string]func(*http.Request) any{
		"/windlass/v1/status":      func(*http.Request) any { return c.status() },
		"/windlass/v1/keys":        c.keys,
		"/windlass/v1/syncs":       c.syncs,
		"/windlass/v1/differences": func(*http.Request) any { return []controller.Difference{} },
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(answer(r))
		})
	}
	mux.HandleFunc("GET /debug/recordings/{controller}/sync", func(w http.ResponseWriter, r *http.Request) {
		if c.denied.Load() {
			http.Error(w, "jane may not get recordings", http.StatusForbidden)
			return
		}
		_ = json.NewEncoder(w).Encode(c.whole(r))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return c, s.URL + console.Path
}

func (c *crowd) now() time.Time { return c.began.Add(time.Duration(c.elapsed.Add(1)) * time.Second) }

// crowded are controllers' names, by name.
var crowded = strings.Fields(`
	certificatesigningrequest-approving-controller certificatesigningrequest-cleaner-controller
	clusterrole-aggregation-controller cronjob-controller daemonset-controller daemonset-node-updates
	deployment-controller disruption-controller endpoints-controller endpointslice-controller
	endpointslice-mirroring-controller ephemeral-volume-controller garbage-collector-controller
	horizontal-pod-autoscaler-controller job-controller job-orphan-pod-controller
	legacy-serviceaccount-token-cleaner-controller namespace-controller node-ipam-controller persistentvolume-protection-controller
	persistentvolumeclaim-protection-controller pod-garbage-collector-controller replicaset-controller
	replicationcontroller-controller resourcequota-controller root-ca-certificate-publisher-controller
	service-cidr-controller serviceaccount-controller statefulset-controller ttl-after-finished-controller ttl-controller
	volumeattributesclass-protection-controller`)

func (c *crowd) status() *state.Status {
	now := c.now()
	s := &state.Status{
		Process: state.ProcessStatus{Host: "control-plane-1", PID: 4711, Started: c.began.Add(-40 * time.Hour), Now: now,
			Server: "https://10.0.0.1:6443"},
		Plugins: []state.PluginStatus{}, Absent: []state.Absent{}, Swaps: []state.Swap{},
	}

	for i, name := range crowded {
		plugin := strings.TrimSuffix(name, "-controller")
		x := state.ControllerStatus{Name: name, Plugin: plugin, Digest: fmt.Sprintf("sha256:%064x", i+1), State: "Running",
			Workers: 5, Queue: i % 3, Syncs: state.Syncs{Total: 1e4 + now.Unix()%1e5*int64(i%5), P50: 0.0012 * float64(i+1),
				P99: 0.021 * float64(i+1), Memory: 3 << 20},
			Writes: state.Writes{Verbs: map[string]int64{"update": int64(i) * 900}}}
		switch name {
		case "replicaset-controller":
			x.Failing, x.Syncs.Failed = 1, 14
			x.Causes = []controller.Cause{{Text: longWhy, Keys: 1, Oldest: *c.stuck()}}
			x.Oldest, x.Last = c.stuck(), &controller.Problem{Time: c.began, Key: longKey, Result: "error", Error: longWhy}
		case "statefulset-controller":
			x.State, x.Message = "Quarantined", "trap: unreachable, for nearly all keys of three namespaces"
		case "job-controller":
			if c.parked.Load() {
				x.Parked = 1
			}
		}
		s.Controllers = append(s.Controllers, x)
		s.Plugins = append(s.Plugins, state.PluginStatus{Name: plugin, Version: "1.0.0", Digest: x.Digest, Origin: "built in",
			Since: c.began.Add(-time.Hour), Controllers: []string{name}, Instances: 2})
	}
	s.Troubles = state.Troubles(s)
	return s
}

func (c *crowd) stuck() *controller.Stuck {
	return &controller.Stuck{Controller: "replicaset-controller", Key: longKey, State: controller.Failing, Result: "error",
		Error: longWhy, Tries: 14, Since: c.began.Add(-time.Minute), Next: c.began.Add(time.Hour)}
}

func (c *crowd) keys(r *http.Request) any {
	k := state.Keys{Keys: []controller.Stuck{}, Waiting: []controller.Stuck{}}
	if x := c.stuck(); asksFor(r, x.Controller, x.Key) {
		k.Keys, k.All = append(k.Keys, *x), 1
	}
	return k
}

func (c *crowd) syncs(r *http.Request) any {
	all := state.Recorded{Syncs: []state.Sync{}}
	for i := range 12 {
		s := state.Sync{Controller: "replicaset-controller", Key: longKey, Time: c.began.Add(-time.Duration(i) * time.Second),
			Seconds: 0.0181, Result: "error", Error: longWhy, Did: []string{"event on apps/v1/replicasets " + longKey}}
		if i%3 == 2 {
			s.Key, s.Result, s.Error = fmt.Sprintf("shop/web-%d", i), "ok", ""
			s.Did = []string{"create v1/pods shop/web-1-x2v4q"}
		}
		if asksFor(r, s.Controller, s.Key) {
			all.Syncs = append(all.Syncs, s)
		}
	}
	all.All = len(all.Syncs)
	return all
}

func asksFor(r *http.Request, controller, key string) bool {
	q := r.URL.Query()
	return strings.Contains(key, q.Get("match")) && (q.Get("controller") == "" || q.Get("controller") == controller) &&
		(q.Get("key") == "" || q.Get("key") == key)
}

func (c *crowd) whole(r *http.Request) any {
	began, _ := time.Parse(time.RFC3339Nano, r.URL.Query().Get("time"))
	named := func(name string) map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": "team-payments-production-europe", "name": name,
			"annotations": map[string]any{"note": hostile, "on": "yes"}},
			"spec": map[string]any{"replicas": 4, "args": []any{"--a", "b: c"}}}
	}
	pod := named("checkout-frontend-canary-7d9c6bfb84-")
	return &record.Shown{Controller: r.PathValue("controller"), Key: r.URL.Query().Get("key"), Time: began, Took: "18.1ms",
		Attempt: 13, Result: "error", Error: longWhy, Plugin: "replicaset 1.0.0", Digest: fmt.Sprintf("sha256:%064x", 22),
		Snapshot: []record.ShownView{
			{View: "set", Resource: "apps/v1/replicasets", Objects: []any{named("checkout-frontend-canary-7d9c6bfb84")}},
			{View: "pods", Resource: "v1/pods", Objects: []any{named("checkout-a"), named("checkout-b")}},
			{View: "orphans", Resource: "v1/pods", Guarded: true},
		},
		Performed: []record.ShownPerformed{{Note: record.Note{Do: "1, 2, 4, … at once", Members: []record.Note{
			{Do: "create v1/pods team-payments-production-europe/", Object: pod}}}, Outcome: "Forbidden: " + longWhy}},
		Answer: &record.Answer{Error: longWhy, RequeueAfter: "5m0s", Effects: []record.Note{
			{Do: "update apps/v1/replicasets/status " + longKey, With: []string{"resourceVersion 4711"},
				Object: named("checkout-frontend-canary-7d9c6bfb84")}}},
		Wrote: []string{"event on apps/v1/replicasets " + longKey},
	}
}

// openCrowd opens the console of a crowd in a window of a width.
func openCrowd(t *testing.T, width int) (*tab, *crowd) {
	t.Helper()
	c, address := serveCrowd(t)
	x := newTab(t)
	x.setWidth(width)
	x.runSteps("the console", chromedp.Navigate(address))
	x.awaitRows()
	return x, c
}

// awaitRows waits until the table has a crowd.
func (x *tab) awaitRows() {
	x.t.Helper()
	cluster.Eventually(x.t, time.Minute, "the controllers are listed", func() (bool, string) {
		n := evaluate[int](x, "document.querySelectorAll('#controllers tbody tr').length")
		return n == len(crowded), fmt.Sprint(n)
	})
}

// awaitLooks waits until the page has shown a few more states.
func (x *tab) awaitLooks(c *crowd) {
	x.t.Helper()
	const looks = 4
	from := c.elapsed.Load()
	cluster.Eventually(x.t, time.Minute, "the page looks again", func() (bool, string) {
		n := c.elapsed.Load() - from
		return n >= looks, fmt.Sprint(n, " times")
	})
}

// box is where an element is in the window.
type box struct{ Left, Top, Right, Bottom float64 }

func (x *tab) boxOf(selector string) box {
	x.t.Helper()
	return evaluate[box](x, fmt.Sprintf(`(({ left, top, right, bottom }) => ({ left, top, right, bottom }))(
		document.querySelector(%q).getBoundingClientRect())`, selector))
}

// scrollToLastRow has the last row of the table in sight.
func (x *tab) scrollToLastRow() {
	x.t.Helper()
	evaluate[int](x, "(document.querySelector('#controllers tbody tr:last-child').scrollIntoView({ block: 'center' }), 1)")
}

// rowNames returns the controllers in the order of the table.
func (x *tab) rowNames() []string {
	x.t.Helper()
	return evaluate[[]string](x, "[...document.querySelectorAll('#controllers tbody th')].map(e => e.textContent)")
}

// Controllers in trouble come first, the worst before the others, then all by name. Keys that are parked for a moment
// don't make rows jump. A header sorts, the other way round at the second click, and no more at the third.
func TestTroubleComesFirst(t *testing.T) {
	x, c := openCrowd(t, 1280)
	want := []string{"statefulset-controller", "replicaset-controller"}
	for _, name := range crowded {
		if !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	check := func(when string, want []string) {
		t.Helper()
		if got := x.rowNames(); !slices.Equal(got, want) {
			t.Errorf("%s: got %s, want %s", when, got, want)
		}
	}

	check("at first", want)
	c.parked.Store(true)
	x.awaitText("a parked key is counted", "#totals", "stuck keys\n2")
	check("with a key that was parked just now", want)
	x.awaitLooks(c)
	for i, name := range want {
		if name == "job-controller" {
			check("with a key that stays parked", slices.Insert(slices.Delete(slices.Clone(want), i, i+1), 2, name))
		}
	}
	c.parked.Store(false)
	x.awaitText("it is no more", "#totals", "stuck keys\n1")

	x.pressButton("#controllers thead", "Name")
	check("by name", crowded)
	x.pressButton("#controllers thead", "Name")
	down := slices.Clone(crowded)
	slices.Reverse(down)
	check("by name, the other way round", down)
	x.pressButton("#controllers thead", "Name")
	check("as at first", want)
}

// Whatever is opened stands beside the table where there is room, and is in sight from any row; below the table it is
// brought into sight. The column that says whether keys are stuck is whole.
func TestWhatIsOpenedIsInSight(t *testing.T) {
	x, _ := openCrowd(t, 1280)
	whole := func(width int, when string) {
		t.Helper()
		stuck, around := x.boxOf("#controllers th[data-column=stuck]"), x.boxOf("#controllers")
		pane := evaluate[box](x, `(({ left, top, right, bottom }) => ({ left, top, right, bottom }))(
			document.querySelector("#controllers").closest(".wide").getBoundingClientRect())`)
		if stuck.Right <= stuck.Left || stuck.Right > pane.Right || pane.Right > float64(width) {
			t.Errorf("%d px, %s: the column Stuck isn't whole: %v in %v", width, when, stuck, pane)
		}
		if around.Right > pane.Right {
			t.Errorf("%d px, %s: the table is cut off: %v in %v", width, when, around, pane)
		}
	}

	for _, width := range []int{1280, 1440} {
		x.setWidth(width)
		whole(width, "nothing open")
		x.scrollToLastRow()
		x.pressButton("#controllers tbody tr:last-child", "volumeattributesclass-protection-controller")
		x.awaitText("the last one is open", "#detail", "volumeattributesclass-protection-controller", "Stuck keys")
		x.checkInSight("what was opened from the last row", "#detail-title")
		whole(width, "a controller open")
		table, opened := x.boxOf("#controllers"), x.boxOf("#detail")
		if opened.Left < table.Right || opened.Right > float64(width) {
			t.Errorf("%d px: what is open isn't beside the table: %v, %v", width, opened, table)
		}
		x.scrollToLastRow()
		x.checkInSight("what is open, however far one has scrolled", "#detail-title")
		x.pressButton("#detail", "Close")
	}

	x.setWidth(800)
	x.pressButton("#controllers", "replicaset-controller")
	x.awaitText("it is open", "#detail", "replicaset-controller", longKey)
	x.checkInSight("what was opened in a narrow window", "#detail-title")
	if table, opened := x.boxOf("#controllers"), x.boxOf("#detail"); opened.Top < table.Bottom {
		t.Errorf("800 px: what is open isn't below the table: %v, %v", opened, table)
	}
}

// What was closed is opened again as it was, and opens while the page is paused, too.
func TestOpeningAgain(t *testing.T) {
	x, c := openCrowd(t, 1280)
	for range 2 {
		x.pressButton("#controllers", "replicaset-controller")
		x.awaitText("it is open", "#detail", "Stuck keys", longKey, "Last recorded syncs", "shop/web-2")
		x.pressButton("#detail", "Close")
		if seen := x.visibleText("#detail"); seen != "" {
			t.Errorf("it is still open: %s", seen)
		}
	}

	x.pressButton("header", "Pause")
	x.awaitText("it is paused", "#live", "paused")
	x.pressButton("#controllers", "replicaset-controller")
	x.awaitText("it is open while paused", "#detail", "Stuck keys", longKey, "Last recorded syncs", "shop/web-2")
	if seen := x.visibleText("#live"); seen != "paused" {
		t.Errorf("it is %s", seen)
	}
	x.pressButton("header", "Resume")
	x.awaitLooks(c)
	x.awaitText("it goes on", "#live", "live")
}

// What a search finds is brought into sight; the only key that it finds is opened.
func TestSearchShowsWhatItFinds(t *testing.T) {
	x, _ := openCrowd(t, 1280)
	for _, width := range []int{1280, 800} {
		x.setWidth(width)
		search := func(text string) {
			x.scrollToLastRow()
			evaluate[int](x, "(document.querySelector('#key').value = '', document.activeElement.blur(), 1)")
			x.runSteps("a search", chromedp.KeyEvent("/"), chromedp.KeyEvent(text), chromedp.KeyEvent(kb.Enter))
		}
		search("e")
		x.awaitText("what it finds", "#found", "Keys with “e”", longKey, "shop/web-2", "replicaset-controller")
		x.checkInSight("what it finds", "#found-title")
		x.pressButton("#found", "Close")
		search("frontend")
		x.awaitText("its only key is open", "#detail", "replicaset-controller", "Key", longKey, "Why it is stuck", longWhy)
		x.checkInSight("the key", "#detail-title")
		if seen := x.visibleText("#found"); seen != "" {
			t.Errorf("the search is still open: %s", seen)
		}
		x.pressButton("#detail", "Close")
	}
}

// From a warning it is one click to its key and that key's last syncs, from a sync one to the objects that went in and
// the effects that came out. What is unfolded stays so while the page goes on.
func TestFromWarningToEffects(t *testing.T) {
	x, c := openCrowd(t, 1280)
	x.pressButton("#troubles", longKey)
	x.awaitText("the key and its syncs", "#detail", "Key", longKey, "Why it is stuck", longWhy, "Last recorded syncs",
		"event on apps/v1/replicasets "+longKey)
	if seen := x.visibleText("#detail"); strings.Contains(seen, "shop/web-2") {
		t.Errorf("it shows other keys: %s", seen)
	}

	x.pressButton("#detail [aria-label^=Recorded] tbody", ":")
	x.awaitText("the sync", "#sync", "failures before it", "Objects in", "set apps/v1/replicasets: 1",
		longKey, "team-payments-production-europe/checkout-b", "orphans v1/pods: not looked at",
		"Done in the middle", "create v1/pods", "Effects out", "update apps/v1/replicasets/status "+longKey,
		"resourceVersion 4711", "again after 5m0s", "Written and recorded", "event on apps/v1/replicasets "+longKey)
	x.checkInSight("the sync", "#detail-title")
	const marked = "document.querySelectorAll('#detail tr[aria-current]').length > 0"
	if !evaluate[bool](x, marked) {
		t.Error("the list of syncs doesn't mark the open one")
	}

	unfold := "document.querySelector('#sync summary').click() || 1"
	evaluate[int](x, unfold)
	x.awaitLooks(c)
	x.awaitText("the object, as text, and it stays unfolded", "#sync", "note: "+strconv.Quote(hostile),
		`- "b: c"`, "replicas: 4")
	x.checkNames()
	for _, scheme := range []string{"dark", "light"} {
		x.setColorScheme(scheme)
		for _, f := range evaluate[[]string](x, faint) {
			t.Errorf("%s: too faint to read: %s", scheme, f)
		}
	}

	x.pressButton("#detail", "All syncs")
	x.awaitText("the key again", "#detail", "Why it is stuck")
	c.denied.Store(true)
	x.pressButton("#detail [aria-label^=Recorded] tbody", ":")
	x.awaitText("who may not see objects is told so", "#sync", "can't be shown", "jane may not get recordings")
	if seen := x.visibleText("#login"); seen != "" {
		t.Errorf("they are asked who they are: %s", seen)
	}
	for _, said := range x.complaints() {
		if !strings.Contains(said, "403") {
			t.Errorf("the browser complains: %s", said)
		}
	}
}
