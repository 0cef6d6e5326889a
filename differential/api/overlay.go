package api

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// overlay takes over an object's status, which no create sets.
func overlay(into, from runtime.Object) {
	a, b := reflect.ValueOf(into).Elem(), reflect.ValueOf(from).Elem()
	if f := a.FieldByName("Status"); f.IsValid() && f.CanSet() {
		f.Set(b.FieldByName("Status"))
	}
}
