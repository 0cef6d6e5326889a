package schema

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

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

// bodyPaths are what the random and the fuzzed objects are looked at by.
var bodyPaths = []string{"a", "a.b", "a.b.c", "b.a", "b[a.b]", "c", "c.c.c", "metadata.labels", "metadata.name"}

// randomJSON makes values of few names, so that paths meet them.
func randomJSON(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n < 3 && depth > 0:
		m := map[string]any{}
		for range r.IntN(4) {
			m[[]string{"a", "b", "c", "a.b"}[r.IntN(4)]] = randomJSON(r, depth-1)
		}
		return m
	case n < 5 && depth > 0:
		l := []any{}
		for range r.IntN(3) {
			l = append(l, randomJSON(r, depth-1))
		}
		return l
	}
	return []any{nil, true, false, 0, 1.5, -7, "", "x", "q\"\\<\u2028é"}[r.IntN(9)]
}

// What is projected is what is kept of encoding/json's view of the object, whatever differs is found, and values are
// those of that view.
func TestBodiesAgreeWithEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	object := func() []byte {
		m := map[string]any{"apiVersion": "example.com/v1", "kind": "WebApp",
			"metadata": map[string]any{"name": "x", "labels": map[string]string{"l": string(rune('a' + r.IntN(2)))}}}
		for _, name := range []string{"a", "b", "c"} {
			if r.IntN(4) > 0 {
				m[name] = randomJSON(r, 4)
			}
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for range 3000 {
		some := pickPaths(r, bodyPaths, 4)
		one, two := object(), object()
		checkBodies(t, one, two, some)
	}
}

func checkBodies(t *testing.T, one, two []byte, some []string) {
	t.Helper()
	m := webApps.Message
	mask, err := m.Mask(some...)
	if err != nil {
		t.Fatal(err)
	}

	leaves, err := m.Leaves(some)
	if err != nil {
		t.Fatal(err)
	}

	var projected [2][]byte
	for i, text := range [][]byte{one, two} {
		raw := encodeJSON(t, string(text))
		if projected[i], err = mask.Project(nil, raw); err != nil {
			t.Fatal(err)
		}
		if len(projected[i]) > len(raw) {
			t.Fatalf("%q became longer: %q", raw, projected[i])
		}

		again, err := mask.Project(nil, projected[i])
		if err != nil || !bytes.Equal(again, projected[i]) {
			t.Fatalf("%q, then %q (%v)", projected[i], again, err)
		}

		back, err := webApps.JSON(projected[i])
		if err != nil {
			t.Fatal(err)
		}

		got := decoded(t, back).(map[string]any)
		want := decoded(t, text).(map[string]any)
		for _, v := range []map[string]any{got, want} {
			delete(v, "metadata")
			delete(v, "apiVersion")
			delete(v, "kind")
		}

		if d := cmp.Diff(keptValues(want, some), got); d != "" {
			t.Fatalf("%s by %v: %s", text, some, d)
		}
		for _, p := range some {
			path, err := m.Path(p)
			if err != nil {
				t.Fatal(err)
			}
			values, err := path.Values(nil, raw)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(p, "metadata") {
				continue
			}
			if want, got := scalarsAt(want, memberNames(p)), textValues(values); !slices.Equal(want, got) {
				t.Fatalf("%s in %s: %q, want %q", p, text, got, want)
			}
		}
	}

	var bits Bits
	if err := leaves.Changed(encodeJSON(t, string(one)), encodeJSON(t, string(two)), &bits); err != nil {
		t.Fatal(err)
	}

	for i, p := range some {
		k, err := m.Mask(p)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := k.Project(nil, encodeJSON(t, string(one)))
		y, _ := k.Project(nil, encodeJSON(t, string(two)))
		if !bytes.Equal(x, y) && !bits.Has(i) {
			t.Fatalf("%s differs and wasn't found: %s, %s", p, one, two)
		}
	}
}

func memberNames(path string) []string {
	if path == "b[a.b]" {
		return []string{"b", "a.b"}
	}
	return strings.Split(path, ".")
}

// keptValues is the model of a projection.
func keptValues(v map[string]any, paths []string) map[string]any {
	var all [][]string
	for _, p := range paths {
		if !strings.HasPrefix(p, "metadata") {
			all = append(all, memberNames(p))
		}
	}
	if got, ok := keptBelow(v, all).(map[string]any); ok {
		return got
	}
	return map[string]any{}
}

func keptBelow(v any, paths [][]string) any {
	if slices.ContainsFunc(paths, func(p []string) bool { return len(p) == 0 }) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			var below [][]string
			for _, p := range paths {
				if p[0] == name {
					below = append(below, p[1:])
				}
			}
			if below == nil {
				continue
			}
			whole := slices.ContainsFunc(below, func(p []string) bool { return len(p) == 0 })
			if k := reflect.ValueOf(x).Kind(); whole || k == reflect.Map || k == reflect.Slice {
				out[name] = keptBelow(x, below)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = keptBelow(v[i], paths)
		}
		return out
	}

	return v
}

// scalarsAt is the model of a path's values; of an object encoding/json has lost the order, so there is one name per
// step.
func scalarsAt(v any, members []string) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(members) > 0 {
			return scalarsAt(v[members[0]], members[1:])
		}
	case []any:
		for _, x := range v {
			all = append(all, scalarsAt(x, members)...)
		}
	case string:
		if len(members) == 0 {
			return []string{v}
		}
	case json.Number:
		if len(members) == 0 {
			return []string{v.String()}
		}
	case bool:
		if len(members) == 0 {
			return []string{map[bool]string{true: "true", false: "false"}[v]}
		}
	}
	return all
}

// The scanner takes what encoding/json takes, but for strings that aren't UTF-8, and what it takes is worked on without
// a panic.
func FuzzBodiesAgreeWithEncodingJSON(f *testing.F) {
	for _, s := range []string{webApp, `{"a":{"b":[1,{"c":"\ud800\u0041"}]},"b":{"a.b":1e5}}`, `{"\u0061":1}`,
		`{"a":1,"a":{"b":2}}`, `[`, `{"metadata":{"labels":null}}`} {
		f.Add([]byte(s))
	}
	m := webApps.Message
	mask, err := m.Mask(bodyPaths...)
	if err != nil {
		f.Fatal(err)
	}

	leaves, err := m.Leaves(bodyPaths)
	if err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := skipValue(b, skipSpace(b, 0), 0)
		if valid := json.Valid(b) && utf8.Valid(b); valid && err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if end, err := skipValue(b, skipSpace(b, 0), 0); err == nil && !json.Valid(b[:end]) {
			t.Fatalf("%q is no JSON", b[:end])
		}

		raw, _, _, err := FromJSON(nil, b, nil)
		if err != nil {
			return
		}

		kept, err := mask.Project(nil, raw)
		if err != nil || len(kept) > len(raw) {
			t.Fatalf("%q: %v", raw, err)
		}

		var bits Bits
		if err := leaves.Changed(kept, raw, &bits); err != nil {
			t.Fatal(err)
		}

		for _, p := range bodyPaths {
			path, err := m.Path(p)
			if err != nil {
				t.Fatal(err)
			}
			x, err := path.Values(nil, raw)
			if err != nil {
				t.Fatal(err)
			}
			y, err := path.Values(nil, kept)
			if err != nil || !slices.EqualFunc(x, y, bytes.Equal) {
				t.Fatalf("%s of %q: %q, projected %q (%v)", p, b, x, y, err)
			}
		}

		back, err := webApps.JSON(raw)
		if err == nil && !json.Valid(back) {
			t.Fatalf("%s", back)
		}
	})
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
