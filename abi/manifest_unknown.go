//go:build !wasm && !tinygo.wasm

package abi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// unknown finds the first member of a JSON text that the type doesn't have, and says where it stands, which encoding/json doesn't. Names must be spelt as the type has them.
// What is no JSON, or of another kind than the type, is left to the decoder, whose errors come in the text's order as well.
func unknown(b []byte, t reflect.Type) error {
	_, err := walk(json.NewDecoder(bytes.NewReader(b)), t, "", manifestDepth)
	return err
}

// manifestDepth is how deep a manifest may nest: the conditions of a view do, a little.
const manifestDepth = 100

// walk reads one value; t is nil where the type has nothing of it. ok is false when there is nothing to be read any more.
func walk(d *json.Decoder, t reflect.Type, path string, depth int) (ok bool, _ error) {
	if depth == 0 {
		return false, fmt.Errorf("%.80s…: nested deeper than %d", path, manifestDepth)
	}
	token, err := d.Token()
	if err != nil {
		return false, nil
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('['):
		var element reflect.Type
		if t != nil && t.Kind() == reflect.Slice {
			element = t.Elem()
		}
		for i := 0; d.More(); i++ {
			if ok, err := walk(d, element, fmt.Sprintf("%s[%d]", path, i), depth-1); !ok || err != nil {
				return ok, err
			}
		}
	case json.Delim('{'):
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return false, nil
			}
			at := strings.TrimPrefix(fmt.Sprint(path, ".", name), ".")
			var member reflect.Type
			if t != nil && t.Kind() == reflect.Struct {
				if member = memberOf(t, name); member == nil {
					return false, fmt.Errorf("%s: unknown field: there are %s", at, strings.Join(members(t), ", "))
				}
			}
			if ok, err := walk(d, member, at, depth-1); !ok || err != nil {
				return ok, err
			}
		}
	default:
		return true, nil
	}
	_, err = d.Token() // the end of the list or object
	return err == nil, nil
}

func memberOf(t reflect.Type, name json.Token) reflect.Type {
	for i, n := range members(t) {
		if n == name {
			return t.Field(i).Type
		}
	}
	return nil
}

// members are the names of a struct's fields in JSON.
func members(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
