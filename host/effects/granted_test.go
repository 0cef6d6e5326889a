package effects

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

func granted(t testing.TB, rules ...grant.Rule) *grant.Grant {
	t.Helper()
	g, err := grant.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// What a patch makes of labels is known, or the patch isn't taken.
func TestPatchedLabels(t *testing.T) {
	before := labels.Set{"app": "web", "a/b": "1"}
	for _, c := range []struct {
		name  string
		patch abi.PatchType
		text  string
		want  labels.Set // nil: can't be followed
	}{
		{"nothing of it", abi.JSONPatch,
			`[{"op":"replace","path":"/metadata/annotations/x","value":"1"},{"op":"test","path":"/metadata/labels/app","value":"web"}]`, before},
		{"set", abi.JSONPatch, `[{"op":"replace","path":"/metadata/labels/app","value":"db"}]`,
			labels.Set{"app": "db", "a/b": "1"}},
		{"escaped", abi.JSONPatch, `[{"op":"remove","path":"/metadata/labels/a~1b"}]`, labels.Set{"app": "web"}},
		{"all", abi.JSONPatch, `[{"op":"add","path":"/metadata/labels","value":{"x":"y"}}]`, labels.Set{"x": "y"}},
		{"none, and then one", abi.JSONPatch,
			`[{"op":"add","path":"/metadata/labels","value":null},{"op":"add","path":"/metadata/labels/app","value":"web"}]`,
			nil},
		{"all of them away", abi.JSONPatch, `[{"op":"remove","path":"/metadata/labels"}]`, nil},
		{"the metadata", abi.JSONPatch, `[{"op":"replace","path":"/metadata","value":{}}]`, nil},
		{"the object", abi.JSONPatch, `[{"op":"replace","path":"","value":{}}]`, nil},
		{"moved away", abi.JSONPatch, `[{"op":"move","from":"/metadata/labels/app","path":"/metadata/annotations/app"}]`,
			nil},
		{"copied here", abi.JSONPatch, `[{"op":"copy","from":"/metadata/name","path":"/metadata/labels/app"}]`, nil},
		{"copied elsewhere", abi.JSONPatch,
			`[{"op":"copy","from":"/metadata/labels/app","path":"/metadata/annotations/app"}]`, before},
		{"merge", abi.MergePatch, `{"metadata":{"labels":{"app":null,"c":"d"}}}`, labels.Set{"a/b": "1", "c": "d"}},
		{"merge of something else", abi.MergePatch, `{"spec":{"labels":{"app":null}}}`, before},
		{"merge of none", abi.MergePatch, `{"metadata":{"labels":null}}`, nil},
		{"merge of no metadata", abi.MergePatch, `{"metadata":null}`, nil},
		{"other case", abi.MergePatch, `{"Metadata":{"labels":{"app":"db"}}}`, nil},
		{"replaced", abi.StrategicPatch, `{"metadata":{"labels":{"$patch":"replace","x":"y"}}}`, nil},
		{"object replaced", abi.StrategicPatch, `{"$patch":"replace"}`, nil},
		{"strategic", abi.StrategicPatch, `{"metadata":{"labels":{"app":"db"}}}`, labels.Set{"app": "db", "a/b": "1"}},
	} {

		got, err := patchedLabels(before, c.patch, []byte(c.text))
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		} else if d := cmp.Diff(c.want, got); err == nil && d != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, d)
		}
	}
}

