// Package console looks at a running windlass as people do: through the console in a browser, and with the commands of
// docs/console.md.
package console

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

var update = flag.Bool("update", false, "write docs/console.png and the outputs in docs/console.md anew")

// The console shows what runs, which key is stuck and why, what a shadow would do, and a swap as it happens; texts of
// the cluster's stay texts.
func TestConsole(t *testing.T) {
	w := newWorld(t)
	x := newTab(t)
	x.runSteps("the console", chromedp.Navigate(w.openConsole(t)))
	x.awaitText("the controllers run", "#controllers", "deployment-controller", "replicaset-controller", "Running")
	x.awaitText("what doesn't run, and why", "#absent", "device-taint-eviction-controller", "isn't built yet", "namespace-controller",
		"Disabled", "is off unless --controllers names it", "2 v1/nodes")
	x.awaitText("it is live", "header", "live", fmt.Sprint(w.host.PID))
	if at := evaluate[string](x, "location.href"); strings.Contains(at, "once") {
		t.Errorf("the one-time token stays in the address: %s", at)
	}
	evaluate[int](x, "window.mark = 1") // a reload would lose it

	w.populate(t)
	w.forbidPods(t, shop, closed)
	w.createDeployment(t, shop, "web")
	x.awaitText("a stuck key is told", "#troubles", "Warning: replicaset-controller: 1 key stuck", "shop/web-", closed,
		"windlass get keys --controller replicaset-controller")

	if first := evaluate[string](x, "document.querySelector('#controllers tbody th').textContent"); first !=
		"replicaset-controller" {
		t.Errorf("%s is before the controller with the stuck key", first)
	}
	x.pressButton("#troubles", "replicaset-controller")
	x.awaitText("its keys, its error, its syncs", "#detail", "Stuck keys", "shop/web-", "failing", closed,
		"Last recorded syncs", "event on apps/v1/replicasets", "Last error")
	x.awaitText("what its shadow would do, as text", "#detail", "Its shadow answers differently", hostile)
	if *update {
		w.keepBusy(t)
		picture(x, "../../docs/console.png")
	}
	x.checkNames()
	for _, scheme := range []string{"dark", "light"} {
		x.setColorScheme(scheme)
		for _, f := range evaluate[[]string](x, faint) {
			t.Errorf("%s: too faint to read: %s", scheme, f)
		}
	}
	t.Run("command line", func(t *testing.T) { documented(t, w) })

	w.forbidPods(t, alley, hostile)
	w.createDeployment(t, alley, "web")
	x.awaitText("an error of the API server's, as text", "#detail", "alley/web-", hostile)

	x.pressButton("#detail", "shop/web-")
	x.awaitText("one key alone", "#detail", "Key", "shop/web-", "All keys")
	x.awaitText("its syncs", "#detail [aria-label^=Recorded] tbody", ":")
	x.pressButton("#detail [aria-label^=Recorded] tbody", ":")
	x.awaitText("what went into its last sync, and what came out", "#sync", "Objects in", "apps/v1/replicasets",
		"shop/web-", "Done in the middle", "create v1/pods shop/", "Effects out", "Written and recorded")
	evaluate[int](x, "document.querySelectorAll('#sync summary').forEach(e => e.click()) || 1")
	x.awaitText("what is in the objects, as text", "#sync", "replicas: 2", "<img src=x")
	x.pressButton("#detail", "Close")
	x.awaitText("closed", "main", "Swaps")
	if x.visibleText("#detail") != "" {
		t.Error("the controller is still open")
	}

	x.runSteps("a search with the keyboard alone", chromedp.KeyEvent("/"), chromedp.KeyEvent("shop/web"),
		chromedp.KeyEvent(kb.Enter))
	x.awaitText("what it finds", "#found", "Keys with “shop/web”", "shop/web-", "failing", "replicaset-controller",
		"deployment-controller")
	evaluate[int](x, "[...document.querySelectorAll('#controllers tbody th button')]"+
		".find(b => b.textContent === 'daemonset-controller').focus() || 1")
	x.runSteps("opening with the keyboard", chromedp.KeyEvent(kb.Enter))
	x.awaitText("the controller", "#detail", "daemonset-controller", "None: no key fails")
	x.runSteps("closing with the keyboard", chromedp.KeyEvent(kb.Escape))

	w.allowPods(t, shop)
	w.allowPods(t, alley)
	cluster.Eventually(t, time.Minute, "nothing is wrong any more", func() (bool, string) {
		seen := x.visibleText("#troubles")
		return !strings.Contains(seen, "Warning"), seen
	})

	w.replaceModule(t, variant(t))
	x.awaitText("the swap, as it happens", "#swaps", "replicaset", "on trial")
	w.createDeployment(t, "default", "more")
	cluster.Eventually(t, time.Minute, "the new version works", func() (bool, string) {
		n := workload.CountPods(t, w.client, "default", "more")
		return n == 2, fmt.Sprint(n, " pods")
	})
	w.replaceModule(t, assembleSimple(t, "(unreachable)"))
	x.awaitText("a bad version, and why it was rolled back", "#swaps", "rolled back", "trap: unreachable")
	x.awaitText("the version before is known to do", "#swaps", "ok")
	if evaluate[int](x, "window.mark || 0") != 1 {
		t.Error("the page was loaded anew")
	}
	x.runSteps("loading it anew", chromedp.Reload())
	x.awaitText("the session goes on", "header", "live", fmt.Sprint(w.host.PID))

	if title, images := evaluate[string](x, "document.title"),
		evaluate[int](x, "document.images.length"); title != "Windlass" ||
		images != 0 {
		t.Errorf("a text of the cluster's became markup: title %q, %d images", title, images)
	}
	for _, c := range x.complaints() {
		t.Errorf("the browser complains: %s", c)
	}
	t.Run("bearer token", func(t *testing.T) { testLogin(t, w) })
}

// The host's own page is anybody's and empty; a bearer token that the cluster gives rights to fills it.
func testLogin(t *testing.T, w *world) {
	if code, b := w.host.Do(t, http.MethodGet, "/"); code != http.StatusOK ||
		!strings.Contains(string(b), "<title>Windlass</title>") {
		t.Errorf("/ doesn't lead to the page: %d", code)
	}
	x := newTab(t, chromedp.IgnoreCertErrors)
	x.runSteps("the page", chromedp.Navigate(w.host.URL("/console")))
	x.awaitText("it asks who is there", "#login", "Bearer token", "windlass console")
	if seen := x.visibleText("#controllers tbody"); seen != "" {
		t.Errorf("shows to anybody: %s", seen)
	}

	enter := func(token string) {
		x.runSteps("a token", chromedp.SendKeys(chromedp.CSS("#token"), token), chromedp.KeyEvent(kb.Enter))
	}
	enter("guessed")
	x.awaitText("it is refused", "#login", "Refused:")
	enter(w.viewerToken(t))
	x.awaitText("it is let in", "#controllers", "deployment-controller")
	x.pressButton("#controllers", "replicaset-controller")
	x.awaitText("its syncs", "#detail", "Last recorded syncs", "ok")
	x.pressButton("#detail [aria-label^=Recorded] tbody", ":")
	x.awaitText("who may only look isn't shown what is in objects", "#sync", "can't be shown",
		"/debug/recordings/replicaset-controller/sync")
	if kept := evaluate[int](x,
		"Object.keys({...localStorage, ...sessionStorage}).length + document.cookie.length + document.querySelector('#token').value.length"); kept != 0 {
		t.Errorf("the token, or something else, is kept outside the page's memory")
	}
}
