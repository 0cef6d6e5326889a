package awkward

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Sizes to try. Of texts the longest comes first: names have 253 bytes at most, labels 63, a CronJob's name 52. Lists
// begin with one more: if that is refused, each of thousands would be, and the API server takes half a minute to say
// so.
var (
	lengths = []int{1024, 253, 63, 52}
	counts  = []int{1, 64, 500, 5000}
)

// odd is a text that means something in a path, a query or a pattern.
const odd = "../a%2Fb?c=ü#*{"

// extreme makes a value of a field.
type extreme func() reflect.Value

// isMany reports whether a field's extremes are those of many entries: each has more of them than the one before.
func isMany(v reflect.Value) bool { return v.Kind() == reflect.Slice || v.Kind() == reflect.Map }

// extremes returns values of a field's type to try, texts of so many bytes among them; none of one that can't be grown
// by itself.
func extremes(v reflect.Value, longest int) (all []extreme) {
	add := func(x any) {
		all = append(all, func() reflect.Value { return reflect.ValueOf(x).Convert(v.Type()) })
	}
	switch v.Interface().(type) {
	case resource.Quantity:
		add(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI))
		return all
	case []byte:
		return nil
	}

	switch v.Kind() {
	case reflect.String:
		add(strings.Repeat(odd, longest/len(odd)))
		add(odd)
		for _, n := range append([]int{longest}, lengths...) {
			if more := n - v.Len(); more > 0 {
				all = append(all, func() reflect.Value {
					return reflect.ValueOf(v.String() + strings.Repeat("a", more)).Convert(v.Type())
				})
			}
		}
	case reflect.Int32:
		add(int32(math.MaxInt32))
	case reflect.Int64:
		add(int64(math.MaxInt64))
		add(int64(math.MaxInt32))
	case reflect.Pointer:
		all = extremePointers(v, longest)
	case reflect.Slice:
		all = extremeLists(v)
	case reflect.Map:
		all = extremeMaps(v, longest)
	}
	return all
}

// extremePointers returns pointers to the extremes of what a pointer points to, unless that is a struct.
func extremePointers(v reflect.Value, longest int) (all []extreme) {
	element := v.Type().Elem()
	if element.Kind() == reflect.Struct && element != reflect.TypeFor[resource.Quantity]() {
		return nil
	}
	before := reflect.New(element).Elem()
	if !v.IsNil() {
		before.Set(v.Elem())
	}
	for _, x := range extremes(before, longest) {
		all = append(all, func() reflect.Value {
			p := reflect.New(element)
			p.Elem().Set(x())
			return p
		})
	}
	return all
}

// extremeMaps returns maps with many entries, and at last one with a long text; of quantities, ones with the largest.
func extremeMaps(v reflect.Value, longest int) (all []extreme) {
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		return nil
	}
	with := func(n int, prefix string, value any) {
		all = append(all, func() reflect.Value {
			m := reflect.MakeMap(t)
			for k, x := range v.Seq2() {
				m.SetMapIndex(k, x)
			}
			for i := range n {
				m.SetMapIndex(reflect.ValueOf(fmt.Sprint(prefix, i)).Convert(t.Key()),
					reflect.ValueOf(value).Convert(t.Elem()))
			}
			return m
		})
	}

	switch element := t.Elem(); {
	case element == reflect.TypeFor[resource.Quantity]():
		for _, n := range counts {
			with(n, "example.com/awkward-", *resource.NewQuantity(math.MaxInt64, resource.DecimalSI))
		}
	case element.Kind() == reflect.String, element == reflect.TypeFor[[]byte]():
		for _, n := range counts {
			with(n, "awkward-", strings.Repeat("a", 63))
		}
		with(1, "awkward-", strings.Repeat("a", longest))
	}
	return all
}

// extremeLists returns lists with many elements, which differ by a number in what names them.
func extremeLists(v reflect.Value) (all []extreme) {
	element := v.Type().Elem()
	if element.Kind() != reflect.String && element.Kind() != reflect.Struct {
		return nil
	}
	like := reflect.New(element).Elem()
	if v.Len() > 0 {
		like.Set(v.Index(0))
	}

	for _, n := range counts {
		all = append(all, func() reflect.Value {
			list := reflect.MakeSlice(v.Type(), 0, v.Len()+n)
			list = reflect.AppendSlice(list, v)
			for i := range n {
				x := reflect.New(element).Elem()
				x.Set(like)
				if element.Kind() == reflect.String {
					x.SetString(fmt.Sprint("awkward-", i))
				} else {
					number(x, i)
				}
				list = reflect.Append(list, x)
			}
			return list
		})
	}
	return all
}

// number makes a list's element another one than the others: by its name, its port or its address.
func number(x reflect.Value, i int) {
	for k := range x.NumField() {
		f := x.Field(k)
		switch name := x.Type().Field(k).Name; {
		case !f.CanSet():
		case (name == "Name" || name == "Key") && f.Kind() == reflect.String:
			f.SetString(fmt.Sprint("awkward-", i))
		case name == "Operator" && f.Kind() == reflect.String && f.Len() == 0:
			f.SetString("Exists")
		case name == "IP" && f.Kind() == reflect.String:
			f.SetString(fmt.Sprintf("10.77.%d.%d", i>>8, i&255))
		case strings.HasSuffix(name, "Port") && f.Kind() == reflect.Int32:
			f.SetInt(int64(20_000 + i))
		case (name == "Addresses" || name == "Ports") && f.Kind() == reflect.Slice && f.Len() > 0:
			inner := reflect.MakeSlice(f.Type(), 1, 1) // a subset's own one
			inner.Index(0).Set(f.Index(0))
			if inner.Index(0).Kind() == reflect.Struct {
				number(inner.Index(0), i)
			} else if name == "Addresses" {
				inner.Index(0).SetString(fmt.Sprintf("10.77.%d.%d", i>>8, i&255))
			}
			f.Set(inner)
		}
	}
}
