package effects

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
)

// To evict a pod is a right of its own: who may create pods, or delete them, may not.
func TestEvictionIsARight(t *testing.T) {
	for _, x := range []struct {
		writes  []abi.Write
		refused bool
	}{
		{[]abi.Write{{Resource: podsR, Verbs: []string{"create", "delete"}}}, true},
		{[]abi.Write{{Resource: podsR, Subresource: "eviction", Verbs: []string{"create"}}}, false},
	} {
		w, err := New(Options{Plugin: "p", Config: &rest.Config{}, Controller: &abi.Controller{Name: "c", Writes: x.writes}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		evict := abi.Effect{Kind: abi.EffectEvict, Resource: "v1/pods", Namespace: "default", Name: "web-a", UID: "u"}
		if err := w.Begin(abi.KeyRef{Name: "web"}, nil).Check([]abi.Effect{evict}); Refused(err) != x.refused {
			t.Errorf("with the right to %v: %v", x.writes, err)
		}
	}
}

// A right may be one in some namespaces, or to objects of some names: no other is written or read by it.
func TestRightsAreScoped(t *testing.T) {
	del := abi.Write{Resource: podsR, Verbs: []string{"delete"}}
	get := abi.Write{Resource: podsR, Verbs: []string{"get"}}
	for _, x := range []struct {
		what            string
		write           abi.Write
		namespace, name string
		refused         string
	}{
		{"everywhere", del, "a", "x", ""},
		{"in the namespace", del.In("b", "a"), "a", "x", ""},
		{"in another namespace", del.In("b"), "a", "x", "add delete of v1/pods a/x to them"},
		{"of the name", del.Named("x"), "a", "x", ""},
		{"of another name", del.Named("y"), "a", "x", "add delete of v1/pods a/x to them"},
		{"of the name elsewhere", del.In("b").Named("x"), "a", "x", "add delete of v1/pods a/x to them"},
		{"with another verb", get, "a", "x", "add delete of v1/pods to them"},
	} {
		w, err := New(Options{Plugin: "p", Config: &rest.Config{}, Controller: &abi.Controller{Name: "c",
			Writes: []abi.Write{x.write}}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()

		effect := abi.Effect{Kind: abi.EffectDelete, Resource: "v1/pods", Namespace: x.namespace, Name: x.name, UID: "u"}
		err = w.Begin(abi.KeyRef{Name: "web"}, nil).Check([]abi.Effect{effect})
		if Refused(err) != (x.refused != "") || err != nil && !strings.Contains(err.Error(), x.refused) {
			t.Errorf("%s: %v, want %q", x.what, err, x.refused)
		}
	}
}

// What the plugin itself names is refused before anything is sent, if it leads a request elsewhere. Names of objects
// are others', and refuse nothing.
func TestNamesAreChecked(t *testing.T) {
	w, err := New(Options{Plugin: "p", Config: &rest.Config{}, Wake: func(abi.KeyRef, int32, abi.KeyRef) {},
		Controller: &abi.Controller{Name: "c", EventSource: "c", Views: []abi.View{{Name: "pods", Resource: podsR}},
			Writes: []abi.Write{{Resource: abi.Resource{Name: "*"}, Verbs: []string{"get", "delete"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	get := abi.Effect{Kind: abi.EffectGet, Resource: "v1/pods", Namespace: "a", Name: "x"}
	change := func(set func(*abi.Effect)) abi.Effect {
		e := get
		set(&e)
		return e
	}
	check := func(want string, e abi.Effect) {
		t.Helper()
		group := abi.Effect{Kind: abi.EffectGroup, Mode: abi.Parallel, Members: []abi.Effect{e, e}}
		for _, effects := range [][]abi.Effect{{e}, {group}} {
			err := w.Begin(abi.KeyRef{Name: "web"}, nil).Check(effects)
			if Refused(err) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", e, err, want)
			}
		}
	}

	for want, e := range map[string]abi.Effect{
		"":                          get,
		"not among the writes":      change(func(e *abi.Effect) { e.Subresource = "status?a=b" }),
		"can't name an API version": change(func(e *abi.Effect) { e.Resource = "v1%2f../pods" }),
		"can't name a resource":     change(func(e *abi.Effect) { e.Resource = "v1/pods\xff" }),
		"can't name an API group":   change(func(e *abi.Effect) { e.Resource = "Apps/v1/deployments" }),
		"is not a resource; write":  change(func(e *abi.Effect) { e.Resource = "apps/v1/deployments/x" }),
	} {
		check(want, e)
	}
	for _, name := range oddNames {
		check("", change(func(e *abi.Effect) { e.Namespace = name }))
		check("", change(func(e *abi.Effect) { e.Name = name }))
		check("", abi.Effect{Kind: abi.EffectWake, Wake: &abi.Wake{Key: abi.KeyRef{Namespace: name, Name: name}}})
		check("", abi.Effect{Kind: abi.EffectView, Ask: &abi.Ask{Namespace: name}})
	}
}

// What counts as a delete, or as a write, does so however it is asked for.
func TestNothingIsAskedForAnotherWay(t *testing.T) {
	w, err := New(Options{Plugin: "p", Config: &rest.Config{}, Controller: &abi.Controller{Name: "c", Writes: []abi.Write{
		{Resource: podsR, Subresource: "eviction", Verbs: []string{"create"}},
		{Resource: configMaps, Verbs: []string{"create"}},
		{Resource: abi.Resource{Group: "authorization.k8s.io", Version: "v1", Name: "subjectaccessreviews"},
			Verbs: []string{"create"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	for want, e := range map[string]abi.Effect{
		"": {Kind: abi.EffectReview, Resource: "authorization.k8s.io/v1/subjectaccessreviews", Object: []byte{0x0a, 0}},
		"use an evict effect to evict a pod": {Kind: abi.EffectCreate, Resource: "v1/pods",
			Subresource: "eviction", Namespace: "a", Name: "x", Object: []byte{0x0a, 0}},
		"v1/configmaps can't be reviewed": {Kind: abi.EffectReview, Resource: "v1/configmaps", Namespace: "a",
			Object: []byte{0x0a, 0}},
	} {
		err := w.Begin(abi.KeyRef{Name: "web"}, nil).Check([]abi.Effect{e})
		if Refused(err) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
}