// A selector holds before and after each write, and for what is read live.
func TestOnClusterGrantedBySelector(t *testing.T) {
	all := []string{"*"}
	w := newWorld(t, abi.Controller{
		Views: []abi.View{{Name: "maps", Resource: configMaps, Fields: []string{"metadata.labels", "data"}}},
		Writes: []abi.Write{{Resource: configMaps, Verbs: []string{"get", "list", "create", "update", "patch", "delete",
			"deletecollection"}}},
	}, func(o *Options) {
		o.Grant = granted(t, grant.Rule{APIGroups: all, Resources: all, Verbs: all,
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}})
	})

	labelled := func(name, app string) *corev1.ConfigMap {
		m := configMap(name, "1")
		m.Labels = map[string]string{"app": app}
		return m
	}

	admin := w.kube.CoreV1().ConfigMaps(w.ns)
	for name, app := range map[string]string{"ours": "web", "theirs": "db"} {
		if _, err := admin.Create(t.Context(), labelled(name, app), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	effect := func(kind abi.EffectKind, name string, object []byte) abi.Effect {
		return abi.Effect{Kind: kind, Resource: "v1/configmaps", Namespace: w.ns, Name: name, Object: object,
			Patch: abi.MergePatch}
	}

	ours, theirs := w.cachedObject("v1/configmaps", "ours"), w.cachedObject("v1/configmaps", "theirs")
	away := decodeProjected[*corev1.ConfigMap](w, ours)
	away.Labels["app"] = "db"
	for what, c := range map[string]struct {
		e    abi.Effect
		want string // empty: it is fine
	}{
		"create":           {*w.create(labelled("new", "web")), ""},
		"create elsewhere": {*w.create(labelled("newer", "db")), "the new object is covered by no selector ([app=web])"},
		"create without":   {*w.create(configMap("newest", "1")), "the new object is covered by no selector"},
		"patch":            {effect(abi.EffectPatch, "ours", []byte(`{"data":{"x":"y"}}`)), ""},
		"patch away": {effect(abi.EffectPatch, "ours", []byte(`{"metadata":{"labels":{"app":"db"}}}`)),
			"the object would no longer be covered"},
		"update away": {effect(abi.EffectUpdate, "ours", schematest.Marshal(t, away)),
			"the object would no longer be covered"},
		"patch elsewhere": {effect(abi.EffectPatch, "theirs", []byte(`{"metadata":{"labels":{"app":"web"}}}`)),
			"the object is covered by no selector"},
		"delete elsewhere": {effect(abi.EffectDelete, "theirs", nil), "the object is covered by no selector"},
	} {
		s := w.beginSession(ours, theirs)
		err := s.Check([]abi.Effect{c.e})
		if c.want == "" && err != nil || c.want != "" && (!Refused(err) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}

	s := w.beginSession()
	unseen := effect(abi.EffectDelete, "unseen", nil)
	unseen.UID = "u"
	if err := s.Check([]abi.Effect{unseen}); !Refused(err) ||
		!strings.Contains(err.Error(), "in no view and wasn't read live") {
		t.Errorf("delete of what is unseen: %v", err)
	}

	outcomes, err := s.Perform(t.Context(), []abi.Effect{effect(abi.EffectGet, "ours", nil),
		effect(abi.EffectList, "", nil), effect(abi.EffectGet, "theirs", nil)})
	if err != nil || len(outcomes) != 3 || outcomes[0].Code != abi.CodeOK || outcomes[1].View == nil ||
		len(outcomes[1].View.Objects) != 1 || outcomes[2].Reason != "Forbidden" {
		t.Fatalf("live reads: %+v, %v", outcomes, err)
	}

	if err := s.Finish(t.Context(), []abi.Effect{effect(abi.EffectDeleteCollection, "", nil)}); err != nil {
		t.Fatal(err)
	}
	left, err := admin.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 1 || left.Items[0].Name != "theirs" {
		t.Fatalf("a collection of ours was deleted, and there is %v, %v", left.Items, err)
	}
}

// What the check reads is what the server reads: members that are there twice are sent once, and a JSON Patch has none
// of other names.
func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		name  string
		e     abi.Effect
		want  string
		wrong string
	}{
		{"a JSON patch", abi.Effect{Kind: abi.EffectPatch, Patch: abi.JSONPatch,
			Object: []byte(`[{"op":"add","path":"/a","path":"/metadata/labels/app","value":1.50}]`)},
			`[{"op":"add","path":"/metadata/labels/app","value":1.50}]`, ""},
		{"another case", abi.Effect{Kind: abi.EffectPatch, Patch: abi.JSONPatch,
			Object: []byte(`[{"op":"replace","path":"/metadata/labels/app","Path":"/data/app","value":"db"}]`)},
			"", `operation 0 has a member "Path"`},
		{"a merge patch", abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch,
			Object: []byte(`{"metadata":{"labels":{"app":"web"}},"metadata":{"labels":{"app":"db"}},"n":12345678901234567890}`)},
			`{"metadata":{"labels":{"app":"db"}},"n":12345678901234567890}`, ""},
		{"an apply", abi.Effect{Kind: abi.EffectApply, Object: []byte(`{"metadata":{"name":"a"},"metadata":{"name":"b"}}`)},
			`{"metadata":{"name":"b"}}`, ""},
		{"two objects", abi.Effect{Kind: abi.EffectApply, Object: []byte(`{} {}`)}, "", "something follows the JSON object"},
		{"an update", abi.Effect{Kind: abi.EffectUpdate, Object: []byte("\n\x00")}, "\n\x00", ""},
	} {
		err := normalize(&c.e)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %s", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil || string(c.e.Object) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, c.e.Object, err, c.want)
		}
	}
}

// A cache that shows what the grant covers, and nothing else, doesn't make an apply a way to what it doesn't show.
func TestOnClusterApplyOfWhatIsNotShown(t *testing.T) {
	all := []string{"*"}
	w := newWorld(t, abi.Controller{
		Views:  []abi.View{{Name: "maps", Resource: configMaps, Fields: []string{"metadata.labels", "data"}}},
		Writes: []abi.Write{{Resource: configMaps, Verbs: []string{"create", "patch"}}},
	}, func(o *Options) {
		o.Grant = granted(t, grant.Rule{APIGroups: all, Resources: all, Verbs: all,
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}})
	})
	store := &testStore{}
	store.set("1")
	w.stores["v1/configmaps"] = store
	theirs := configMap("theirs", "1")
	theirs.Labels = map[string]string{"app": "db"}
	admin := w.kube.CoreV1().ConfigMaps(w.ns)
	before, err := admin.Create(t.Context(), theirs, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	apply := func(name string) error {
		object := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name +
			`","labels":{"app":"web"}},"data":{"a":"b"}}`
		return w.beginSession().Finish(t.Context(), []abi.Effect{{Kind: abi.EffectApply, Resource: "v1/configmaps",
			Namespace: w.ns, Name: name, Object: []byte(object)}})
	}
	if err := apply("theirs"); err == nil || !strings.Contains(err.Error(), "there is such an object, which is covered by no selector") {
		t.Errorf("an apply to what isn't shown: %v", err)
	}
	after, err := admin.Get(t.Context(), "theirs", metav1.GetOptions{})
	if err != nil || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("it was written: %+v, %v", after, err)
	}
	if err := apply("new"); err != nil {
		t.Errorf("an apply to what isn't there: %v", err)
	}
}
