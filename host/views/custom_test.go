package views

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

func newWebApp(t *testing.T, body string) *cache.Object {
	t.Helper()
	raw, _, _, err := schema.FromJSON(nil,
		[]byte(`{"metadata":{"name":"a","namespace":"x","uid":"u","labels":{"app":"web"}},`+body[1:]), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &cache.Object{Resource: schema.Custom(webApps, "WebApp", true), Namespace: "x", Name: "a", UID: "u", Raw: raw}
}

func TestSelectorsInABody(t *testing.T) {
	m := schema.Custom(webApps, "WebApp", true).Message
	p, err := m.Path("spec.selector")
	if err != nil {
		t.Fatal(err)
	}

	if err := selectable(p); err != nil {
		t.Error(err)
	}
	labels, err := m.Path("spec.labels")
	if err != nil {
		t.Fatal(err)
	}

	for selector, want := range map[string]bool{
		`{}`:                            true,
		`{"matchLabels":{"app":"web"}}`: true,
		`{"matchLabels":{"app":"db"}}`:  false,
		`{"matchLabels":{}}`:            true,
		`{"matchLabels":null}`:          true,
		`{"app":"web"}`:                 true,
		`{"app":"web","tier":"x"}`:      false,
		`{"app":7}`:                     false,
		`{"matchLabels":[]}`:            false,
		`[{"app":"db"},{"app":"web"}]`:  true,
		`null`:                          false,
		`"web"`:                         false,
		`{"matchExpressions":[{"key":"app","operator":"In","values":["db","web"]}]}`: true,
		`{"matchExpressions":[{"key":"app","operator":"NotIn","values":["web"]}]}`:   false,
		`{"matchExpressions":[{"key":"app","operator":"Exists"}],"matchLabels":{}}`:  true,
		`{"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]}`:             false,
		`{"matchExpressions":[{"key":"app","operator":"In","values":"web"}]}`:        false,
	} {
		o := newWebApp(t, `{"spec":{"labels":{"app":"w\u0065b"},"selector":`+selector+`}}`)
		all, err := labelsAt(nil, labels, o.Raw)
		if err != nil {
			t.Fatal(err)
		}

		if got := selects(p, o.Raw, all); got != want {
			t.Errorf("%s: %v", selector, got)
		}
		if want && len(selectorTokens(p, o.Raw)) == 0 {
			t.Errorf("%s has no token, so that nothing that it selects finds it", selector)
		}
	}
}

func TestConditionsOnABody(t *testing.T) {
	o := newWebApp(t, `{"spec":{"on":true,"n":3,"none":"","null":null,"empty":{},"tiers":[{"name":"front","size":1},{"name":"back","size":2}],"map":{"k.x":""}}}`)
	is := func(path string, values ...string) *abi.Condition {
		return &abi.Condition{Op: abi.OpIn, Path: path, Values: values}
	}
	exists := func(path string) *abi.Condition { return &abi.Condition{Op: abi.OpExists, Path: path} }

	tier := func(name, size string) *abi.Condition {
		return &abi.Condition{Each: true, Path: "spec.tiers",
			Where: &abi.Condition{All: []abi.Condition{*is("name", name), *is("size", size)}}}
	}

	for _, c := range []struct {
		condition *abi.Condition
		holds     bool
	}{
		{is("spec.on", "true"), true}, {is("spec.n", "3"), true}, {is("spec.n", "4"), false},
		{is("spec.tiers.name", "back"), true},
		{exists("spec.on"), true}, {exists("spec.none"), false}, {exists("spec.null"), false}, {exists("spec.empty"), true},
		{exists("spec.tiers"), true}, {exists("spec.tiers.size"), true},
		{exists("spec.map[k.x]"), true}, {exists("spec.nothing.here"), false},
		{tier("back", "2"), true}, {tier("back", "1"), false},
	} {
		plan, err := Compile(&abi.Controller{Name: "c",
			Views: []abi.View{{Name: "apps", Resource: webApps, Where: c.condition}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.views[0].mayHold(o); got != c.holds {
			t.Errorf("%+v: %v", c.condition, got)
		}
	}
}

func TestWhatCantBeSaidOfABody(t *testing.T) {
	for says, v := range map[string]abi.View{
		"JSON without a schema": {Resource: webApps, Fields: []string{"spec"}, Quiet: []string{"spec.replicas"}},
		`has no field "kind"`:   {Resource: webApps, Fields: []string{"kind"}},
		"is not a built-in":     {Resource: abi.Resource{Group: "apps", Version: "v1", Name: "webapps"}},
		"there is v1/pods":      {Resource: abi.Resource{Version: "v1", Name: "pod"}},
	} {
		v.Name = "apps"
		if _, err := Compile(&abi.Controller{Name: "c", Views: []abi.View{v}}); err == nil ||
			!strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "apps") {
			t.Errorf("%s: %v", says, err)
		}
	}
	if _, err := Compile(&abi.Controller{Name: "c",
		Views: []abi.View{{Name: "apps", Resource: webApps, Fields: []string{"spec.a", "spec.b"},
			Quiet: []string{"spec.b"}}}}); err != nil {
		t.Error(err)
	}
}

// A custom resource without namespaces: its key is its name alone, also where it is in no cache yet.
func TestClusterScoped(t *testing.T) {
	fleets := abi.Resource{Group: "example.com", Version: "v1", Name: "fleets"}
	for _, cluster := range []bool{true, false} {
		c := abi.Controller{Name: "fleets", Views: []abi.View{
			{Name: "fleets", Resource: fleets, ClusterScoped: cluster, Fields: []string{"spec"}},
			{Name: "nodes", Resource: nodesR, Fields: []string{"metadata.name"},
				Where: &abi.Condition{Path: "metadata.labels[fleet]", Op: abi.OpJoin, View: abi.FromKey, ViewPath: "name"}},
		}}
		p, err := Compile(&c)
		if err != nil {
			t.Fatal(err)
		}
		if p.Namespaced(fleets) == cluster {
			t.Errorf("clusterScoped %v, and namespaced all the same", cluster)
		}
		w, err := newWorld(p)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := w.applyObject(nodesR, "", "n",
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Labels: map[string]string{"fleet": "a"}}})
		var woken []abi.KeyRef
		p.Wakes(w, e, nil, func(k abi.KeyRef, _ time.Duration) { woken = append(woken, k) })
		if cluster != (len(woken) == 1 && woken[0] == abi.KeyRef{Name: "a"}) {
			t.Errorf("clusterScoped %v: a node of fleet a wakes %v", cluster, woken)
		}
	}

	c := abi.Controller{Name: "fleets", Views: []abi.View{
		{Name: "fleets", Resource: fleets, ClusterScoped: true, Fields: []string{"spec"}},
		{Name: "others", Resource: fleets, Fields: []string{"spec"}}}}
	if _, err := Compile(&c); err == nil || !strings.Contains(err.Error(), "1 (others, example.com/v1/fleets)") ||
		!strings.Contains(err.Error(), "clusterScoped") {
		t.Errorf("two views that contradict each other: %v", err)
	}
}
