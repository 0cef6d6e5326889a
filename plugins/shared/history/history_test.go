package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	wholejson "k8s.io/apimachinery/pkg/util/json"
	k8srand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
	"sigs.k8s.io/randfill"

	"github.com/windlass-dev/windlass/abi/wire"
	_ "github.com/windlass-dev/windlass/author/guest/guesttest" // brings the host's helpers
	"github.com/windlass-dev/windlass/plugins/shared/form"
	"github.com/windlass-dev/windlass/plugins/shared/history"
	guestappsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	guestcorev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	guest "github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/worlds"
)

// template makes a pod template that has everything, some things or next to nothing, as it comes from the API server,
// and as the guest has it.
func template(t *testing.T, seed int64) (*corev1.PodTemplateSpec, *guestcorev1.PodTemplateSpec) {
	t.Helper()
	in := &corev1.PodTemplate{}
	randfill.New().RandSource(rand.NewSource(seed)).NilChance([]float64{0, 0.3, 0.8}[seed%3]).NumElements(0,
		3).MaxDepth(14).Funcs(
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(x *metav1.Time, c randfill.Continue) { *x = metav1.Unix(c.Int63n(4e9), 0) },
		func(x *resource.Quantity, c randfill.Continue) {
			*x = resource.MustParse([]string{"0", "100m", "1.5Gi", "2e3", "12E", "-3Ki"}[c.Intn(6)])
		},
		func(x *intstr.IntOrString, c randfill.Continue) {
			if *x = intstr.FromInt32(c.Int31()); c.Bool() {
				*x = intstr.FromString("<" + c.String(8) + "&")
			}
		},
		func(x *metav1.FieldsV1, _ randfill.Continue) { x.SetRawBytes([]byte(`{"f:a":{}}`)) },
		func(x *int64, c randfill.Continue) { *x = c.Int63() - c.Int63() },
	).Fill(&in.Template)

	b, err := in.Marshal()
	if err != nil {
		t.Fatal(err)
	}

	out, ours := &corev1.PodTemplate{}, &guestcorev1.PodTemplate{}
	if err := out.Unmarshal(b); err != nil {
		t.Fatal(err)
	}
	if err := guest.Decode(b, ours); err != nil {
		t.Fatal(err)
	}
	return &out.Template, &ours.Template
}

// upstreamPatch returns what upstream makes of an object's template: getPatch in pkg/controller/daemon/update.go, where
// whole numbers stay whole, and in pkg/controller/statefulset/stateful_set_utils.go.
func upstreamPatch(t *testing.T, o any, unmarshal func([]byte, any) error) string {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	replace := raw["spec"].(map[string]any)["template"].(map[string]any)
	replace["$patch"] = "replace"
	b, err = json.Marshal(map[string]any{"spec": map[string]any{"template": replace}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func guestRaw(b []byte) wire.RawExtension { return wire.RawExtension{Raw: b} }

func TestDataIsUpstreams(t *testing.T) {
	differ := 0
	for seed := range int64(worlds.Number(200)) {
		theirs, ours := template(t, seed)
		exact, err := history.Data(ours)
		if err != nil {
			t.Fatal(err)
		}
		if want := upstreamPatch(t, &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: *theirs}},
			func(b []byte, v any) error {
				return wholejson.Unmarshal(b, v)
			}); string(exact) != want {
			t.Fatalf("seed %d: a DaemonSet's data are\n%s\nwant\n%s", seed, exact, want)
		}
		rounded, err := history.FloatData(ours)
		if err != nil {
			t.Fatal(err)
		}
		if want := upstreamPatch(t, &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: *theirs}},
			json.Unmarshal); string(rounded) != want {
			t.Fatalf("seed %d: a StatefulSet's data are\n%s\nwant\n%s", seed, rounded, want)
		}
		if !bytes.Equal(exact, rounded) {
			differ++
		}

		back, err := history.Template(&guestappsv1.ControllerRevision{Data: guestRaw(exact)})
		if err != nil {
			t.Fatal(err)
		}
		again, err := history.Data(back)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(exact, again) {
			t.Fatalf("seed %d: the template that was read back says\n%s\nwant\n%s", seed, again, exact)
		}
	}
	if differ == 0 {
		t.Error("no template had a number that a float can't hold")
	}
}

