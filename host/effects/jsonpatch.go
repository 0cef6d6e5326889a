package effects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
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

// testOperations returns the operations that fail a patch of another version of the object, or of another object.
func testOperations(version, uid string) []operation {
	var o []operation
	if uid != "" {
		o = append(o, operation{Op: "test", Path: "/metadata/uid", Value: uid})
	}
	if version != "" {
		o = append(o, operation{Op: "test", Path: "/metadata/resourceVersion", Value: version})
	}
	return o
}

// isFailedTest reports whether a JSON Patch couldn't be applied. The server doesn't say which operation failed (unlike
// its validation, which names fields); of a patch that begins with a test of the version, the others can't fail once
// that holds.
func isFailedTest(err error) bool {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return false
	}
	status := s.Status()
	return status.Code == http.StatusUnprocessableEntity &&
		(status.Details == nil || status.Details.Kind == "" && len(status.Details.Causes) == 0)
}

func asConflict(r abi.Resource, name string, err error) error {
	return apierrors.NewConflict(groupResource(r), name, err)
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

// applyBody is the body of a server-side apply: the guest's JSON, or the JSON of its wire bytes without what is unset.
func applyBody(res *schema.Resource, e *abi.Effect) ([]byte, error) {
	if isJSON(e.Object) {
		return e.Object, nil
	}
	if res.Custom {
		object, err := setMeta(e.Object, text{metaName, e.Name}, text{metaNamespace, e.Namespace})
		if err != nil {
			return nil, fmt.Errorf("the object: %w", err)
		}
		return res.JSON(object)
	}

	m, err := decodeTree(res, e.Object)
	if err != nil {
		return nil, fmt.Errorf("the object: %w", err)
	}

	dropUnset(m)
	v, kind := bodyType(res, e.Subresource)
	m["apiVersion"], m["kind"] = v, kind
	metadata, _ := m["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		m["metadata"] = metadata
	}

	metadata["name"] = e.Name
	if e.Namespace != "" {
		metadata["namespace"] = e.Namespace
	}
	return json.Marshal(m)
}

// dropUnset drops nulls and the empty structs that Go's encoder writes for structs that aren't pointers: applying them
// would own them.
func dropUnset(m map[string]any) {
	for k, v := range m {
		switch x := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			if dropUnset(x); len(x) == 0 && (k == "status" || k == "metadata" || k == "spec" || k == "resources" ||
				k == "strategy" || k == "updateStrategy") {
				delete(m, k)
			}
		case []any:
			for _, item := range x {
				if o, ok := item.(map[string]any); ok {
					dropUnset(o)
				}
			}
		}
	}
}

// manager is the field manager that the server would derive from the user agent.
func (w *Writer) manager() string {
	agent := w.Config.UserAgent
	if agent == "" {
		agent = rest.DefaultKubernetesUserAgent()
	}
	name, _, _ := strings.Cut(agent, "/")
	return name
}
