package awkward

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// work are fields whose extreme is that much work, natively as well: two thousand million pods, say.
var work = []string{"Replicas", "Parallelism", "MinReplicas", "MaxUnavailable", "MaxSurge", "Status", "TypeMeta",
	"ObjectMeta", "ManagedFields"}

// admits asks the API server whether it would take an object.
type admits func(ctx context.Context, o *unstructured.Unstructured) bool

// grow makes the fields of an object as large as the API server admits, in an order that the seed tells, asking at most
// so often. It returns which fields it has grown.
func grow(ctx context.Context, o *unstructured.Unstructured, seed uint64, asks int, ask admits) (grown []string,
	err error) {
	typed, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return nil, err
	}

	var fields []field
	collect(&fields, "", reflect.ValueOf(typed).Elem())
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })

	for _, f := range fields {
		before := reflect.New(f.value.Type()).Elem()
		before.Set(f.value)
		fits := false
		for _, extreme := range extremes(f.value) {
			if asks--; asks < 0 {
				return grown, nil
			}
			f.value.Set(extreme)
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
			if err != nil {
				return grown, err
			}
			content["apiVersion"], content["kind"] = o.GetAPIVersion(), o.GetKind()
			tried := &unstructured.Unstructured{Object: content}
			if fits = ask(ctx, tried); fits {
				o.Object = content
				grown = append(grown, f.path)
				break
			}
		}
		if !fits {
			f.value.Set(before)
		}
	}
	return grown, nil
}

// field is one that can be grown.
type field struct {
	path  string
	value reflect.Value
}

// collect finds the fields below a value that can be grown. What isn't set stays so, if it is a struct.
func collect(into *[]field, path string, v reflect.Value) {
	if len(extremes(v)) > 0 {
		*into = append(*into, field{path, v})
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			collect(into, path, v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0 {
			collect(into, path+"[]", v.Index(0))
		}
	case reflect.Struct:
		if _, ok := v.Interface().(resource.Quantity); ok {
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && !slices.Contains(work, f.Name) {
				collect(into, path+"."+f.Name, v.Field(i))
			}
		}
	}
}

// Sizes to try, the largest first: an object has at most 1.5 MB, names 253 bytes, labels 63.
var (
	lengths = []int{200_000, 1024, 253, 63}
	counts  = []int{5000, 500, 64}
)

// extremes returns values of a field's type to try, the most extreme first; none of one that can't be grown by itself.
func extremes(v reflect.Value) (all []reflect.Value) {
	add := func(x any) { all = append(all, reflect.ValueOf(x).Convert(v.Type())) }
	switch x := v.Interface().(type) {
	case resource.Quantity:
		return []reflect.Value{reflect.ValueOf(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI))}
	case map[string]string:
		for _, n := range counts {
			m := map[string]string{}
			for k, s := range x {
				m[k] = s
			}
			for i := range n {
				m[fmt.Sprintf("awkward-%d", i)] = strings.Repeat("x", 63)
			}
			add(m)
		}
		return all
	case []byte, metav1.Time:
		return nil
	}

	switch v.Kind() {
	case reflect.String:
		for _, n := range lengths {
			add(strings.Repeat("a", n))
		}
	case reflect.Int32:
		add(int32(math.MaxInt32))
	case reflect.Int64:
		add(int64(math.MaxInt64))
		add(int64(math.MaxInt32))
	case reflect.Pointer:
		if k := v.Type().Elem().Kind(); k == reflect.String || k == reflect.Int32 || k == reflect.Int64 {
			for _, x := range extremes(reflect.New(v.Type().Elem()).Elem()) {
				p := reflect.New(v.Type().Elem())
				p.Elem().Set(x)
				all = append(all, p)
			}
		}
	case reflect.Slice:
		all = extremeLists(v)
	}
	return all
}

// extremeLists returns lists with many elements, which differ by a number in what names them.
func extremeLists(v reflect.Value) (all []reflect.Value) {
	element := v.Type().Elem()
	if element.Kind() != reflect.String && (element.Kind() != reflect.Struct || v.Len() == 0) {
		return nil
	}
	for _, n := range counts {
		list := reflect.MakeSlice(v.Type(), 0, v.Len()+n)
		list = reflect.AppendSlice(list, v)
		for i := range n {
			x := reflect.New(element).Elem()
			if element.Kind() == reflect.String {
				x.SetString(fmt.Sprintf("awkward-%d", i))
			} else {
				x.Set(v.Index(0))
				number(x, i)
			}
			list = reflect.Append(list, x)
		}
		all = append(all, list)
	}
	return all
}

// number makes a list's element another one than the first: by its name, its port or its address.
func number(x reflect.Value, i int) {
	for k := range x.NumField() {
		f := x.Field(k)
		switch name := x.Type().Field(k).Name; {
		case !f.CanSet():
		case (name == "Name" || name == "Key") && f.Kind() == reflect.String:
			f.SetString(fmt.Sprintf("awkward-%d", i))
		case name == "IP" && f.Kind() == reflect.String:
			f.SetString(fmt.Sprintf("10.77.%d.%d", i>>8, i&255))
		case strings.HasSuffix(name, "Port") && f.Kind() == reflect.Int32:
			f.SetInt(int64(20_000 + i))
		case (name == "Addresses" || name == "Ports") && f.Kind() == reflect.Slice && f.Len() > 0 &&
			f.Type().Elem().Kind() == reflect.Struct: // of a subset: one of its own
			inner := reflect.MakeSlice(f.Type(), 1, 1)
			inner.Index(0).Set(f.Index(0))
			number(inner.Index(0), i)
			f.Set(inner)
		}
	}
}
