package effects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/host/difference"
	"github.com/windlass-dev/windlass/host/schema"
)

// operation is one step of a JSON Patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// MarshalJSON writes a value even when it is empty, except where the operation has none.
func (o operation) MarshalJSON() ([]byte, error) {
	m := map[string]any{"op": o.Op, "path": o.Path}
	if o.Op != "remove" {
		m["value"] = o.Value
	}
	return json.Marshal(m)
}

// jsonPatch returns the steps from one form of an object to another. Items of lists are addressed by index, which the
// test of the version makes safe; a whole map, message or list is only added or removed where the guest sees all of it.
func jsonPatch(res *schema.Resource, from, to []byte, keeps func(string) bool) ([]operation, error) {
	a, err := decodeTree(res, from)
	if err != nil {
		return nil, fmt.Errorf("the object in the cache: %w", err)
	}
	b, err := decodeTree(res, to)
	if err != nil {
		return nil, fmt.Errorf("the object: %w", err)
	}
	p := patcher{keeps: keeps}
	err = p.patchValue("", "", a, b)
	return p.operations, err
}

// decodeTree decodes an object into the maps and lists of its JSON.
func decodeTree(res *schema.Resource, raw []byte) (map[string]any, error) {
	b, err := objectJSON(res, raw)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var m map[string]any
	return m, d.Decode(&m)
}

// objectJSON returns an object in JSON.
func objectJSON(res *schema.Resource, raw []byte) ([]byte, error) {
	if res.Custom && !res.Partial {
		return res.JSON(raw)
	}
	o := res.New()
	if err := o.(interface{ Unmarshal([]byte) error }).Unmarshal(raw); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

type patcher struct {
	keeps      func(string) bool
	operations []operation
}

// escape writes a name as a part of a JSON pointer.
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// requireSeen refuses to add or remove what the guest saw only in part.
func (p *patcher) requireSeen(parent, field string, value any) error {
	switch value.(type) {
	case map[string]any, []any:
	default:
		return nil
	}
	path := strings.TrimPrefix(parent+"."+field, ".")
	if parent != "" && p.keeps(parent) || p.keeps(path) || parent != "" && p.keeps(parent+"["+field+"]") {
		return nil
	}
	return &difference.UnseenError{Path: path}
}

func (p *patcher) patchValue(pointer, path string, a, b any) error {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return p.patchObject(pointer, path, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return p.patchList(pointer, path, x, y)
		}
	}
	if !reflect.DeepEqual(a, b) {
		p.operations = append(p.operations, operation{Op: "replace", Path: pointer, Value: b})
	}
	return nil
}

func (p *patcher) patchObject(pointer, path string, a, b map[string]any) error {
	names := map[string]bool{}
	for k := range a {
		names[k] = true
	}
	for k := range b {
		names[k] = true
	}

	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, before := a[name]
		y, after := b[name]
		at := pointer + "/" + escape.Replace(name)
		var err error
		switch {
		case !after:
			err = p.requireSeen(path, name, x)
			p.operations = append(p.operations, operation{Op: "remove", Path: at})
		case !before || x == nil:
			err = p.requireSeen(path, name, y)
			if before && y == nil {
				continue
			}
			p.operations = append(p.operations, operation{Op: "add", Path: at, Value: y})
		default:
			err = p.patchValue(at, strings.TrimPrefix(path+"."+name, "."), x, y)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *patcher) patchList(pointer, path string, a, b []any) error {
	start := 0
	for start < len(a) && start < len(b) && reflect.DeepEqual(a[start], b[start]) {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && reflect.DeepEqual(a[len(a)-1-end], b[len(b)-1-end]) {
		end++
	}
	common := min(len(a), len(b)) - end
	for i := start; i < common; i++ {
		if err := p.patchValue(pointer+"/"+strconv.Itoa(i), path, a[i], b[i]); err != nil {
			return err
		}
	}
	for i := len(a) - end - 1; i >= max(common, start); i-- {
		p.operations = append(p.operations, operation{Op: "remove", Path: pointer + "/" + strconv.Itoa(i)})
	}
	for i := max(common, start); i < len(b)-end; i++ {
		p.operations = append(p.operations, operation{Op: "add", Path: pointer + "/" + strconv.Itoa(i), Value: b[i]})
	}
	return nil
}
