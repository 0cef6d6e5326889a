package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/test/worlds"
)

// fillRandomly fills v, a few levels deep, leaving some fields at zero.
func fillRandomly(r *rand.Rand, v reflect.Value, depth int) {
	if r.Intn(4) == 0 {
		return
	}

	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"a", "default", "apps/v1/replicasets", "größer <&>\n"}[r.Intn(4)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32:
		v.SetInt(int64(int32(r.Uint32())))
	case reflect.Int64:
		v.SetInt(int64(r.Uint64()))
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.Slice:
		if depth == 0 {
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{1, 2, 0, 255})
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1+r.Intn(3), 4))
		for i := range v.Len() {
			fillRandomly(r, v.Index(i), depth-1)
		}
	case reflect.Pointer:
		if depth == 0 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fillRandomly(r, v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			fillRandomly(r, v.Field(i), depth)
		}
	default:
		panic("a kind that no message has: " + v.Kind().String())
	}
}

func requireEqual[T any](t *testing.T, want, got *T) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Fatalf("another message came back (-want +got):\n%s", d)
	}
}

// Every message comes back as it was written, and a request has the size that was said.
func TestMessagesComeBack(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range worlds.Number(500) {
		var q, q2 SyncRequest
		fillRandomly(r, reflect.ValueOf(&q).Elem(), 4)
		b := AppendRequest(nil, &q)
		if len(b) != SizeRequest(&q) {
			t.Fatalf("a request of %d bytes was said to have %d", len(b), SizeRequest(&q))
		}
		if err := DecodeRequest(b, &q2); err != nil {
			t.Fatal(err)
		}
		requireEqual(t, &q, &q2)

		var a, a2 SyncResponse
		fillRandomly(r, reflect.ValueOf(&a).Elem(), 4)
		if err := DecodeResponse(AppendResponse(nil, &a), &a2); err != nil {
			t.Fatal(err)
		}
		requireEqual(t, &a, &a2)

		var p, p2 PerformResponse
		fillRandomly(r, reflect.ValueOf(&p).Elem(), 4)
		if err := DecodePerformed(AppendPerformed(nil, &p), &p2); err != nil {
			t.Fatal(err)
		}
		requireEqual(t, &p, &p2)
	}
}

// The JSON that a guest writes from its tables is the manifest that the host reads by the struct tags.
func TestManifestTablesAgreeWithTags(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range worlds.Number(100) {
		var m, m2 Manifest
		fillRandomly(r, reflect.ValueOf(&m).Elem(), 5)
		b := AppendManifest(nil, &m)
		if err := unknown(b, reflect.TypeOf(m)); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		if err := json.Unmarshal(b, &m2); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		requireEqual(t, &m, &m2)
	}
}

func TestDecodeManifestNamesWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		`{"name":"x","controlers":[]}`: `manifest: controlers: unknown field: there are name, version, description, stateVersion, memory, settings, metrics, controllers`,
		`{"name":"x","controllers":[{"name":"c"},{"name":"d","views":[{},{"where":{"all":[{"op":"in"},{"paht":"a"}]}}]}]}`: `manifest: controllers[1].views[1].where.all[1].paht: unknown field: ` +
			`there are all, any, each, where, path, op, not, values, view, viewPath`,
		`{"name":"x","controllers":[{"key":{"View":1}}]}`: `manifest: controllers[0].key.View: unknown field: there are view, path, single, period`,
		`{"name":"x","controllers":{"views":[]}}`:         `manifest: json: cannot unmarshal object into Go struct field Manifest.controllers of type []abi.Controller`,
		`{"name":["x",{"y":[]}],"contrllers":1}`:          `manifest: contrllers: unknown field: there are name, version, description, stateVersion, memory, settings, metrics, controllers`,
		`{"name":"x"`:                                     `manifest: unexpected EOF`,
		`{"name":"x","controllers":[{"name":"c"}]}`:       `manifest of x: controller c: no views: a controller needs at least its key's`,
		`{"controllers":[]}`:                              `manifest: name is empty`,
		`{"name":"x","controllers":[{"name":"c","views":[{"resource":{"version":"v1","name":"pods"}}]}]} true`: `manifest: something follows the JSON object`,
		`{"name":"x","metrics":[{"name":"m"}],"controllers":[{}]}`:                                             `manifest of x: metrics[0].type: ""; there are counter, gauge, sum, histogram, stale, codes, codeSeconds`,
		`{"name":"x","controllers":[]}`:                                                                        `manifest of x: no controllers`,
		`{"name":"x","controllers":[{"views":[{"name":"v"}]}]}`:                                                `manifest of x: controllers[0]: name is empty`,
		`{"name":"x","a":` + strings.Repeat("[",
			1<<19): `manifest: a: unknown field: there are name, version, description, stateVersion, memory, settings, metrics, controllers`,
		`{"name":"x","settings":` + strings.Repeat("[", 1<<19): `manifest: settings` + strings.Repeat("[0]", 24) +
			"…: nested deeper than 100",
		`{"name":"x","metrics":[{"name":"m","type":"codes","labels":[{"name":"l","from":"key.name"}]}],"controllers":[{}]}`:                                                                           `manifest of x: metrics[0].labels: a codes metric has those that the host gives it`,
		`{"name":"x","metrics":[{"name":"m","type":"histogram","buckets":[1,3,2]}],"controllers":[{}]}`:                                                                                               `manifest of x: metrics[0].buckets[2]: 2 is not more than the one before it, 3`,
		`{"name":"x","metrics":[{"name":"m","type":"counter","labels":[{"name":"le","from":"key.name"}]}],"controllers":[{}]}`:                                                                        `manifest of x: metrics[0].labels[0].name: "le" can't name a label: it must be letters, digits and "_", at most 253 of them, no digit and no "__" first, and neither "le" nor "quantile"`,
		`{"name":"x","controllers":[{"name":"c","workers":1000000000,"views":[{"resource":{"version":"v1","name":"pods"}}]}]}`:                                                                        `manifest of x: controller c: workers: 1000000000, must be from 0 to 1000`,
		`{"name":"x","controllers":[{"name":"c","pace":60000000001,"views":[{"resource":{"version":"v1","name":"pods"}}]}]}`:                                                                          `manifest of x: controller c: pace: 60000000001 ns, must be from 0 to 60000000000`,
		`{"name":"x","controllers":[{"name":"c","pace":-1,"views":[{"resource":{"version":"v1","name":"pods"}}]}]}`:                                                                                   `manifest of x: controller c: pace: -1 ns, must be from 0 to 60000000000`,
		`{"name":"x","controllers":[{"name":"c","views":[{"resource":{"version":"v1","name":"pods"}}],"writes":[{"resource":{"version":"v1","name":"pods"},"verbs":["create","updat"]}]}]}`:           `manifest of x: controller c: writes[0] (v1/pods).verbs: "updat": there are get, list, create, update, patch, delete, deletecollection, approve, escalate, sign, attest`,
		`{"name":"x","controllers":[{"name":"c","views":[{"resource":{"version":"v1","name":"pods"}}],"writes":[{"resource":{"version":"v1","name":"pods"},"subresource":"status"}]}]}`:               `manifest of x: controller c: writes[0] (v1/pods/status).verbs: none: there are get, list, create, update, patch, delete, deletecollection, approve, escalate, sign, attest`,
		`{"name":"x","controllers":[{"name":"c","views":[{"resource":{"version":"v1","name":"pods"}}],"writes":[{"resource":{"version":"v1","name":"pods"},"verbs":["get","list"],"names":["a"]}]}]}`: `manifest of x: controller c: writes[0] (v1/pods).names: a right to list can't be one to objects of some names`,
		`{"name":"x","controllers":[{"name":"c","views":[{"resource":{"version":"v1","name":"pods"}}],"writes":[{"resource":{"version":"v1","name":"pods"},"verbs":["get"],"names":["a",""]}]}]}`:     `manifest of x: controller c: writes[0] (v1/pods).names: an empty name: leave names out for all objects`,
		`{"name":"x","controllers":[{"name":"c","views":[{"resource":{"version":"v1","name":"pods"}}],"writes":[{"resource":{"version":"v1","name":"pods"},"verbs":["get"],"namespaces":[""]}]}]}`:    `manifest of x: controller c: writes[0] (v1/pods).namespaces: an empty name: leave namespaces out for all of them`,
	} {
		_, err := DecodeManifest([]byte(in))
		if err == nil || err.Error() != want {
			t.Errorf("%.200s: got %v, want %s", in, err, want)
		}
	}
}

