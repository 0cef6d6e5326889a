package manager

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
)

// seedsOfAKind is how many messages of each kind of effect a run of the tests has that doesn't fuzz.
const seedsOfAKind = 4

// FuzzAnswers has a plugin of many rights, of which it is granted some, perform and answer whatever bytes there are, in
// a whole manager: none makes the host panic or has it send a request that the plugin isn't granted, and each time the
// controller goes on with its next key.
func FuzzAnswers(f *testing.F) {
	w := newWorld(f)
	audit := w.audit()
	g := parrot(f)
	w.place(g)
	w.configure(nil, func(k *config.Configuration) {
		core, reading := []string{""}, []string{"get", "list", "watch"}
		k.Plugins = []config.Plugin{{Name: "parrot", Grant: []config.Rule{
			{APIGroups: core, Resources: []string{"configmaps", "pods", "namespaces"}, Verbs: reading},
			{APIGroups: core, Resources: []string{"configmaps"}, Namespaces: []string{"default"},
				Verbs: []string{"create", "update", "patch", "delete", "deletecollection"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"},
				Verbs: []string{"create"}},
		}}}
	})
	w.begin()
	w.runs(g)
	bystander, err := w.client.CoreV1().ConfigMaps("default").Create(f.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "bystander"}}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}

	r := &author{Rand: rand.New(rand.NewPCG(1, 1)), about: bystander}
	for range seedsOfAKind {
		answer := &abi.SyncResponse{}
		r.fill(reflect.ValueOf(answer).Elem(), 3)
		f.Add([]byte{}, abi.AppendResponse(nil, answer))
		for kind := range abi.EffectZone + 2 {
			e := r.effect(kind)
			f.Add(abi.AppendPerform(nil, &abi.PerformRequest{Effects: e}), []byte{})
			f.Add([]byte{}, abi.AppendResponse(nil, &abi.SyncResponse{Effects: e}))
		}
	}
	done := abi.AppendResponse(nil, &abi.SyncResponse{Effects: []abi.Effect{{Kind: abi.EffectCreate,
		Resource: "v1/configmaps", Namespace: "default", Name: "done", Tolerate: abi.TolerateAlreadyExists,
		Object: configMapBytes(f, "done")}}})

	f.Fuzz(func(t *testing.T, perform, answer []byte) {
		if len(perform)+len(answer) > 500_000 {
			return // more than an object holds
		}
		maps := w.client.CoreV1().ConfigMaps("default")
		say := func(name string, perform, answer []byte) {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
				BinaryData: map[string][]byte{"says": said(perform, answer)}}
			if _, err := maps.Create(t.Context(), o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"parrot", "after", "done"} {
			if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
		}

		say("parrot", perform, answer)
		cluster.Eventually(t, time.Minute, "the next key's config map", func() (bool, string) {
			for _, c := range w.m.inspector.status(t.Context()).Controllers {
				if c.State != "Running" || c.Last != nil && c.Last.Result == syncer.Panic {
					t.Fatalf("%s is %s: %s: %+v", c.Name, c.State, c.Message, c.Last)
				}
			}
			if all := audit(); len(all) > 0 {
				t.Fatalf("requests that the plugin isn't granted: %q", all)
			}
			say("after", nil, done) // again, for the one before may have deleted it
			return exists(t, w.client, "done"), "no sync of it"
		})
	})
}

// granted are the requests that a manager of the parrot's grant may send.
var granted = regexp.MustCompile(`^(` + strings.Join([]string{
	`GET /(api|apis|healthz)`, `GET /api/v1`, `GET /apis/[a-z0-9.]+(/v[a-z0-9]+)?`, // what is served
	`GET /api/v1/(namespaces|configmaps|pods)`, `GET /api/v1/namespaces/[a-z0-9-]+`,
	`GET /api/v1/namespaces/[a-z0-9-]+/(configmaps|pods)(/[a-z0-9.-]+)?`,
	`(POST|DELETE) /api/v1/namespaces/default/configmaps`,
	`(PUT|PATCH|DELETE) /api/v1/namespaces/default/configmaps/[a-z0-9.-]+`,
	`POST /apis/authorization.k8s.io/v1/subjectaccessreviews`,
	`(POST|PATCH) (/api/v1|/apis/events.k8s.io/v1)/namespaces/[a-z0-9-]+/events(/[a-z0-9.-]+)?`,
}, "|") + `)$`)

