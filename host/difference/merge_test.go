package difference

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/test/worlds"
)

// writtenResources are some with all that makes merging hard: nested lists, maps of quantities, pointers, inline
// unions, times.
var writtenResources = []string{
	"apps/v1/deployments", "apps/v1/replicasets", "v1/pods", "v1/services", "v1/endpoints",
	"discovery.k8s.io/v1/endpointslices", "v1/namespaces", "batch/v1/jobs", "autoscaling/v2/horizontalpodautoscalers",
	"v1/resourcequotas", "v1/persistentvolumes", "v1/configmaps",
	"certificates.k8s.io/v1/certificatesigningrequests", "resource.k8s.io/v1/resourceclaims",
}

func newFiller(r *rand.Rand) *randfill.Filler {
	return fuzzer.FuzzerFor(metafuzzer.Funcs, r, scheme.Codecs).NilChance(0.3).NumElements(0, 3)
}

// dropZeros drops what a codec may leave out: zeros where the type can't tell them from absence.
func dropZeros(t testing.TB, m *schema.Message, raw []byte) []byte {
	parts, err := splitFields(raw)
	if err != nil {
		t.Fatalf("%s: %v in %q", m, err, raw)
	}
	var out []byte
	for _, p := range parts {
		f := m.Field(int32(p.number))
		if f == nil || f.Map {
			out = append(out, p.whole...)
			continue
		}
		if f.Kind == schema.Struct {
			inner := dropZeros(t, f.Message, p.value)
			if len(inner) > 0 || f.Optional || f.Repeated {
				out = wire.AppendBytes(out, uint32(p.number), inner)
			}
			continue
		}

		zero, err := scalarValue([]part{p})
		if err != nil {
			t.Fatal(err)
		}
		if len(zero) > 0 || f.Optional || f.Repeated {
			out = append(out, p.whole...)
		}
	}
	return out
}

// A mutation sets one field in what the guest sees, and the same in what the server should end up with.
type mutation struct {
	path string
	leaf bool // a scalar
}

// mutate takes one field at random from other into seen and expected. It descends only where both have something.
func mutate(r *rand.Rand, seen, expected, other reflect.Value, path string) (mutation, bool) {
	for range 20 {
		i := r.Intn(seen.NumField())
		sf := seen.Type().Field(i)
		tag := sf.Tag.Get("protobuf")
		if tag == "" || !sf.IsExported() {
			continue
		}
		name := strings.Split(sf.Tag.Get("json"), ",")[0]
		at := path
		if name != "" {
			at = strings.TrimPrefix(path+"."+name, ".")
		}
		if isServerOwnedPath(at) {
			continue
		}
		s, e, o := seen.Field(i), expected.Field(i), other.Field(i)
		if s.Kind() == reflect.Pointer && s.Type().Elem().Kind() == reflect.Struct &&
			!s.IsNil() && !e.IsNil() && !o.IsNil() && r.Intn(3) > 0 {

			s, e, o = s.Elem(), e.Elem(), o.Elem()
		}
		if s.Kind() == reflect.Struct && special(s.Type()) && s.Type() != reflect.TypeFor[corev1.Pod]() {
			if m, ok := mutate(r, s, e, o, at); ok {
				return m, true
			}
			continue
		}
		if name == "" {
			continue
		}
		s.Set(o)
		e.Set(o)
		composed := []reflect.Kind{reflect.Map, reflect.Slice, reflect.Struct, reflect.Pointer}
		return mutation{at, !slices.Contains(composed, s.Kind())}, true
	}
	return mutation{}, false
}

// special reports whether a struct's fields travel as fields.
func special(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("protobuf") == "" && t.Field(i).Name != "TypeMeta" {
			return false
		}
	}
	return !strings.HasSuffix(t.String(), "IntOrString") && !strings.HasSuffix(t.String(), "RawExtension")
}

func isServerOwnedPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "metadata.")
	return ok && isServerOwned(&trail{parent: &trail{name: "metadata"}, name: rest})
}

// randomPaths are the projections that a controller may have: all, much, some single leaves.
func randomPaths(r *rand.Rand, res *schema.Resource) []string {
	paths := []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"}
	for _, f := range res.Message.Fields() {
		if r.Intn(3) > 0 && f.JSON != "metadata" {
			paths = append(paths, f.JSON)
		} else if f.Kind == schema.Struct && !f.Repeated && !f.Map {
			for _, g := range f.Message.Fields() {
				if r.Intn(2) == 0 && g.JSON != "" {
					paths = append(paths, f.JSON+"."+g.JSON)
				}
			}
		}
	}
	return paths
}

