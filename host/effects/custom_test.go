package effects

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

// Whole objects of a custom resource are created, got, updated, applied, patched and deleted as built-in ones are.
func TestOnClusterWholeCustomResource(t *testing.T) {
	c := collector()
	w := newWorld(t, c, discovering)
	x := w.defineWidgets()
	all := []string{"get", "list", "create", "update", "patch", "delete"}
	c = abi.Controller{
		Views: []abi.View{{Name: "widgets", Resource: x.Resource,
			Fields: []string{"metadata.labels", "spec.color", "spec.sizes", "status"}}},
		Writes: []abi.Write{{Resource: x.Resource, Verbs: all}, {Resource: x.Resource, Subresource: "status", Verbs: all}},
	}
	ns := w.ns
	w = newWorld(t, c, discovering)
	w.ns = ns
	x.world = w
	ctx := t.Context()

	object := func(body string) []byte {
		raw, _, _, err := schema.FromJSON(nil, []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	body := func(o abi.Outcome) string { return bodyText(t, o.Object.Data) }
	o := w.performOK(x.effectOn("", abi.Effect{Kind: abi.EffectCreate,
		Object: object(`{"metadata":{"generateName":"made-","labels":{"l":"1"}},"spec":{"color":"red","other":{"n":[1,2.50]},"sizes":[{"s":1}]}}`)}))
	if !strings.HasPrefix(o.Name, "made-") || body(o) != `{"spec":{"color":"red","sizes":[{"s":1}]}}` ||
		partial(t, o.Object.Data).Labels["l"] != "1" {
		t.Fatalf("created %+v: %s", o, body(o))
	}
	name := o.Name
	s := w.beginSession()
	got := w.requireOK(s.Perform(ctx, []abi.Effect{x.effectOn(name, abi.Effect{Kind: abi.EffectGet})}))[0]
	update := func(subresource, version, b string) abi.Effect {
		return x.effectOn(name, abi.Effect{Kind: abi.EffectUpdate, Subresource: subresource, Version: version,
			Object: object(b)})
	}
	both := w.requireOK(s.Perform(ctx, []abi.Effect{
		update("", got.Object.ResourceVersion, `{"metadata":{"name":"`+name+
			`","labels":{"l":"2"}},"spec":{"color":"blue","sizes":[]},"status":{"ready":true}}`),
		update("status", got.Object.ResourceVersion, `{"metadata":{"name":"`+name+
			`","labels":{"l":"2"}},"spec":{"color":"blue","sizes":[]},"status":{"ready":true}}`),
	}))
	if body(both[1]) != `{"spec":{"color":"blue"},"status":{"ready":true}}` &&
		body(both[1]) != `{"spec":{"color":"blue","sizes":[]},"status":{"ready":true}}` {
		t.Errorf("updated: %s", body(both[1]))
	}
	if j := x.widgetJSON(name); !strings.Contains(j, `"other":{"n":[1,2.5]}`) || !strings.Contains(j, `"ready":true`) ||
		!strings.Contains(j, `"l":"2"`) {
		t.Errorf("after both updates: %s", j)
	}
	before := w.proxy.requests()
	w.requireOK(s.Perform(ctx, []abi.Effect{update("status", both[1].Object.ResourceVersion,
		`{"metadata":{"name":"`+name+`","labels":{"l":"2"}},"spec":{"color":"blue"},"status":{"ready":true}}`)}))
	if w.proxy.requests() != before {
		t.Error("an update that changes nothing was sent")
	}
	old := got.Object.ResourceVersion
	s.End()
	s = w.beginSession()
	w.requireOK(s.Perform(ctx, []abi.Effect{x.effectOn(name, abi.Effect{Kind: abi.EffectGet})}))
	if out, err := s.Perform(ctx, []abi.Effect{update("", old,
		`{"metadata":{"name":"`+name+`"},"spec":{"color":"green"}}`)}); err != nil || out[0].Reason != "Conflict" {
		t.Errorf("an update of an old version: %+v %v", out, err)
	}
	s.End()

	o = w.performOK(x.effectOn(name, abi.Effect{Kind: abi.EffectApply,
		Object: object(`{"metadata":{"name":"` + name + `"},"spec":{"color":"black"}}`)}))
	if !strings.Contains(body(o), `"color":"black"`) || !strings.Contains(x.widgetJSON(name), `"operation":"Apply"`) {
		t.Errorf("applied: %s", body(o))
	}
	o = w.performOK(x.effectOn(name, abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch,
		Object: []byte(`{"spec":{"color":"white"}}`)}))
	if !strings.Contains(body(o), `"color":"white"`) {
		t.Errorf("patched: %s", body(o))
	}
	l := w.performOK(x.effectOn("", abi.Effect{Kind: abi.EffectList})).View
	if l.Count != 1 || !strings.Contains(bodyText(t, l.Objects[0].Data), `"color":"white"`) ||
		strings.Contains(bodyText(t, l.Objects[0].Data), "other") {
		t.Errorf("listed: %+v", l)
	}
	o = w.performOK(x.effectOn(name, abi.Effect{Kind: abi.EffectDelete, UID: o.UID}))
	if x.widgetJSON(name) != "" {
		t.Errorf("deleted: %+v", o)
	}
	if _, err := w.beginSession().Perform(ctx, []abi.Effect{x.effectOn("b",
		abi.Effect{Kind: abi.EffectCreate, Object: wire.AppendBytes(object(`{"metadata":{"name":"b"}}`), 2,
			[]byte(`{"spec":`))})}); err != nil {
		t.Errorf("a torn body is an outcome of its own: %v", err)
	}
}

// bodyText is the JSON of an object that isn't built in.
func bodyText(t testing.TB, raw []byte) string {
	t.Helper()
	text := ""
	if err := schema.Each(raw, func(number int32, content []byte) error {
		if number == 2 {
			text = string(content)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return text
}
