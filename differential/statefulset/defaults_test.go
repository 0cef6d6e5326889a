package statefulset

import (
	"bytes"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	upstream "k8s.io/kubernetes/pkg/controller/statefulset"
	"sigs.k8s.io/randfill"

	_ "github.com/windlass-dev/windlass/author/guest/guesttest" // brings the host's helpers
	sharedhistory "github.com/windlass-dev/windlass/plugins/shared/history"
	"github.com/windlass-dev/windlass/plugins/shared/podtemplate"
	guest "github.com/windlass-dev/windlass/sdk/api/apps/v1"
)

// TestDefaults holds podtemplate.Default against upstream's defaults of a StatefulSet, by the data of the revision that
// each makes of a template that is restored: on 20,000 random templates, or on as many as TEMPLATES says.
func TestDefaults(t *testing.T) {
	t.Parallel()
	templates := 20_000
	if text := os.Getenv("TEMPLATES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("TEMPLATES is %q: it must be a whole number", text)
		}
		templates = n
	}

	changed := 0
	for seed := range templates {
		set := &appsv1.StatefulSet{}
		set.Spec.Template = sparse(int64(seed))
		written, err := newRevision(set, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := filled(t, set, written)
		got := ours(t, written.Data.Raw)
		if !bytes.Equal(want, got) {
			t.Fatalf("template %d, whose revision is %s: -upstream's +ours:\n%s", seed, written.Data.Raw,
				cmp.Diff(strings.Split(string(want), ","), strings.Split(string(got), ",")))
		}
		if !bytes.Equal(want, written.Data.Raw) {
			changed++
		}
	}
	if changed < templates*9/10 {
		t.Errorf("of %d templates only %d lacked a default", templates, changed)
	}
}

// filled is the data of the revision that upstream makes of a set that it has restored from one and filled in.
func filled(t *testing.T, set *appsv1.StatefulSet, written *appsv1.ControllerRevision) []byte {
	t.Helper()
	restored, err := upstream.ApplyRevision(set, written)
	if err != nil {
		t.Fatal(err)
	}
	legacyscheme.Scheme.Default(restored)
	again, err := newRevision(restored, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return again.Data.Raw
}

func ours(t *testing.T, data []byte) []byte {
	t.Helper()
	r := &guest.ControllerRevision{}
	r.Data.Raw = data
	template, err := sharedhistory.Template(r)
	if err != nil {
		t.Fatal(err)
	}
	podtemplate.Default(template)
	again, err := sharedhistory.FloatData(template)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

var (
	images = []string{"web", "web:1", "web:latest", "web@" + digest, "web:latest@" + digest, "example.com:5000/shop/web",
		"example.com:5000/shop/web:2", "localhost:5000/web:latest", "Web:1", ""}
	amounts = []string{"0", "100m", "1.5Gi", "2e3", "12E", "-3Ki", "1n", "-1u", "999999999n", "1000001u", "-1500u",
		"5e-9", "9999999e-9", "2e-6", "0.5001Ki", "100000001n", "3000u", "1.0000001", "123456789123456789n"}
)

const digest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"

// sparse is a template that has anything, with holes everywhere.
func sparse(seed int64) corev1.PodTemplateSpec {
	r := rand.New(rand.NewSource(seed)) //nolint:gosec // templates that can be had again
	var t corev1.PodTemplateSpec
	randfill.New().RandSource(r).NilChance([]float64{0.3, 0.5, 0.8}[seed%3]).NumElements(0, 2).MaxDepth(14).Funcs(
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(x *metav1.ManagedFieldsEntry, _ randfill.Continue) { x.Manager = "somebody" },
		func(x *metav1.Time, c randfill.Continue) { *x = metav1.Unix(c.Int63n(4e9), 0) },
		func(x *resource.Quantity, c randfill.Continue) {
			*x = resource.MustParse(amounts[c.Intn(len(amounts))])
		},
		func(x *intstr.IntOrString, c randfill.Continue) {
			if *x = intstr.FromInt32(c.Int31()); c.Bool() {
				*x = intstr.FromString("<" + strconv.Itoa(c.Intn(100)) + "%&")
			}
		},
		func(x *runtime.RawExtension, _ randfill.Continue) { x.Raw = []byte(`{}`) },
		func(x *string, c randfill.Continue) { *x = strconv.Itoa(c.Intn(1000)) },
		func(x *bool, c randfill.Continue) { *x = c.Bool() },
		func(x *float64, _ randfill.Continue) { *x = 0.5 },
		func(x *time.Duration, c randfill.Continue) { *x = time.Duration(c.Int63n(1e12)) },
	).Fill(&t)

	hollow(reflect.ValueOf(&t).Elem(), r)
	b, err := t.Marshal()
	if err != nil {
		panic(err) // of a template that was made here
	}

	var come corev1.PodTemplateSpec // as it comes from the API server
	if err := come.Unmarshal(b); err != nil {
		panic(err)
	}
	return come
}

// hollow empties some fields of a value and of all below it, and names images as people do.
func hollow(v reflect.Value, r *rand.Rand) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			hollow(v.Elem(), r)
		}
	case reflect.Slice:
		for i := range v.Len() {
			hollow(v.Index(i), r)
		}
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[corev1.Pod]().PkgPath() {
			return // an amount or a moment
		}
		for i := range v.NumField() {
			switch f := v.Field(i); {
			case v.Type().Field(i).Name == "Image" && f.Kind() == reflect.String, v.Type().Field(i).Name == "Reference":
				f.SetString(images[r.Intn(len(images))])
			case r.Intn(5) == 0:
				f.SetZero()
			default:
				hollow(f, r)
			}
		}
	}
}