// What a guest changes in its projection is changed in the whole object, and nothing else is.
func TestMergeEqualsTypedMutation(t *testing.T) {
	for _, name := range writtenResources {
		t.Run(name, func(t *testing.T) {
			res := schematest.Resource(t, name)
			changes, refusals := 0, 0
			seeds := worlds.Number(150)
			for seed := range int64(seeds) {
				r := rand.New(rand.NewSource(seed))
				fill := newFiller(r)
				before, other := res.New(), res.New()
				fill.Fill(before)
				fill.Fill(other)
				base := schematest.Marshal(t, before)
				before = schematest.Unmarshal(t, res, base) // what doesn't survive the wire isn't there
				other = schematest.Unmarshal(t, res, schematest.Marshal(t, other))
				unknown := wire.AppendBytes(nil, 1000, []byte(fmt.Sprintf("unknown-%d", seed)))
				base = append(base, unknown...)

				mask, err := res.Message.Mask(randomPaths(r, res)...)
				if err != nil {
					t.Fatal(err)
				}
				seen, err := mask.Project(nil, base)
				if err != nil {
					t.Fatal(err)
				}
				view := schematest.Unmarshal(t, res, seen)
				expected := before.DeepCopyObject()
				m, ok := mutate(r, reflect.ValueOf(view).Elem(), reflect.ValueOf(expected).Elem(),
					reflect.ValueOf(other).Elem(), "")
				if !ok {
					continue
				}
				wanted := schematest.Marshal(t, view)
				if r.Intn(2) == 0 {
					wanted = dropZeros(t, res.Message, wanted)
				}

				merged, changed, err := Merge(res.Message, base, seen, wanted, mask.Keeps)
				if !mask.Keeps(m.path) {
					var unseen *UnseenError
					if err != nil && !errors.As(err, &unseen) {
						t.Fatalf("seed %d: %s: %v", seed, m.path, err)
					}
					if err != nil {
						refusals++
					}
					if m.leaf && changed {
						t.Fatalf("seed %d: %s isn't seen and was changed", seed, m.path)
					}
					continue
				}
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, m.path, err)
				}
				if !bytes.Contains(merged, unknown) {
					t.Fatalf("seed %d: %s: the unknown field is lost", seed, m.path)
				}
				got := schematest.Unmarshal(t, res, merged)
				if !apiequality.Semantic.DeepEqual(got, expected) {
					t.Fatalf("seed %d: %s: changed %v\n got %v\nwant %v", seed, m.path, changed, got, expected)
				}
				if same := apiequality.Semantic.DeepEqual(before, expected); same && changed {
					t.Fatalf("seed %d: %s: nothing changed, yet it says so", seed, m.path)
				}
				if changed {
					changes++
				}
			}
			if changes < seeds/10 || refusals < seeds/75 {
				t.Errorf("only %d changes and %d refusals: the test shows nothing", changes, refusals)
			}
		})
	}
}

// An object that a guest has decoded and encoded without a change is no difference, whatever its codec leaves out.
func TestMergeOfNothing(t *testing.T) {
	for _, name := range writtenResources {
		res := schematest.Resource(t, name)
		for seed := range int64(worlds.Number(40)) {
			o := res.New()
			newFiller(rand.New(rand.NewSource(seed))).Fill(o)
			base := schematest.Marshal(t, o)
			for what, wanted := range map[string][]byte{
				"encoded again": schematest.Marshal(t, schematest.Unmarshal(t, res, base)),
				"lean":          dropZeros(t, res.Message, base),
			} {
				merged, changed, err := Merge(res.Message, base, base, wanted, func(string) bool { return false })
				if err != nil || changed || !bytes.Equal(merged, base) {
					t.Fatalf("%s: seed %d, %s: changed %v, %v", name, seed, what, changed, err)
				}
			}
		}
	}
}

