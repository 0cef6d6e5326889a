package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
)

var webApps = Custom(abi.Resource{Group: "example.com", Version: "v1", Name: "webapps"}, "WebApp", true)

const webApp = `{"apiVersion":"example.com/v1","kind":"WebApp",
 "metadata":{"annotations":{"a":"line\none","b":"\u003c\"x\"\ud83d\ude00"},"creationTimestamp":"2026-01-02T03:04:05Z","finalizers":["f/1"],"generation":3,"labels":{"app":"web","tier":""},
  "managedFields":[{"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}},"manager":"kubectl","operation":"Update","time":"2026-01-02T03:04:05Z"}],
  "name":"web","namespace":"default","ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"Boss","name":"boss","uid":"u-1"}],"resourceVersion":"77","uid":"u-2"},
 "spec":{"replicas":3,"ratio":1.50,"on":true,"off":null,"image":"a\/b:\u0031","selector":{"matchLabels":{"app":"web"}},
  "tiers":[{"name":"front","ports":[80,443],"extra":1},{"name":"back","ports":[]},7],"nodes":{"kubernetes.io/os":"linux","a.b":"","n":5}},
 "status":{"conditions":[{"type":"Ready","status":"True","message":"ok"},{"type":"Stale","status":"False"}]}}`

func encodeJSON(t testing.TB, object string) []byte {
	t.Helper()
	raw, _, _, err := FromJSON(nil, []byte(object), nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestCustomResourcesHaveTheirMetadataAndABody(t *testing.T) {
	raw, apiVersion, kind, err := FromJSON(nil, []byte(webApp), nil)
	if err != nil || string(apiVersion) != "example.com/v1" || string(kind) != "WebApp" {
		t.Fatal(string(apiVersion), string(kind), err)
	}
	back, err := webApps.JSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(decoded(t, []byte(webApp)), decoded(t, back)); d != "" {
		t.Fatal(d)
	}
}

func decoded(t testing.TB, b []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

// The metadata is byte for byte what Kubernetes writes, so that an object looks the same however it came.
func TestMetadataFromJSONIsKubernetesOwn(t *testing.T) {
	fill := newFiller(1)
	for range 300 {
		var o metav1.PartialObjectMetadata
		fill(&o.ObjectMeta)
		o.ManagedFields = nil // the filler makes fields that are no JSON
		text, err := json.Marshal(&o)
		if err != nil {
			t.Fatal(err)
		}
		// JSON has no difference between what is empty and what is unset.
		var same metav1.PartialObjectMetadata
		if err := json.Unmarshal(text, &same); err != nil {
			t.Fatal(err)
		}
		want, err := (&metav1.PartialObjectMetadata{ObjectMeta: same.ObjectMeta}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, 0x12, 2, '{', '}')
		got, _, _, err := FromJSON(nil, text, nil)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v\n%s\ngot  %x\nwant %x", err, text, got, want)
		}
	}
}

func TestPathsBelowABody(t *testing.T) {
	raw := encodeJSON(t, webApp)
	for path, want := range map[string]struct{ values, raw []string }{
		"metadata.name":        {[]string{"web"}, []string{"web"}},
		"metadata.labels[app]": {[]string{"web"}, []string{"web"}},
		"controller.uid":       {[]string{"u-1"}, []string{"u-1"}},
		"spec.replicas":        {[]string{"3"}, []string{"3"}},
		"spec.ratio":           {[]string{"1.50"}, []string{"1.50"}},
		"spec.on":              {[]string{"true"}, []string{"true"}},
		"spec.off":             {nil, nil},
		"spec.none.at.all":     {nil, nil},
		"spec.image":           {[]string{"a/b:1"}, []string{`"a\/b:\u0031"`}},
		"spec.image.below":     {nil, nil},
		"spec.tiers.name":      {[]string{"front", "back"}, []string{`"front"`, `"back"`}},
		"spec.tiers.ports":     {[]string{"80", "443"}, []string{"80", "443"}},
		"spec.tiers": {[]string{"7"},
			[]string{`{"name":"front","ports":[80,443],"extra":1}`, `{"name":"back","ports":[]}`, "7"}},
		"spec.selector":                {nil, []string{`{"matchLabels":{"app":"web"}}`}},
		"spec.nodes[a.b]":              {[]string{""}, []string{`""`}},
		"spec.nodes.n":                 {[]string{"5"}, []string{"5"}},
		"status.conditions.type":       {[]string{"Ready", "Stale"}, []string{`"Ready"`, `"Stale"`}},
		"spec.nodes[kubernetes.io/os]": {[]string{"linux"}, []string{`"linux"`}},
	} {
		p, err := webApps.Message.Path(path)
		if err != nil {
			t.Fatal(err)
		}

		values, err := p.Values(nil, raw)
		if err != nil {
			t.Fatal(err)
		}

		found, err := p.Raw(nil, raw)
		if err != nil {
			t.Fatal(err)
		}

		if d := cmp.Diff(want.values, textValues(values)); d != "" {
			t.Errorf("values of %s: %s", path, d)
		}
		if d := cmp.Diff(want.raw, textValues(found)); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}

	for _, path := range []string{"apiVersion", "kind", "", "spec..a", "spec[a", "metadata.labels.app", "metadata.nmae"} {
		if _, err := webApps.Message.Path(path); err == nil || !strings.Contains(err.Error(), "path ") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func textValues(l [][]byte) (s []string) {
	for _, b := range l {
		s = append(s, string(b))
	}
	return s
}

// Paths go on below a RawExtension of a built-in type.
func TestPathsBelowARawExtension(t *testing.T) {
	r := mustFor(t, "apps", "v1", "controllerrevisions")
	raw := marshal(t, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{"a":[1,22]}}`)}})
	p, err := r.Message.Path("data.spec.a")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Values(nil, raw); err != nil || !slices.Equal(textValues(got), []string{"1", "22"}) {
		t.Fatalf("%q %v", got, err)
	}
	mask, err := r.Message.Mask("data.spec.b")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := mask.Project(nil, raw); err != nil || !bytes.Contains(got, []byte(`{"spec":{}}`)) {
		t.Fatalf("%q %v", got, err)
	}
}

func TestMasksKeepPartsOfABody(t *testing.T) {
	for _, test := range []struct {
		paths []string
		want  string // of the body
	}{
		{[]string{"metadata"}, ""},
		{[]string{"status.conditions.type", "*"}, bodyText(t, encodeJSON(t, webApp))},
		{[]string{"spec.replicas"}, `{"spec":{"replicas":3}}`},
		{[]string{"spec.replicas", "status.conditions.type"},
			`{"spec":{"replicas":3},"status":{"conditions":[{"type":"Ready"},{"type":"Stale"}]}}`},
		{[]string{"spec.tiers.ports"}, `{"spec":{"tiers":[{"ports":[80,443]},{"ports":[]},7]}}`},
		{[]string{"spec.tiers.none"}, `{"spec":{"tiers":[{},{},7]}}`},
		{[]string{"spec.nodes[a.b]", "spec.nodes[n]"}, `{"spec":{"nodes":{"a.b":"","n":5}}}`},
		{[]string{"spec.nodes[a.b]", "spec.nodes"}, `{"spec":{"nodes":{"kubernetes.io/os":"linux","a.b":"","n":5}}}`},
		{[]string{"spec.replicas.below", "none"}, `{"spec":{}}`},
	} {
		mask, err := webApps.Message.Mask(test.paths...)
		if err != nil {
			t.Fatal(err)
		}

		raw := encodeJSON(t, webApp)
		kept, err := mask.Project(nil, raw)
		if err != nil {
			t.Fatal(err)
		}

		if got := bodyText(t, kept); got != test.want {
			t.Errorf("%v: %s, want %s", test.paths, got, test.want)
		}
		for _, p := range test.paths {
			if !mask.Keeps(p) || !webApps.Message.Whole().Keeps(p) {
				t.Errorf("%v doesn't keep %s", test.paths, p)
			}
		}

		if slices.Contains(test.paths, "*") != mask.Keeps("spec") || !mask.Covers(mask) ||
			!webApps.Message.Whole().Covers(mask) || mask.Covers(webApps.Message.Whole()) {
			t.Errorf("%v: covers", test.paths)
		}
	}
}

func bodyText(t *testing.T, raw []byte) (text string) {
	t.Helper()
	if err := Each(raw, func(number int32, content []byte) error {
		if number == bodyNumber {
			text = string(content)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestLeavesOfABody(t *testing.T) {
	paths := []string{"metadata.labels", "spec", "spec.replicas", "spec.tiers.name", "spec.tiers.ports",
		"status.conditions.type", "status.conditions"}
	leaves, err := webApps.Message.Leaves(paths)
	if err != nil {
		t.Fatal(err)
	}

	for change, want := range map[[2]string][]string{
		{`"replicas":3`, `"replicas":4`}:         {"spec", "spec.replicas"},
		{`"ratio":1.50`, `"ratio":2`}:            {"spec"},
		{`"name":"front"`, `"name":"x"`}:         {"spec", "spec.tiers.name"},
		{`[80,443]`, `[80]`}:                     {"spec", "spec.tiers.ports"},
		{`,7]`, `]`}:                             {"spec", "spec.tiers.name", "spec.tiers.ports"},
		{`"message":"ok"`, `"message":"bad"`}:    {"status.conditions"},
		{`"type":"Stale"`, `"type":"Old"`}:       {"status.conditions.type", "status.conditions"},
		{`"resourceVersion":"77"`, `"kind":"x"`}: nil,
		{`"tier":""`, `"tier":"x"`}:              {"metadata.labels"},
		{`"status":{`, `"was":{`}:                {"status.conditions.type", "status.conditions"},
	} {
		var bits Bits
		if err := leaves.Changed(encodeJSON(t, webApp), encodeJSON(t, strings.Replace(webApp, change[0], change[1], 1)),
			&bits); err != nil {
			t.Fatal(err)
		}

		var got []string
		for i, p := range paths {
			if bits.Has(i) {
				got = append(got, p)
			}
		}

		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s to %s: %s", change[0], change[1], d)
		}
	}
}

func TestWhatIsNoObjectIsAnError(t *testing.T) {
	for _, text := range []string{
		``, ` `, `null`, `[]`, `"x"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":[1,]}`, `{"a":01}`,
		`{"a":1.}`, `{"a":1e}`, `{"a":-}`, `{"a":tru}`, `{"a":"\x"}`, `{"a":"\u12"}`,
		"{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", `{"a":1}x`, `{"a":1}{}`, `{a:1}`, `{"metadata":[]}`, `{"metadata":{"name":1}}`,
		`{"metadata":{"labels":{"a":1}}}`, `{"metadata":{"generation":1.5}}`,
		`{"metadata":{"generation":99999999999999999999}}`, `{"metadata":{"creationTimestamp":"now"}}`,
		`{"metadata":{"finalizers":{}}}`, `{"metadata":{"ownerReferences":[1]}}`,
		`{"metadata":{"deletionTimestamp":5}}`,
		strings.Repeat(`{"a":`, jsonDepth+1) + "1" + strings.Repeat("}", jsonDepth+1),
	} {
		if raw, _, _, err := FromJSON(nil, []byte(text), nil); err == nil {
			t.Errorf("%.60q became %q", text, raw)
		}
	}
	if _, _, _, err := FromJSON(nil, []byte(strings.Repeat(`{"a":`, jsonDepth)+"1"+strings.Repeat("}", jsonDepth)),
		nil); err != nil {
		t.Error(err)
	}
	for _, raw := range [][]byte{{0x12, 1, '['}, {0x12, 2, '{', '{'}, append([]byte{0x12, 12}, `{"kind":"a"}`...),
		{0x0a, 5}} {
		if b, err := webApps.JSON(raw); err == nil {
			t.Errorf("%q became %s", raw, b)
		}
	}
}

func TestNamedResources(t *testing.T) {
	for r, custom := range map[abi.Resource]bool{
		{Version: "v1", Name: "pods"}: false, {Group: "example.com", Version: "v1", Name: "webapps"}: true,
		{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions"}: true,
	} {
		if s, err := Named(r); err != nil || s.Custom != custom {
			t.Errorf("%s: %v", r, err)
		}
	}
	for _, r := range []abi.Resource{{Group: "apps", Version: "v1", Name: "deployment"},
		{Group: "networking.k8s.io", Version: "v1", Name: "ingres"}, {Group: "shop", Version: "v1", Name: "webapps"},
		{Group: "example.com", Version: "v1"}} {
		if s, err := Named(r); err == nil {
			t.Errorf("%s is %v", r, s.Kind)
		}
	}
}

// What is done to each object that comes allocates nothing once there is a buffer.
func TestBodiesAllocateNothing(t *testing.T) {
	m := webApps.Message
	paths := []string{"spec.replicas", "spec.tiers.name", "status.conditions.type", "metadata.labels"}
	mask, err := m.Mask(paths...)
	if err != nil {
		t.Fatal(err)
	}

	leaves, err := m.Leaves(paths)
	if err != nil {
		t.Fatal(err)
	}

	path, err := m.Path("spec.tiers.name")
	if err != nil {
		t.Fatal(err)
	}

	text := []byte(webApp)
	before, after := encodeJSON(t, webApp), encodeJSON(t, strings.Replace(webApp, `"front"`, `"fore"`, 1))
	dst, values := make([]byte, 0, 2*len(before)), make([][]byte, 0, 4)
	var bits Bits
	for what, do := range map[string]func() error{
		"reading JSON":    func() error { _, _, _, err := FromJSON(dst[:0], text, mask); return err },
		"projecting":      func() error { _, err := mask.Project(dst[:0], before); return err },
		"telling changes": func() error { return leaves.Changed(before, after, &bits) },
		"reading values":  func() error { _, err := path.Values(values[:0], before); return err },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}
