package schema

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"

	mathrand "math/rand"
)

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

var several = []struct{ group, version, name string }{
	{"", "v1", "pods"}, {"", "v1", "nodes"}, {"", "v1", "services"}, {"", "v1", "secrets"}, {"", "v1", "events"},
	{"", "v1", "persistentvolumes"}, {"", "v1", "replicationcontrollers"},
	{"apps", "v1", "deployments"}, {"apps", "v1", "statefulsets"}, {"batch", "v1", "cronjobs"},
	{"discovery.k8s.io", "v1", "endpointslices"},
	{"autoscaling", "v2", "horizontalpodautoscalers"}, {"certificates.k8s.io", "v1", "certificatesigningrequests"},
	{"networking.k8s.io", "v1", "ingresses"}, {"resource.k8s.io", "v1", "resourceslices"},
}

// newFiller returns what fills objects as the API's own round trip tests do.
func newFiller(seed int64) func(any) {
	f := fuzzer.FuzzerFor(metafuzzer.Funcs, mathrand.NewSource(seed), serializer.NewCodecFactory(scheme.Scheme))
	return func(o any) { f.Fill(o) }
}

// allPaths returns all paths of a message down to the depth.
func allPaths(m *Message, prefix string, depth int) []string {
	var all []string
	for _, f := range m.Fields() {
		if f.Inline {
			all = append(all, allPaths(f.Message, prefix, depth)...)
			continue
		}
		all = append(all, prefix+f.JSON)
		if f.Message != nil && !f.Message.List && depth > 1 {
			all = append(all, allPaths(f.Message, prefix+f.JSON+".", depth-1)...)
		}
	}
	return all
}

func pickPaths(r *rand.Rand, all []string, n int) []string {
	var some []string
	for range 1 + r.IntN(n) {
		some = append(some, all[r.IntN(len(all))])
	}
	return some
}

// tree is a set of JSON paths; a nil tree is everything.
type tree map[string]tree

func pathTree(paths []string) tree {
	root := tree{}
	for _, p := range paths {
		at := root
		segments := strings.Split(p, ".")
		for i, s := range segments {
			sub, ok := at[s]
			if ok && sub == nil {
				break
			}
			if i == len(segments)-1 {
				at[s] = nil
				break
			}
			if !ok {
				sub = tree{}
				at[s] = sub
			}
			at = sub
		}
	}
	return root
}

// pruneValue removes from a typed value all that isn't in the tree: what a projection must equal, said in Go's terms.
func pruneValue(v reflect.Value, t tree) {
	if t == nil {
		return
	}

	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			pruneValue(v.Elem(), t)
		}
	case reflect.Slice:
		for i := range v.Len() {
			pruneValue(v.Index(i), t)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(key))
			pruneValue(e, t)
			v.SetMapIndex(key, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			sf := v.Type().Field(i)
			if !sf.IsExported() {
				continue
			}
			json, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
			if strings.Contains(options, "inline") || sf.Anonymous && json == "" {
				pruneValue(v.Field(i), t)
				continue
			}
			sub, ok := t[json]
			if !ok {
				v.Field(i).SetZero()
				continue
			}
			pruneValue(v.Field(i), sub)
		}
	}
}

func TestProjectionIsTheObjectWithTheOtherFieldsRemoved(t *testing.T) {
	for _, c := range several {
		t.Run(c.name, func(t *testing.T) {
			res := mustFor(t, c.group, c.version, c.name)
			all := slices.DeleteFunc(allPaths(res.Message, "", 4), func(p string) bool { return p == "metadata" })
			fill := newFiller(1)
			r := rand.New(rand.NewPCG(1, 2))
			for range 40 {
				filled := res.New()
				fill(filled)
				raw, err := filled.(message).Marshal()
				if err != nil {
					t.Fatal(err)
				}

				some := pickPaths(r, all, 6)
				mask, err := res.Message.Mask(some...)
				if err != nil {
					t.Fatal(err)
				}

				projected, err := mask.Project(nil, raw)
				if err != nil {
					t.Fatal(err)
				}

				got, want := res.New(), res.New()
				if err := got.(message).Unmarshal(projected); err != nil {
					t.Fatalf("%v: %v", some, err)
				}
				if err := want.(message).Unmarshal(raw); err != nil {
					t.Fatal(err)
				}

				pruneValue(reflect.ValueOf(want), pathTree(some))
				if !apiequality.Semantic.DeepEqual(got, want) {
					t.Fatalf("%v: %s", some, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })))
				}

				again, err := mask.Project(nil, projected)
				if err != nil || !bytes.Equal(again, projected) {
					t.Fatalf("%v: projecting twice isn't projecting once (%v)", some, err)
				}

				for _, p := range some {
					if !mask.Keeps(p) {
						t.Fatalf("%v doesn't keep %s", some, p)
					}
				}

				if !res.Message.Whole().Union(mask).Covers(mask) || !mask.Union(mask).Covers(mask) {
					t.Fatalf("%v: a union doesn't cover its part", some)
				}
			}
		})
	}
}