func TestHashesAreUpstreams(t *testing.T) {
	for seed := range int64(worlds.Number(200)) {
		theirs, ours := template(t, seed)
		var count *int32
		if seed%2 == 1 {
			n := int32(seed)
			count = &n
		}
		h := fnv.New32a() // controller.ComputeHash
		fmt.Fprint(h, dump.ForHash(*theirs))
		if count != nil {
			h.Write([]byte{byte(*count), byte(*count >> 8), byte(*count >> 16), byte(*count >> 24), 0, 0, 0, 0})
		}
		got, err := form.TemplateHash(ours, count)
		if err != nil {
			t.Fatal(err)
		}
		if want := k8srand.SafeEncodeString(fmt.Sprint(h.Sum32())); got != want {
			t.Fatalf("seed %d: the template's hash is %s, want %s", seed, got, want)
		}

		data, err := history.FloatData(ours)
		if err != nil {
			t.Fatal(err)
		}
		h = fnv.New32() // history.HashControllerRevision
		h.Write(data)
		if count != nil {
			fmt.Fprint(h, *count)
		}
		if got, want := history.Hash(data, count), k8srand.SafeEncodeString(fmt.Sprint(h.Sum32())); got != want {
			t.Fatalf("seed %d: the data's hash is %s, want %s", seed, got, want)
		}
	}
}

func TestTemplateOfOtherData(t *testing.T) {
	for data, want := range map[string]string{
		``:                                 "does not replace spec.template",
		`{"spec":{}}`:                      "does not replace spec.template",
		`[]`:                               "does not replace spec.template",
		`{"spec":{"template":{"spec":7}}}`: "cannot unmarshal",
		`{"spec":{"template":{}}`:          "unexpected end",
	} {
		r := &guestappsv1.ControllerRevision{Data: guestRaw([]byte(data))}
		r.Namespace, r.Name = "default", "r"
		if _, err := history.Template(r); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "default/r") {
			t.Errorf("%s: error %v, want default/r and %q", data, err, want)
		}
	}
}

func TestSortNextSplit(t *testing.T) {
	revision := func(name string, n int64, age time.Duration, data string) *guestappsv1.ControllerRevision {
		r := &guestappsv1.ControllerRevision{Revision: n, Data: guestRaw([]byte(data))}
		r.Name = name
		r.CreationTimestamp = wire.Unix(1e9-int64(age/time.Second), 0)
		return r
	}

	all := []*guestappsv1.ControllerRevision{revision("e", 7, 0, "x"), revision("b", 2, time.Hour, "y"),
		revision("d", 2, time.Minute, "x"), revision("c", 2, time.Minute, "y"), revision("a", -1, 0, "y")}
	history.Sort(all)
	names := func(l []*guestappsv1.ControllerRevision) (s string) {
		for _, r := range l {
			s += r.Name
		}
		return s
	}

	if got := names(all); got != "abcde" {
		t.Errorf("sorted: %s", got)
	}
	if equal, others := history.Split(all, []byte("x")); names(equal) != "de" || names(others) != "abc" {
		t.Errorf("split: %s %s", names(equal), names(others))
	}
	if got := history.Next(all); got != 8 {
		t.Errorf("next: %d", got)
	}
	if got := history.Next(nil); got != 1 {
		t.Errorf("first: %d", got)
	}
	if got := history.Name(strings.Repeat("x", 300), "h"); got != strings.Repeat("x", 223)+"-h" {
		t.Errorf("name: %s", got)
	}
}
