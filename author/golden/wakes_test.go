package golden_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// What a file says of the controller whose place this one takes is said where it is another thing, and with its reason.
func TestUpstreamsWakes(t *testing.T) {
	p := &sdk.Plugin{Name: "x", Controllers: []*sdk.Controller{{
		Name: "x-controller", Reads: sdk.Views{sdk.Key(corev1.Namespaces).Fields("status.phase")},
		Sync: func(*sdk.Call) error { return nil },
	}}}
	for _, x := range []struct{ said, wrong string }{
		{"upstream: [], why: it has no such queue", ""},
		{"upstream: [other, team], why: it is woken by all of them", ""},
		{"upstream: []", "upstream differs from wakes: give the reason in why"},
		{"upstream: [team], why: none", "upstream is the same as wakes: leave it out"},
		{"why: none", "why is set without upstream: it gives the reason for upstream"},
	} {
		file := writeFile(t, "wakes.yaml", "objects: [{apiVersion: v1, kind: Namespace, metadata: {name: team}}]\n"+
			"events: [{what: its end, of: Namespace team, delete: true, wakes: [team], "+x.said+"}]\n")
		_, err := golden.CheckWakes(guesttest.Native(p), file)
		if x.wrong == "" && err != nil || x.wrong != "" && (err == nil ||
			!strings.Contains(err.Error(), "events[0] (its end): "+x.wrong)) {
			t.Errorf("%s: %v, should say %q", x.said, err, x.wrong)
		}
	}
}

// What a key has asked of a lazy view in its sync wakes it; what others have asked, or nobody has, doesn't.
func TestWakesOfWhatWasAsked(t *testing.T) {
	namespaces := sdk.Key(corev1.Namespaces)
	maps := sdk.Select(corev1.ConfigMaps).Fields("data").Lazy()
	p := &sdk.Plugin{Name: "x", Controllers: []*sdk.Controller{{
		Name: "x-controller", Reads: sdk.Views{namespaces, maps},
		Sync: func(c *sdk.Call) error {
			maps.Ask(c, abi.Ask{Namespace: c.Name(), Names: []string{"prices"}})
			return nil
		},
	}}}

	file := writeFile(t, "wakes.yaml", `
objects:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
- {apiVersion: v1, kind: Namespace, metadata: {name: office}}
- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: prices}}
- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: hours}}
synced: [shop]
events:
- {what: asked for, of: ConfigMap prices, change: {data: {a: b}}, wakes: [shop]}
- {what: not asked for, of: ConfigMap hours, change: {data: {a: b}}, wakes: []}
- {what: nobody asked, add: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: office, name: prices}}, wakes: []}
`)

	all, err := golden.CheckWakes(guesttest.Native(p), file)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for _, x := range all {
		if x.Wrong != "" {
			t.Errorf("%s: %s", x.What, x.Wrong)
		}
	}
}
