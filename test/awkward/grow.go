package awkward

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// work are fields whose extreme is that much work, natively as well: two thousand million pods, say.
var work = []string{"Replicas", "Parallelism", "Completions", "MinReplicas", "MaxUnavailable", "MaxSurge"}

// absent are fields that name what isn't there when they are grown: all pods would be refused, or be deleted as their
// node is gone, or a Job be somebody else's.
var absent = []string{"NodeName", "Priority", "PriorityClassName", "RuntimeClassName", "ServiceAccountName",
	"DeprecatedServiceAccount", "ManagedBy"}

// others are fields that tell of an object's life.
var others = []string{"Status", "TypeMeta", "Namespace", "GenerateName", "SelfLink", "UID", "ResourceVersion",
	"Generation", "CreationTimestamp", "DeletionTimestamp", "DeletionGracePeriodSeconds", "OwnerReferences", "Finalizers",
	"ManagedFields", "ClusterIP", "ClusterIPs"}

// textShare is what part of an object a text is at most.
const textShare = 8

// grower makes objects' fields as large as the API server admits.
type grower struct {
	// most is how many bytes an object has at most, asks how often the API server is asked for each object, and percent
	// of how many of 100 fields.
	most, asks, percent int
	// admits asks the API server whether it would take an object.
	admits func(o *unstructured.Unstructured) bool
	// refused are the extremes that were, by the field and which of its extremes it is, so that nothing is asked twice.
	refused map[string]bool
}

// grow makes the fields of an object as large as the API server admits, in an order that the seed tells. It returns
// which fields it has grown.
func (g *grower) grow(o *unstructured.Unstructured, seed uint64) (grown []string, err error) {
	typed, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return nil, err
	}

	var fields []field
	collect(&fields, field{of: o.GetKind(), value: func() reflect.Value { return reflect.ValueOf(typed).Elem() }})
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	slices.SortStableFunc(fields, func(a, b field) int { return b.first() - a.first() })

	asks := g.asks
	for _, f := range fields {
		if random.IntN(100) >= g.percent {
			continue
		}
		fits, used, err := g.growField(o, typed, f, asks)
		if err != nil {
			return grown, err
		}
		if asks -= used; fits {
			grown = append(grown, f.path)
		}
	}
	return grown, nil
}

// growField makes a field as large as the API server admits, asking at most so often. It reports whether that is larger
// than it was, and how often it has asked.
func (g *grower) growField(o *unstructured.Unstructured, typed runtime.Object, f field, asks int) (fits bool, used int,
	err error) {
	before := reflect.New(f.value().Type()).Elem()
	before.Set(f.value())
	most := before
	defer func() { f.value().Set(most) }()

	for i, extreme := range extremes(before, g.most/textShare) {
		id := fmt.Sprint(f.of, i)
		refused := g.refused[id]
		if !refused {
			if used == asks {
				return fits, used, nil
			}
			x := extreme()
			f.value().Set(x)
			tried, size, err := g.untyped(o, typed)
			if err != nil {
				return fits, used, err
			}
			if refused = size > g.most; !refused {
				used++
				refused = !g.admits(tried)
				g.refused[id] = refused
			}
			if !refused {
				o.Object, most, fits = tried.Object, x, true
			}
		}
		if refused == isMany(before) {
			break // no more than so many, or a shorter one is no more extreme
		}
	}
	return fits, used, nil
}

// untyped returns an object as it is sent, and how many bytes that are.
func (g *grower) untyped(of *unstructured.Unstructured, typed runtime.Object) (*unstructured.Unstructured, int, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, 0, err
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(of.GroupVersionKind())
	text, err := json.Marshal(content)
	return o, len(text), err
}

// field is one that can be grown.
type field struct {
	path string
	// of is the type that has it, and its name there.
	of string
	// value finds it: what it is in may have been grown.
	value func() reflect.Value
}

// first is 1 for labels, which selectors can't do without.
func (f field) first() int {
	if strings.HasSuffix(f.path, ".Labels") {
		return 1
	}
	return 0
}

// collect finds the fields at and below a field that can be grown. What isn't set stays so, if it is a struct. Pods are
// for no scheduler: they take no node that others need.
func collect(into *[]field, f field) {
	v := f.value()
	if len(extremes(v, 0)) > 0 {
		*into = append(*into, f)
	}

	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			collect(into, field{f.path, f.of, func() reflect.Value { return f.value().Elem() }})
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0 {
			collect(into, field{f.path + "[]", f.of, func() reflect.Value { return f.value().Index(0) }})
		}
	case reflect.Struct:
		switch x := v.Addr().Interface().(type) {
		case *resource.Quantity, *metav1.Time, *metav1.MicroTime, *intstr.IntOrString:
			return
		case *corev1.PodSpec:
			x.SchedulerName = "nobody"
		}
		for i := range v.NumField() {
			t := v.Type().Field(i)
			if t.IsExported() && !slices.Contains(slices.Concat(work, absent, others), t.Name) {
				collect(into, field{f.path + "." + t.Name, fmt.Sprint(v.Type(), ".", t.Name, "/"),
					func() reflect.Value { return f.value().Field(i) }})
			}
		}
	}
}