// audit has what the manager sends looked at, and returns what tells of those requests that nobody is granted.
func (w *world) audit() (others func() []string) {
	var mu sync.Mutex
	var all []string
	next := w.config.Transport
	w.config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		// whether there are objects of controllers that don't run
		counts := r.URL.Query().Get("limit") == "1" && strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
		if said := r.Method + " " + r.URL.EscapedPath(); !granted.MatchString(said) && !counts {
			mu.Lock()
			all = append(all, said)
			mu.Unlock()
		}
		return next.RoundTrip(r)
	})

	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func exists(t *testing.T, client kubernetes.Interface, name string) bool {
	_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func configMapBytes(t testing.TB, name string) []byte {
	b, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// saidMark begins what a parrot says; it is in no text.
const saidMark = "\xf5say\xf5it\xf5"

// said is what a parrot finds in the snapshot: what it performs and answers.
func said(perform, answer []byte) []byte {
	b := append([]byte(saidMark), 0, 0, 0, 0, 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(perform)))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(answer)))
	return append(append(b, perform...), answer...)
}

// parrot returns a plugin that performs and answers what is said in its key's config map.
func parrot(t testing.TB) *guest {
	maps, pods := abi.Resource{Version: "v1", Name: "configmaps"}, abi.Resource{Version: "v1", Name: "pods"}
	all := []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"}
	namespaces := abi.View{Name: "namespaces", Resource: abi.Resource{Version: "v1", Name: "namespaces"},
		Fields: []string{"metadata.name"}}

	m := &abi.Manifest{Name: "parrot", Version: "1",
		Controllers: []abi.Controller{
			{Name: "parrot-controller", EventSource: "parrot", State: true,
				Views: []abi.View{
					{Name: "configmaps", Resource: maps, Fields: []string{"metadata", "data", "binaryData"}},
					{Name: "pods", Resource: pods, Fields: []string{"metadata"}, Lazy: true, AskBy: []string{"spec.nodeName"}},
					{Name: "namespaces", Resource: namespaces.Resource, Fields: namespaces.Fields, Count: 1},
				},
				Writes: []abi.Write{{Resource: maps, Verbs: all}, {Resource: pods, Verbs: all},
					{Resource: pods, Subresource: "status", Verbs: all}, {Resource: pods, Subresource: "eviction", Verbs: all},
					{Resource: abi.Resource{Group: "authorization.k8s.io", Version: "v1", Name: "subjectaccessreviews"},
						Verbs: []string{"create"}}}},
			{Name: "other-controller", Views: []abi.View{namespaces}},
		},
		Metrics: []abi.Metric{
			{Name: "parrot_total", Help: "A counter.", Type: abi.MetricCounter,
				Labels: []abi.Label{{Name: "kind", Values: []string{"a", "b"}}}},
			{Name: "parrot_named", Help: "A gauge.", Type: abi.MetricGauge,
				Labels: []abi.Label{{Name: "name", From: abi.LabelKeyName}, {Name: "namespace", From: abi.LabelNamespace}}},
			{Name: "parrot_sum", Help: "A sum.", Type: abi.MetricSum,
				Labels: []abi.Label{{Name: "label", View: "configmaps", Paths: []string{"data[label]"}}}},
			{Name: "parrot_seconds", Help: "A histogram.", Type: abi.MetricHistogram, Buckets: []float64{1, 2}},
		}}

	manifest, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	mark := binary.LittleEndian.Uint64([]byte(saidMark))
	return &guest{"parrot", "1", module.Assemble(t, fmt.Sprintf(parrotText, bytesText(manifest), 16<<32|len(manifest),
		mark))}
}

// parrotText is the module, in which are its manifest, where that is, and the mark.
const parrotText = `(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $size (mut i32) (i32.const 0))
  (data (i32.const 16) "%s")
  (func (export "windlass_abi_v1"))
  (func (export "windlass_alloc") (param i32) (result i32)
    (global.set $size (local.get 0))
    (drop (memory.grow (i32.shr_u (i32.add (local.get 0) (i32.const 0x1ffff)) (i32.const 16))))
    (i32.const 65536))
  (func (export "windlass_manifest") (result i64) (i64.const %d))
  (func (export "windlass_configure") (result i64) (i64.const 0))
  (func (export "windlass_sync") (result i64) (local $at i32) (local $end i32)
    (local.set $at (i32.const 65536))
    (local.set $end (i32.add (i32.const 65520) (global.get $size)))
    (loop $look
      (if (i32.ge_s (local.get $at) (local.get $end)) (then (return (i64.const 0))))
      (if (i64.ne (i64.load (local.get $at)) (i64.const %d)) (then
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $look))))
    (local.set $end (i32.load offset=8 (local.get $at)))
    (if (local.get $end) (then (drop (call $perform (i32.add (local.get $at) (i32.const 16)) (local.get $end)))))
    (i64.or
      (i64.shl (i64.extend_i32_u (i32.add (i32.add (local.get $at) (i32.const 16)) (local.get $end))) (i64.const 32))
      (i64.extend_i32_u (i32.load offset=12 (local.get $at))))))
`

