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
)

var update = flag.Bool("update", false, "write docs/console.png and the outputs in docs/console.md anew")

// The console shows what runs, which key is stuck and why, what a shadow would do, and a swap as it happens; texts of
// the cluster's stay texts.
func TestConsole(t *testing.T) {
	w := newWorld(t)
	x := newTab(t)
	x.do("the console", chromedp.Navigate(w.open(t)))
	x.await("the controllers run", "#controllers", "deployment-controller", "replicaset-controller", "Running")
	x.await("what doesn't run, and why", "#absent", "cronjob-controller", "isn't built yet", "namespace-controller",
		"Disabled", "is off unless --controllers names it", "2 v1/nodes")
	x.await("it is live", "header", "live", fmt.Sprint(w.host.PID))
	if at := eval[string](x, "location.href"); strings.Contains(at, "once") {
		t.Errorf("the one-time token stays in the address: %s", at)
	}
	eval[int](x, "window.mark = 1") // a reload would lose it

	w.populate(t)
	w.forbid(t, shop, closed)
	w.deploy(t, shop, "web")
	x.await("a stuck key is told", "#troubles", "Warning: replicaset-controller: 1 key held up", "shop/web-", closed,
		"windlass get keys --controller replicaset-controller")

	x.press("#controllers", "replicaset-controller")
	x.await("its keys, its error, its syncs", "#detail", "Stuck keys", "shop/web-", "failing", closed,
		"Last recorded syncs", "event on apps/v1/replicasets", "Last error")
	x.await("what its shadow would do, as text", "#detail", "Its shadow answers otherwise", hostile)
	if *update {
		w.bustle(t)
		picture(x, "../../docs/console.png")
	}
	x.named()
	for _, scheme := range []string{"dark", "light"} {
		x.scheme(scheme)
		for _, f := range eval[[]string](x, faint) {
			t.Errorf("%s: too faint to read: %s", scheme, f)
		}
	}
	t.Run("command line", func(t *testing.T) { documented(t, w) })

	w.forbid(t, alley, hostile)
	w.deploy(t, alley, "web")
	x.await("an error of the API server's, as text", "#detail", "alley/web-", hostile)

	x.press("#detail", "shop/web-")
	x.await("one key alone", "#detail", "Key shop/web-", "All keys")
	x.press("#detail", "Close")
	x.await("closed", "main", "Swaps")
	if x.text("#detail") != "" {
		t.Error("the controller is still open")
	}

	x.do("a search with the keyboard alone", chromedp.KeyEvent("/"), chromedp.KeyEvent("shop/web"),
		chromedp.KeyEvent(kb.Enter))
	x.await("what it finds", "#found", "Keys with “shop/web”", "shop/web-", "failing", "replicaset-controller",
		"deployment-controller")
	x.do("opening with the keyboard", chromedp.Focus(chromedp.CSS(`#controllers tbody th button`)),
		chromedp.KeyEvent(kb.Enter))
	x.await("the first controller", "#detail", "daemonset-controller", "None: no key fails")
	x.do("closing with the keyboard", chromedp.KeyEvent(kb.Escape))

	w.allow(t, shop)
	w.allow(t, alley)
	cluster.Eventually(t, time.Minute, "nothing is wrong any more", func() (bool, string) {
		seen := x.text("#troubles")
		return !strings.Contains(seen, "Warning"), seen
	})

	w.put(t, variant(t))
	x.await("the swap, as it happens", "#swaps", "replicaset", "on trial")
	w.deploy(t, "default", "more")
	cluster.Eventually(t, time.Minute, "the new version works", func() (bool, string) {
		n := w.pods(t, "default", "more")
		return n == 2, fmt.Sprint(n, " pods")
	})
	w.put(t, simple(t, "(unreachable)"))
	x.await("a bad version, and why it was rolled back", "#swaps", "rolled back", "trap: unreachable")
	x.await("the version before is known to do", "#swaps", "ok")
	if eval[int](x, "window.mark || 0") != 1 {
		t.Error("the page was loaded anew")
	}
	x.do("loading it anew", chromedp.Reload())
	x.await("the session goes on", "header", "live", fmt.Sprint(w.host.PID))

	if title, images := eval[string](x, "document.title"), eval[int](x, "document.images.length"); title != "Windlass" ||
		images != 0 {
		t.Errorf("a text of the cluster's became markup: title %q, %d images", title, images)
	}
	for _, c := range x.complaints() {
		t.Errorf("the browser complains: %s", c)
	}
	t.Run("bearer token", func(t *testing.T) { login(t, w) })
}

// The host's own page is anybody's and empty; a bearer token that the cluster gives rights to fills it.
func login(t *testing.T, w *world) {
	if code, b := w.host.Do(t, http.MethodGet, "/"); code != http.StatusOK ||
		!strings.Contains(string(b), "<title>Windlass</title>") {
		t.Errorf("/ doesn't lead to the page: %d", code)
	}
	x := newTab(t, chromedp.IgnoreCertErrors)
	x.do("the page", chromedp.Navigate(w.host.URL("/console")))
	x.await("it asks who is there", "#login", "Bearer token", "windlass console")
	if seen := x.text("#controllers tbody"); seen != "" {
		t.Errorf("shows to anybody: %s", seen)
	}
	enter := func(token string) {
		x.do("a token", chromedp.SendKeys(chromedp.CSS("#token"), token), chromedp.KeyEvent(kb.Enter))
	}
	enter("guessed")
	x.await("it is refused", "#login", "Refused:")
	enter(w.viewer(t))
	x.await("it is let in", "#controllers", "deployment-controller")
	if kept := eval[int](x, "Object.keys({...localStorage, ...sessionStorage}).length + document.cookie.length + document.querySelector('#token').value.length"); kept != 0 {
		t.Errorf("the token, or something else, is kept outside the page's memory")
	}
}
