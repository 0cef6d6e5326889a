package console

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/windlass-dev/windlass/test/cluster"
)

// tab is one tab of a headless Chromium.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string // of its console
}

func newTab(t *testing.T, more ...chromedp.ExecAllocatorOption) *tab {
	t.Helper()
	all := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1360, 900),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("lang", "en-GB"))
	allocator, end := chromedp.NewExecAllocator(context.Background(), append(all, more...)...)
	t.Cleanup(end)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	x := &tab{t: t, ctx: ctx}
	x.runSteps("Chromium starts (hack/chromium.sh installs it)", chromedp.EmulateViewport(1360, 900))
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return // it ends with the tab
			}
			switch m.Type {
			case chromedp.ConsoleWarning, chromedp.ConsoleError, chromedp.ConsoleException:
				x.noteError(m.String())
			}
		}
	}()
	return x
}

func (x *tab) noteError(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.errors = append(x.errors, text)
}

func (x *tab) runSteps(what string, steps ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	if err := chromedp.Do(x.ctx, steps...); err != nil {
		x.t.Fatalf("%s: %v", what, err)
	}
}

// evaluate returns what an expression of the page's comes to.
func evaluate[T any](x *tab, js string) T {
	x.t.Helper()
	v, err := chromedp.Run(x.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		x.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// awaitText waits until the page's text, or that of a part of it, has all of these.
func (x *tab) awaitText(what, part string, texts ...string) {
	x.t.Helper()
	cluster.Eventually(x.t, time.Minute, what, func() (bool, string) {
		seen := x.visibleText(part)
		for _, s := range texts {
			if !strings.Contains(seen, s) {
				return false, fmt.Sprintf("no %q in %s: %s\n%v", s, part, seen, x.complaints())
			}
		}
		return true, seen
	})
}

// visibleText returns what is seen of a part.
func (x *tab) visibleText(part string) string {
	x.t.Helper()
	return evaluate[string](x,
		fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => !e.hidden).map(e => e.innerText).join("\n")`, part))
}

// pressButton clicks what is called so.
func (x *tab) pressButton(part, name string) {
	x.t.Helper()
	if !evaluate[bool](x, fmt.Sprintf(`(() => { const b = [...document.querySelectorAll(%q)].find(e => e.textContent.includes(%q)); if (b) b.click(); return !!b; })()`, part+" button", name)) {
		x.t.Fatalf("no button %q in %s: %s", name, part, x.visibleText(part))
	}
}

// setWidth gives the page's window a width.
func (x *tab) setWidth(width int) {
	x.t.Helper()
	x.runSteps("a window's width", chromedp.EmulateViewport(int64(width), 900))
}

// checkInSight waits until somebody sees an element, without scrolling: nothing hides or cuts off its middle.
func (x *tab) checkInSight(what, selector string) {
	x.t.Helper()
	cluster.Eventually(x.t, cluster.Patience, what+" is in sight", func() (bool, string) {
		return evaluate[bool](x, fmt.Sprintf(`(() => {
			const e = document.querySelector(%q), r = e && e.getBoundingClientRect();
			const seen = r && document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
			return !!seen && (e.contains(seen) || seen.contains(e) && seen.closest("table, section") === e.closest("table, section"));
		})()`, selector)), x.visibleText(selector)
	})
}

func (x *tab) complaints() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]string(nil), x.errors...)
}

// setColorScheme has the page shown as to somebody who likes it dark, or light.
func (x *tab) setColorScheme(scheme string) {
	x.t.Helper()
	p := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: scheme}}}
	if _, err := chromedp.Call(x.ctx, emulation.SetEmulatedMedia, p); err != nil {
		x.t.Fatal(err)
	}
}

// checkNames checks that whatever can be used has a name that a screen reader can say.
func (x *tab) checkNames() {
	x.t.Helper()
	tree, err := chromedp.Call(x.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		x.t.Fatal(err)
	}

	word := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s)
		}
		return s
	}

	seen := map[string]int{}
	for _, n := range tree.Nodes {
		role := word(n.Role)
		if n.Ignored {
			continue
		}
		switch role {
		case "button", "textbox", "searchbox", "link", "table", "region", "columnheader", "rowheader", "heading",
			"RootWebArea":
			if seen[role]++; strings.TrimSpace(word(n.Name)) == "" {
				x.t.Errorf("a %s has no name: %s", role, n.NodeID)
			}
		}
	}

	for _, role := range []string{"button", "searchbox", "table", "columnheader", "heading"} {
		if seen[role] == 0 {
			x.t.Errorf("the accessibility tree has no %s: %v", role, seen)
		}
	}
}

// faint are the texts whose contrast with what is behind them is below 4.5 to 1, what WCAG AA asks for.
const faint = `(() => {
  const rgb = s => (s.match(/[\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  const found = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(e.tagName)) continue;
    const a = light(rgb(getComputedStyle(e).color).slice(0, 3)), b = light(behind(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.add(e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
  }
  return [...found];
})()`