// author makes up messages: some of what is in them could be meant well.
type author struct {
	*rand.Rand
	about *corev1.ConfigMap
}

// effect makes up one effect of a kind, of which at least the resource is often one that there is.
func (r *author) effect(kind abi.EffectKind) []abi.Effect {
	var e abi.Effect
	r.fill(reflect.ValueOf(&e).Elem(), 2)
	e.Kind = kind
	if kind == abi.EffectGroup {
		e.Members = append(r.effect(pick(r, abi.EffectGet, abi.EffectPatch, abi.EffectCreate)), r.effect(abi.EffectList)...)
	} else if r.IntN(4) > 0 {
		e.Members = nil
	}
	return []abi.Effect{e}
}

// meant returns what a field of a message should hold to be of effect.
func (r *author) meant(field string) (text string, ok bool) {
	o := r.about
	text, ok = map[string]string{"Resource": "v1/configmaps", "Subresource": "", "Namespace": "default", "Name": o.Name,
		"UID": string(o.UID), "Version": o.ResourceVersion, "Path": "/apis/apps/v1/deployments", "Kind": "ConfigMap",
		"APIVersion": "v1"}[field]
	return text, ok && r.IntN(8) > 0
}

// fill puts something into each field; lists and what they hold are so deep at most.
func (r *author) fill(v reflect.Value, deep int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if text, ok := r.meant(v.Type().Field(i).Name); ok && v.Field(i).Kind() == reflect.String {
				v.Field(i).SetString(text)
			} else {
				r.fill(v.Field(i), deep)
			}
		}
	case reflect.Pointer:
		if deep > 0 && r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem(), deep-1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(r.bytes())
		} else if deep > 0 {
			n := r.IntN(4)
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				r.fill(v.Index(i), deep-1)
			}
		}
	case reflect.String:
		v.SetString(r.text())
	case reflect.Bool:
		v.SetBool(r.IntN(3) == 0)
	case reflect.Float64:
		v.SetFloat(pick(r, 0, 1, -1, math.NaN(), math.Inf(1), math.MaxFloat64))
	default:
		n := pick(r, int64(r.IntN(4)), int64(r.IntN(4)), int64(r.IntN(25)), -1, math.MaxInt64, math.MinInt64)
		if v.Kind() == reflect.Int32 {
			n = int64(int32(n))
		}
		v.SetInt(n)
	}
}

func pick[T any](r *author, all ...T) T { return all[r.IntN(len(all))] }

func (r *author) text() string {
	o := r.about
	return pick(r, "", "", "v1/configmaps", "v1/configmaps", "v1/configmaps", "default", "default", "kube-system", o.Name,
		o.Name,
		string(o.UID), o.ResourceVersion, "v1/pods", "v1/pods/eviction", "status", "metadata.name", "metadata.labels[a]",
		"authorization.k8s.io/v1/subjectaccessreviews", "Europe/Rome", "/apis/apps/v1/deployments?limit=1", "../..",
		"a/../b", "a%2fb", "\xff\xfe", "\x00", "\n\x1b[2J", string(make([]byte, 300)), string(make([]byte, 70_000)))
}

func (r *author) bytes() []byte {
	object, err := r.about.Marshal()
	if err != nil {
		panic(err)
	}
	some := make([]byte, r.IntN(100))
	for i := range some {
		some[i] = byte(r.Uint32())
	}
	cut := object[:r.IntN(len(object))]
	return pick(r, nil, some, object, cut, append(append([]byte{}, object...), some...),
		[]byte(`[{"op":"add","path":"/metadata/labels","value":null},{"op":"add","path":"/metadata/labels/a","value":"b"}]`),
		[]byte(`[{"op":"test"}]`), []byte(`{"metadata":{"labels":{"a":"b"}}}`), []byte(`{"metadata":[]}`), []byte(`{`),
		[]byte(`{"kind":"ConfigMap","metadata":{"name":"bystander","namespace":"default"},"data":{"a":"b"}}`))
}