func TestMergeByHand(t *testing.T) {
	pods := schematest.Resource(t, "v1/pods")
	for _, c := range []struct {
		name   string
		fields []string
		base   corev1.Pod
		change func(*corev1.Pod)
		want   func(*corev1.Pod)
		err    string
	}{
		{
			name: "labels are merged by key", fields: []string{"metadata.labels[a]"},
			base:   pod(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "1", "b": "2"} }),
			change: func(p *corev1.Pod) { p.Labels = map[string]string{"a": "3"} },
			want:   func(p *corev1.Pod) { p.Labels["a"] = "3" },
		},
		{
			name: "a key that isn't seen", fields: []string{"metadata.labels[a]"},
			base:   pod(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "1", "b": "2"} }),
			change: func(p *corev1.Pod) { p.Labels["b"] = "3" },
			err:    `it changes metadata.labels[b] without having seen all of it; add "metadata.labels[b]" to the fields of a view`,
		},
		{
			name: "a label goes", fields: []string{"metadata.labels"},
			base:   pod(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "1", "b": "2"} }),
			change: func(p *corev1.Pod) { delete(p.Labels, "a") },
			want:   func(p *corev1.Pod) { delete(p.Labels, "a") },
		},
		{
			name: "a list seen through narrower paths", fields: []string{"status.conditions.type"},
			base:   pod(func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True"}} }),
			change: func(p *corev1.Pod) { p.Status.Conditions[0].Type = "Other" },
			err:    "it changes status.conditions without",
		},
		{
			name: "a finalizer goes", fields: []string{"metadata.finalizers"},
			base:   pod(func(p *corev1.Pod) { p.Finalizers = []string{"a", "b"} }),
			change: func(p *corev1.Pod) { p.Finalizers = p.Finalizers[1:] },
			want:   func(p *corev1.Pod) { p.Finalizers = []string{"b"} },
		},
		{
			name: "the server's own fields are no difference", fields: []string{"metadata", "spec.nodeName"},
			base:   pod(func(p *corev1.Pod) { p.ResourceVersion = "1"; p.Generation = 1 }),
			change: func(p *corev1.Pod) { p.ResourceVersion = "7"; p.Generation = 9; p.Spec.NodeName = "n" },
			want:   func(p *corev1.Pod) { p.Spec.NodeName = "n" },
		},
		{
			name: "a pointer to zero is a change", fields: []string{"spec.terminationGracePeriodSeconds"},
			base:   pod(func(p *corev1.Pod) {}),
			change: func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64) },
			want:   func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			mask, err := pods.Message.Mask(c.fields...)
			if err != nil {
				t.Fatal(err)
			}
			base := schematest.Marshal(t, &c.base)
			seen, err := mask.Project(nil, base)
			if err != nil {
				t.Fatal(err)
			}
			view := schematest.Unmarshal(t, pods, seen).(*corev1.Pod)
			c.change(view)

			merged, _, err := Merge(pods.Message, base, seen, schematest.Marshal(t, view), mask.Keeps)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}

			want := c.base.DeepCopy()
			c.want(want)
			if got := schematest.Unmarshal(t, pods, merged); !apiequality.Semantic.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

func pod(f func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{}
	p.Name, p.Namespace = "p", "default"
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	f(&p)
	return p
}

// Whatever a guest sends: an error or a message, never a panic, and what comes out can be read.
func FuzzMergeReadsAnything(f *testing.F) {
	res := schematest.Resource(f, "apps/v1/deployments")
	for seed := range int64(5) {
		o := res.New()
		newFiller(rand.New(rand.NewSource(seed))).Fill(o)
		b := schematest.Marshal(f, o)
		f.Add(b, b, dropZeros(f, res.Message, b))
		f.Add(b, b[:len(b)/2], b)
	}
	f.Add([]byte{}, []byte{}, bytes.Repeat([]byte{0x0a, 0x02}, 1000))
	f.Fuzz(func(t *testing.T, base, seen, wanted []byte) {
		merged, changed, err := Merge(res.Message, base, seen, wanted, nil)
		if err != nil {
			return
		}
		if !changed && !bytes.Equal(merged, base) {
			t.Fatal("unchanged, yet other bytes")
		}
		if changed {
			if _, err := splitFields(merged); err != nil {
				t.Fatalf("the result can't be read: %v", err)
			}
		}
	})
}

// statusChange is a large deployment before and after a change of its status.
func statusChange(t testing.TB) (res *schema.Resource, base, wanted []byte) {
	res = schematest.Resource(t, "apps/v1/deployments")
	o := res.New()
	newFiller(rand.New(rand.NewSource(3))).Fill(o)
	base = schematest.Marshal(t, o)
	reflect.ValueOf(o).Elem().FieldByName("Status").FieldByName("Replicas").SetInt(7)
	return res, base, schematest.Marshal(t, o)
}

// A difference costs by what differs, not by what the object holds.
func TestMergeAllocations(t *testing.T) {
	res, base, wanted := statusChange(t)
	if n := testing.AllocsPerRun(100, func() {
		if _, changed, err := Merge(res.Message, base, base, wanted, nil); err != nil || !changed {
			t.Fatal(changed, err)
		}
	}); n > 30 {
		t.Errorf("%v allocations, at most 30", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, changed, err := Merge(res.Message, base, base, base, nil); err != nil || changed {
			t.Fatal(changed, err)
		}
	}); n > 1 {
		t.Errorf("%v allocations where nothing changed, at most 1", n)
	}
}

func BenchmarkMergeStatus(b *testing.B) {
	res, base, wanted := statusChange(b)
	b.SetBytes(int64(len(base)))
	b.ReportAllocs()
	for b.Loop() {
		if _, changed, err := Merge(res.Message, base, base, wanted, nil); err != nil || !changed {
			b.Fatal(changed, err)
		}
	}
}
