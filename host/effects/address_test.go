package effects

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
)

// oddNames are those that objects may hold and that name nothing: no path could be made of them.
var oddNames = []string{".", "..", "a/b", "../x", "100%", "a%2Fb", "/", "%"}

// What a name that can't be in a path is asked for doesn't exist, for each kind of effect that names an object or a
// namespace, and nothing is sent. The same goes for a kind that has no namespaces, looked for in one.
func TestOnClusterNamesOfNothing(t *testing.T) {
	w := newWorld(t, abi.Controller{
		Views:  []abi.View{{Name: "maps", Resource: configMaps, Fields: []string{"data"}, Lazy: true}},
		Writes: append(allowAll(abi.Resource{Name: "*"}, "scale"), allowAll(podsR, "eviction", "binding")...),
	}, nil)
	s := w.beginSession()
	defer s.End()

	effects := func(namespace, name string) []abi.Effect {
		all := []abi.Effect{
			{Kind: abi.EffectGet, Resource: "v1/configmaps"},
			{Kind: abi.EffectGet, Resource: "v1/configmaps", Metadata: true},
			{Kind: abi.EffectGet, Resource: "apps/v1/deployments", Subresource: "scale"},
			{Kind: abi.EffectDelete, Resource: "v1/configmaps", UID: "u"},
			{Kind: abi.EffectPatch, Resource: "v1/configmaps", Patch: abi.MergePatch, Object: []byte(`{}`)},
			{Kind: abi.EffectApply, Resource: "v1/configmaps", Object: []byte(`{}`)},
			{Kind: abi.EffectEvict, Resource: "v1/pods", UID: "u"},
			{Kind: abi.EffectCreate, Resource: "v1/pods", Subresource: "binding", Object: []byte{0x0a, 0}},
		}
		for i := range all {
			all[i].Namespace, all[i].Name = namespace, name
		}
		return all
	}
	requireNone := func(e abi.Effect) {
		t.Helper()
		before := w.sent.Load()
		o, err := s.Perform(t.Context(), []abi.Effect{e})
		if err != nil || o[0].Code != abi.CodeFailed || o[0].Reason != string(metav1.StatusReasonNotFound) {
			t.Errorf("%+v: %+v, %v", e, o, err)
		}
		if n := w.sent.Load() - before; n > 0 {
			t.Errorf("%+v: %d requests were sent", e, n)
		}
	}

	for _, odd := range oddNames {
		for _, e := range append(effects(w.ns, odd), effects(odd, "x")...) {
			requireNone(e)
		}
		requireNone(abi.Effect{Kind: abi.EffectList, Resource: "v1/configmaps", Namespace: odd})
		requireNone(abi.Effect{Kind: abi.EffectDeleteCollection, Resource: "v1/configmaps", Namespace: odd})
		requireNone(*w.createIn(odd))
	}
	requireNone(abi.Effect{Kind: abi.EffectGet, Resource: "v1/nodes", Namespace: w.ns, Name: "node-0"})

	o, _ := s.Perform(t.Context(), []abi.Effect{effects(w.ns, "a/b")[0]})
	if want := `configmaps "a/b" not found`; o[0].Message != want {
		t.Errorf("the message is %q, the API server's would be %q", o[0].Message, want)
	}
	o, _ = s.Perform(t.Context(), []abi.Effect{{Kind: abi.EffectGet, Resource: "rbac.authorization.k8s.io/v1/clusterroles",
		Subresource: "scale", Namespace: w.ns, Name: "admin"}})
	err := w.kube.RbacV1().RESTClient().Get().Namespace(w.ns).Resource("clusterroles").Name("admin").SubResource("scale").
		Do(t.Context()).Error()
	if !apierrors.IsNotFound(err) || o[0].Reason != "NotFound" ||
		!strings.Contains(err.Error(), "the server could not find the requested resource") ||
		o[0].Message != "the server could not find the requested resource" {
		t.Errorf("a scale of what is in no namespace: %+v, the API server says %v", o, err)
	}
}

// createIn creates a config map in a namespace.
func (w *world) createIn(namespace string) *abi.Effect {
	e := w.create(configMap("x", ""))
	e.Namespace = namespace
	return e
}

// Any other name is asked for as it is, though its characters mean something in an address; one over the limit is the
// effect's failure, which names the limit, and never taken for the name of nothing.
func TestOnClusterNamesOfAnyForm(t *testing.T) {
	roles := abi.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "clusterroles"}
	w := newWorld(t, abi.Controller{Writes: allowAll(roles)}, nil)
	ctx := t.Context()

	for i, name := range []string{"a:b", "a b", "grüße", `x\y`, "a?b=c", "a#b", "a+b", "a;b,c=d", "a&b", "~", "*", "...",
		"a.", "-", "\"'", "日本", strings.Repeat("long", 4000), strings.Repeat("ü", 20_000)} {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": w.ns}}}
		made, err := w.kube.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}

		e := abi.Effect{Resource: roles.String(), Name: name}
		get, patch, remove := e, e, e
		get.Kind = abi.EffectGet
		patch.Kind, patch.Patch = abi.EffectPatch, abi.MergePatch
		patch.Object = []byte(`{"metadata":{"labels":{"x":"y"}}}`)
		remove.Kind, remove.UID = abi.EffectDelete, string(made.UID)
		s := w.beginSession()
		o := w.requireOK(s.Perform(ctx, []abi.Effect{get, patch, remove}))
		if o[0].UID != string(made.UID) || o[0].Name != name {
			t.Errorf("%d: another object was read: %s, %q", i, o[0].UID, o[0].Name)
		}
		if live, err := w.writer.liveObject(ctx, roles, "", name); err != nil || live != nil {
			t.Errorf("%d: looking for it once it is deleted: %d bytes, %v", i, len(live), err)
		}
		s.End()
	}

	s := w.beginSession()
	defer s.End()
	for _, e := range []abi.Effect{
		{Kind: abi.EffectGet, Resource: roles.String(), Name: strings.Repeat("x", nameMax+1)},
		{Kind: abi.EffectDelete, Resource: roles.String(), Name: strings.Repeat("x", nameMax+1), UID: "u"},
	} {
		o, err := s.Perform(ctx, []abi.Effect{e})
		if err != nil || o[0].Reason != "LimitExceeded" || o[0].Message != "a name of 262145 bytes, the limit is 262144" {
			t.Errorf("a name over the limit: %+v, %v", o, err)
		}
	}
	o, err := s.Perform(ctx, []abi.Effect{{Kind: abi.EffectGet, Resource: roles.String(),
		Name: strings.Repeat("x", nameMax)}})
	if err != nil || o[0].Reason != "NotFound" {
		t.Errorf("a name at the limit: %s %.200s, %v", o[0].Reason, o[0].Message, err)
	}
}
