// Package configtest names and changes the fields of a configuration one by one, for tests that range over all of them.
package configtest

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// single are types of fields that are one value.
var single = map[reflect.Type]bool{
	reflect.TypeFor[metav1.Duration](): true, reflect.TypeFor[resource.Quantity](): true,
	reflect.TypeFor[metav1.LabelSelector](): true,
}

// Fields returns the paths of all fields of a type that have a value of their own, as a file has them:
// "serving.tls.certFile", "plugins[].grant[].verbs".
func Fields(typ reflect.Type) (paths []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner, prefix := f.Type, name+"."
		switch {
		case f.Anonymous:
			prefix = ""
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct:
			inner, prefix = inner.Elem(), name+"[]."
		}
		if inner.Kind() != reflect.Struct || single[inner] {
			paths = append(paths, name)
			continue
		}
		for _, path := range Fields(inner) {
			paths = append(paths, prefix+path)
		}
	}
	return paths
}

// Change gives the field at a path another value, which may be one that isn't valid. Of a list of objects it is the
// first one's field; an empty list gets one.
func Change(of any, path string) {
	v := reflect.ValueOf(of).Elem()
	for name := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(name, "[]")
		if v = named(v, name); list {
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			v = v.Index(0)
		}
	}

	switch x := v.Addr().Interface().(type) {
	case *metav1.Duration:
		x.Duration += 1e9
		return
	case *resource.Quantity:
		x.Add(resource.MustParse("1Mi"))
		return
	case *metav1.LabelSelector:
		*x = metav1.LabelSelector{MatchLabels: map[string]string{"changed": "true"}}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "changed")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float32:
		v.SetFloat(v.Float() + 1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.ValueOf("changed")))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"changed": "true"}))
	default:
		panic(path + ": a field of a kind that nothing changes: " + v.Type().String())
	}
}

// named returns a struct's field by its name in a file, inlined ones among them.
func named(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if own, _, _ := strings.Cut(f.Tag.Get("json"), ","); own == name && !f.Anonymous {
			return v.Field(i)
		}
		if f.Anonymous {
			if inner := named(v.Field(i), name); inner.IsValid() {
				return inner
			}
		}
	}
	return reflect.Value{}
}