func TestCoversTellsWhatAProjectionOfAProjectionHolds(t *testing.T) {
	res := mustFor(t, "", "v1", "pods")
	all := allPaths(res.Message, "", 3)
	fill := newFiller(3)
	r := rand.New(rand.NewPCG(3, 4))

	covered := 0
	for range 600 {
		a, _ := res.Message.Mask(pickPaths(r, all, 4)...)
		b, _ := res.Message.Mask(pickPaths(r, all, 2)...)
		if r.IntN(2) == 0 {
			a = a.Union(b)
		}
		if !a.Covers(b) {
			continue
		}

		covered++
		filled := res.New()
		fill(filled)
		raw, _ := filled.(message).Marshal()
		wide, err := a.Project(nil, raw)
		if err != nil {
			t.Fatal(err)
		}

		twice, err := b.Project(nil, wide)
		if err != nil {
			t.Fatal(err)
		}

		once, err := b.Project(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(twice, once) {
			t.Fatal("a mask that covers another lost something of it")
		}
	}

	if covered < 100 {
		t.Fatalf("only %d of 600 pairs cover", covered)
	}
}

func TestEveryDifferenceUnderAPathIsFound(t *testing.T) {
	for _, c := range several {
		t.Run(c.name, func(t *testing.T) {
			res := mustFor(t, c.group, c.version, c.name)
			all := allPaths(res.Message, "", 4)
			fill := newFiller(2)
			r := rand.New(rand.NewPCG(5, 6))
			var bits Bits

			changed, same := 0, 0
			for range 40 {
				a, b := res.New(), res.New()
				fill(a)
				old, _ := a.(message).Marshal()
				if err := b.(message).Unmarshal(old); err != nil {
					t.Fatal(err)
				}

				// Put another object's value at a few paths.
				other := res.New()
				fill(other)
				keep, _ := res.Message.Mask(pickPaths(r, all, 3)...)
				foreign, _ := other.(message).Marshal()
				part, err := keep.Project(nil, foreign)
				if err != nil {
					t.Fatal(err)
				}
				if err := b.(message).Unmarshal(part); err != nil {
					t.Fatal(err)
				}

				now, _ := b.(message).Marshal()
				some := pickPaths(r, all, 20)
				leaves, err := res.Message.Leaves(some)
				if err != nil {
					t.Fatal(err)
				}
				if err := leaves.Changed(old, now, &bits); err != nil {
					t.Fatal(err)
				}

				for i, p := range some {
					mask, err := res.Message.Mask(p)
					if err != nil {
						t.Fatal(err)
					}
					if mask, err = mask.Without("metadata.resourceVersion"); err != nil {
						t.Fatal(err)
					}
					x, _ := mask.Project(nil, old)
					y, _ := mask.Project(nil, now)
					if bytes.Equal(x, y) {
						same++
					} else if changed++; !bits.Has(i) && p != "metadata.resourceVersion" {
						t.Fatalf("%s differs and wasn't found", p)
					}
				}

				if err := leaves.Changed(now, now, &bits); err != nil || bits.Any() {
					t.Fatal("an object differs from itself")
				}
			}

			if changed == 0 || same == 0 {
				t.Fatalf("%d paths changed, %d stayed", changed, same)
			}
		})
	}
}
