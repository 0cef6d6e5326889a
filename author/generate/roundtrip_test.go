package generate_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	richv1 "github.com/windlass-dev/windlass/author/generate/testdata/rich/v1"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/sdk/resource"
)

var riches = schema.Custom(richv1.Riches.ABI(), "Rich", true)

// richSchema is what the definition says of a Rich.
func richSchema(t *testing.T) *apiextensionsv1.JSONSchemaProps {
	b, err := os.ReadFile(rich + "/crd/rich.example.com_riches.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(b, &d); err != nil {
		t.Fatal(err)
	}
	return d.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// world makes random objects.
type world struct{ *rand.Rand }

func (w world) randomObject(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	o := w.randomValue(s, 0).(map[string]any)
	o["apiVersion"], o["kind"] = "rich.example.com/v1", "Rich"
	o["metadata"] = map[string]any{"name": "a", "namespace": "default", "uid": "u1",
		"labels": map[string]any{"app": "web"}, "finalizers": []any{"example.com/hold"}, "generation": 3,
		"resourceVersion": "1"}
	return o
}

// randomValue makes one that the schema allows, as far as its types go, with members that it doesn't know.
func (w world) randomValue(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	switch {
	case s.XIntOrString && s.Pattern != "":
		return []any{"100m", "1.5Gi", "2e3", "-3"}[w.IntN(4)]
	case s.XIntOrString:
		return []any{"25%", float64(w.IntN(1 << 20))}[w.IntN(2)]
	case s.XPreserveUnknownFields != nil && s.Type == "object":
		return map[string]any{"kept": w.randomJSON(0)}
	case s.XPreserveUnknownFields != nil:
		return w.randomJSON(0)
	}

	switch s.Type {
	case "boolean":
		return w.IntN(2) == 0
	case "integer":
		if s.Format == "int64" {
			return json.Number(fmt.Sprint(w.Int64() - w.Int64()))
		}
		return float64(w.Int32() - w.Int32())
	case "string":
		switch s.Format {
		case "date-time":
			return fmt.Sprintf("2026-%02d-%02dT%02d:00:00Z", 1+w.IntN(12), 1+w.IntN(28), w.IntN(24))
		case "byte":
			return base64.StdEncoding.EncodeToString([]byte(w.randomText()))
		}
		return w.randomText()
	case "array":
		l := []any{}
		for range w.IntN(4) {
			l = append(l, w.randomValue(s.Items.Schema, depth+1))
		}
		return l
	}

	o := map[string]any{}
	if s.AdditionalProperties != nil {
		for range w.IntN(4) {
			o[w.randomText()] = w.randomValue(s.AdditionalProperties.Schema, depth+1)
		}
		return o
	}

	for name, p := range s.Properties {
		if w.IntN(2+depth) == 0 {
			o[name] = w.randomValue(&p, depth+1)
		}
	}

	if w.IntN(3) == 0 {
		o["x"+w.randomText()] = w.randomJSON(0)
	}
	return o
}

func (w world) randomText() string {
	const letters = "abcäé\"\\\n\u2028<>&漢😀 \u0001"
	r := []rune(letters)
	s := make([]rune, w.IntN(8))
	for i := range s {
		s[i] = r[w.IntN(len(r))]
	}
	return string(s)
}

func (w world) randomJSON(depth int) any {
	switch k := w.IntN(7); {
	case k == 0:
		return nil
	case k == 1:
		return w.IntN(2) == 0
	case k == 2:
		return json.Number([]string{"0", "-1.50", "1e3", "12345678901234567890", "0.1"}[w.IntN(5)])
	case k == 3 && depth < 3:
		o := map[string]any{}
		for range w.IntN(3) {
			o[w.randomText()] = w.randomJSON(depth + 1)
		}
		return o
	case k == 4 && depth < 3:
		l := []any{}
		for range w.IntN(3) {
			l = append(l, w.randomJSON(depth+1))
		}
		return l
	}
	return w.randomText()
}

// meaning drops the members that say nothing: what is absent and what is zero are the same to the host.
func meaning(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, x := range v {
			if x = meaning(x); !isZeroJSON(x) {
				m[k] = x
			}
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = meaning(v[i])
		}
		return l
	case string:
		return strings.Replace(v, ".000000Z", "Z", 1) // a MicroTime has its microseconds always
	}
	return v
}

func isZeroJSON(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case json.Number:
		return v == "0"
	}
	return v == nil || v == false || v == ""
}

func decodeJSON(t *testing.T, b []byte) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

// checkRoundTrip takes an object's JSON to the guest's form, through a plugin, and back.
func checkRoundTrip(t *testing.T, object []byte, through func(raw []byte) []byte) {
	t.Helper()
	raw, _, _, err := schema.FromJSON(nil, object, nil)
	if err != nil {
		t.Fatalf("%v in %s", err, object)
	}
	back, err := riches.JSON(through(raw))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := meaning(decodeJSON(t, object)), meaning(decodeJSON(t, back)); !reflect.DeepEqual(want, got) {
		t.Fatalf("%s\nbecame\n%s", object, back)
	}
}