// What is wrong with where a label's values come from is said with where it stands.
func TestDecodeManifestChecksLabels(t *testing.T) {
	const of = `"resource":{"version":"v1","name":"pods"}`
	const controllers = `"controllers":[{"name":"c","views":[{"name":"jobs",` + of + `},{"name":"pods",` + of + `},{"name":"pods",` + of +
		`}]},{"name":"d","views":[{"name":"nodes",` + of + `}]}]`

	for label, want := range map[string]string{
		`"view":"jobs","paths":["spec.managedBy"]`:                                "",
		`"view":"nodes","paths":["metadata.name","metadata.uid"],"separator":":"`: "",
		`"view":"nodes","paths":["metadata.name","metadata.uid"]`:                 "",
		`"values":["a"]`: "",
		`"view":"job","paths":["spec.managedBy"]`: `.view: no controller has a view named "job"`,
		`"view":"pods","paths":["spec.nodeName"]`: `.view: controller c has 2 views named "pods": give the one that is meant another name`,
		`"view":"jobs"`:                                     `.paths: 0; there is one, or two that are joined`,
		`"view":"jobs","paths":["a","b","c"]`:               `.paths: 3; there is one, or two that are joined`,
		`"view":"jobs","paths":["a"],"separator":":"`:       `.separator: there is but one path`,
		`"view":"jobs","paths":["a"],"values":["b"]`:        `: wants exactly one of values, setting, from and view`,
		`"view":"jobs","paths":["a"],"from":"key.name"`:     `: wants exactly one of values, setting, from and view`,
		`"paths":["a"]`:                                     `: wants exactly one of values, setting, from and view`,
		`"values":["a"],"paths":["a"]`:                      `: paths, fallbacks and separator go with a view`,
		`"setting":"burst"`:                                 "",
		`"setting":"bursts"`:                                `.setting: there is no setting "bursts"`,
		`"setting":"key"`:                                   `.setting: key is a file, whose content may be a secret`,
		`"setting":"burst","values":["a"]`:                  `: wants exactly one of values, setting, from and view`,
		`"setting":"burst","paths":["a"]`:                   `: paths, fallbacks and separator go with a view`,
		`"from":"key"`:                                      `.from: "key"; there are key.namespace, key.name, namespace`,
		`"view":"jobs","paths":["a"],"fallbacks":["b","c"]`: `.fallbacks: 2 for 1 paths; there is one for each, or none`,
	} {
		_, err := DecodeManifest([]byte(`{"name":"x","settings":[{"name":"burst"},{"name":"key","file":true}],` +
			`"metrics":[{"name":"m","type":"counter","labels":[{"name":"l",` + label + `}]}],` + controllers + `}`))
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "manifest of x: metrics[0].labels[0]")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", label, got, want)
		}
	}
}

// A message of 64 MiB whose effects take two bytes each would be a hundred times as much in memory.
func TestDecodingTakesBoundedMemory(t *testing.T) {
	b := bytes.Repeat([]byte{0x0a, 0}, MessageMax/2)
	var a SyncResponse
	if err := DecodeResponse(b, &a); !errors.Is(err, wire.ErrSize) {
		t.Errorf("got %v and %d effects", err, len(a.Effects))
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var p PerformRequest
	if err := DecodePerform(b, &p); !errors.Is(err, wire.ErrSize) {
		t.Errorf("got %v and %d effects", err, len(p.Effects))
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > wire.ExpansionMax+2*wire.ExpansionBase {
		t.Errorf("decoding took %d bytes", took)
	}
}

func FuzzDecodeManifestIsStrict(f *testing.F) {
	f.Add([]byte(`{"name":"x","controllers":[{"name":"c","views":[{"where":{"op":"in"}}]}]}`))
	f.Add([]byte(`{"a":[`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeManifest(b)
		if err != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(m); err != nil {
			t.Fatalf("%s: encoding/json finds %v", b, err)
		}
	})
}

func FuzzDecodeResponseNeverPanics(f *testing.F) {
	r := rand.New(rand.NewSource(3))
	for range 20 {
		var a SyncResponse
		fillRandomly(r, reflect.ValueOf(&a).Elem(), 4)
		f.Add(AppendResponse(nil, &a))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var a, again SyncResponse
		if DecodeResponse(b, &a) != nil {
			return
		}
		if err := DecodeResponse(AppendResponse(nil, &a), &again); err != nil {
			t.Fatalf("what was read can't be read again: %v", err)
		}
	})
}

// The other messages cross the border as well, each way.
func FuzzOtherMessagesNeverPanic(f *testing.F) {
	r := rand.New(rand.NewSource(4))
	for range 10 {
		var q SyncRequest
		var p PerformRequest
		var o PerformResponse
		fillRandomly(r, reflect.ValueOf(&q).Elem(), 4)
		fillRandomly(r, reflect.ValueOf(&p).Elem(), 4)
		fillRandomly(r, reflect.ValueOf(&o).Elem(), 4)
		f.Add(AppendRequest(nil, &q))
		f.Add(AppendPerform(nil, &p))
		f.Add(AppendPerformed(nil, &o))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		var q, q2 SyncRequest
		if DecodeRequest(b, &q) == nil {
			again := AppendRequest(nil, &q)
			if n := SizeRequest(&q); n != len(again) {
				t.Fatalf("a request of %d bytes was said to have %d", len(again), n)
			}
			if err := DecodeRequest(again, &q2); err != nil {
				t.Fatalf("request: what was read can't be read again: %v", err)
			}
		}
		var p, p2 PerformRequest
		if DecodePerform(b, &p) == nil {
			if err := DecodePerform(AppendPerform(nil, &p), &p2); err != nil {
				t.Fatalf("perform: what was read can't be read again: %v", err)
			}
		}
		var o, o2 PerformResponse
		if DecodePerformed(b, &o) == nil {
			if err := DecodePerformed(AppendPerformed(nil, &o), &o2); err != nil {
				t.Fatalf("outcomes: what was read can't be read again: %v", err)
			}
		}
		var s Settings
		_ = DecodeSettings(b, &s)
	})
}