func samples(t *testing.T, n int) [][]byte {
	s := richSchema(t)
	w := world{rand.New(rand.NewPCG(1, 2))}
	l := make([][]byte, n)
	for i := range l {
		var err error
		if l[i], err = json.Marshal(w.randomObject(s)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// Nothing of an object is lost in the types, not even what they don't know, and an object that was read is what it says
// when it is written.
func TestObjectsSurvive(t *testing.T) {
	for _, object := range samples(t, 500) {
		checkRoundTrip(t, object, func(raw []byte) []byte {
			var o, again, clone richv1.Rich
			if err := resource.Decode(raw, &o); err != nil {
				t.Fatalf("%v in %s", err, object)
			}
			b := resource.Append(nil, &o)
			if err := resource.Decode(b, &again); err != nil || !resource.Equal(&o, &again) {
				t.Fatalf("differs from what it was written as (%v): %s", err, object)
			}
			wire.Clone(resource.PointerOf(&clone), resource.PointerOf(&o), &richv1.RichTable)
			resource.Reset(&o)
			if !bytes.Equal(resource.Append(nil, &clone), b) || !resource.Equal(&o, &richv1.Rich{}) {
				t.Fatalf("a clone differs, or a reset object isn't empty: %s", object)
			}
			return b
		})
	}
}

func TestObjectsSurviveInAModule(t *testing.T) {
	const root = "../.."
	file := filepath.Join(t.TempDir(), "rich.wasm")
	c := exec.CommandContext(t.Context(), "_output/toolchain/tinygo", "build", "-target=_output/toolchain/target.json",
		"-opt=z", "-no-debug", "-panic=trap", "-o", file,
		"./author/generate/testdata/rich/module")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v (the toolchain is built by make toolchain)\n%s", err, out)
	}

	found, err := plugins.Named(file)
	if err != nil {
		t.Fatal(err)
	}

	m, err := plugins.Open(t.Context(), found, sandbox.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { m.Close(context.Background()) })
	for _, object := range samples(t, 100) {
		checkRoundTrip(t, object, func(raw []byte) []byte {
			r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "a"},
				Views: []abi.ViewData{{Objects: []abi.ObjectData{{Data: raw, ResourceVersion: "1"}}}}}
			var a abi.SyncResponse
			call := &sandbox.Call{Size: abi.SizeRequest(r), Write: func(b []byte) { abi.AppendRequest(b[:0], r) }}
			if _, err := m.Module.Sync(t.Context(), call, func(b []byte) error {
				return abi.DecodeResponse(bytes.Clone(b),
					&a)
			}); err != nil {
				t.Fatal(err)
			}
			if a.Error != "" || len(a.Effects) != 1 {
				t.Fatalf("%q, %d effects", a.Error, len(a.Effects))
			}
			return a.Effects[0].Object
		})
	}
}

// What a plugin means by zero stays: an explicit zero of a pointer, and of a field that is always written.
func TestExplicitZeros(t *testing.T) {
	var o richv1.Rich
	body := `{"spec":{"replicas":0,"wanted":false,"address":"","serial":7},"status":{}}`
	if err := resource.Decode(wire.AppendBytes(nil, 2, []byte(body)), &o); err != nil {
		t.Fatal(err)
	}
	if o.Spec.Replicas == nil || *o.Spec.Replicas != 0 || o.Spec.Wanted == nil || *o.Spec.Wanted ||
		sdk.Deref(o.Spec.Address, "none") != "" || sdk.Deref(o.Spec.Spare, richv1.Tier{Name: "none"}).Name != "none" {
		t.Errorf("read as %+v", o.Spec)
	}
	o.Spec.Serial = 0
	want := `{"spec":{"replicas":0,"serial":0,"wanted":false,"patient":false,"name":"","address":"","main":{"weight":0},"flags":null,"port":0,"window":{"days":null}},"status":{"replicas":0}}`
	if got := string(resource.Append(nil, &o)[2:]); !strings.HasSuffix(got, want) {
		t.Errorf("written as %s\nwant %s", got, want)
	}
}

func TestUnknownMetadataSurvives(t *testing.T) {
	var o richv1.Rich
	meta := wire.AppendString(wire.AppendString(nil, 1, "a"), 999, "from a newer API server")
	raw := wire.AppendBytes(nil, 1, meta)
	if err := resource.Decode(raw, &o); err != nil || o.Name != "a" {
		t.Fatal(err, o.Name)
	}
	if got := resource.Append(nil, &o); !bytes.HasPrefix(got, raw) {
		t.Errorf("%q became %q", raw, got)
	}
}

// An object that doesn't fit the type says where.
func TestErrorsHaveAPath(t *testing.T) {
	for body, want := range map[string]string{
		`{"spec":{"replicas":"three"}}`:                       "spec.replicas: " + wire.ErrType.Error(),
		`{"spec":{"tiers":[{"name":"a"},{"weight":1.5}]}}`:    "spec.tiers[1].weight: " + wire.ErrNumber.Error(),
		`{"spec":{"byMode":{"Auto":{"name":{}}}}}`:            "spec.byMode.Auto.name: " + wire.ErrType.Error(),
		`{"spec":{"grid":[[1],[2,true]]}}`:                    "spec.grid[1][1]: " + wire.ErrType.Error(),
		`{"spec":{"start":"noon"}}`:                           "spec.start: " + wire.ErrTime.Error(),
		`{"spec":[]}`:                                         "spec: " + wire.ErrType.Error(),
		`{"spec":{"name":"a" "paused":true}}`:                 "spec: " + wire.ErrJSON.Error(),
		`{"spec":{"resources":{"limits":{"cpu":"lots"}}}}`:    "spec.resources.limits.cpu: " + wire.ErrNumber.Error(),
		`{"status":{"conditions":[{"type":"A","status":1}]}}`: "status.conditions[0].status: " + wire.ErrType.Error(),
		`[]`: wire.ErrType.Error(),
	} {
		var o richv1.Rich
		if err := resource.Decode(wire.AppendBytes(nil, 2, []byte(body)), &o); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	var o richv1.Rich
	if err := resource.Decode([]byte{0x12}, &o); err == nil {
		t.Error("half a field is read")
	}
}
