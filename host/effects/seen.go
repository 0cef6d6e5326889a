package effects

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// seen returns what a controller's views read of a resource, nil where none reads it.
type seen func(abi.Resource) *schema.Mask

// keepsPath reports whether the controller sees everything at a path of a resource. What it doesn't watch it sees
// whole.
func (f seen) keepsPath(r abi.Resource) func(string) bool {
	mask := f(r)
	return func(path string) bool { return mask == nil || mask.Keeps(path) }
}

// project cuts an object to what the controller reads of its resource.
func (f seen) project(r abi.Resource, raw []byte) ([]byte, error) {
	mask := f(r)
	if mask == nil {
		return raw, nil
	}
	return mask.Project(nil, raw)
}

// projectAnswer projects an answer: an object, or an object's metadata, to what the controller reads of it.
func (f seen) projectAnswer(r abi.Resource, metadata bool, raw []byte) ([]byte, error) {
	if !metadata {
		return f.project(r, raw)
	}
	mask := f(schema.Any)
	if mask == nil {
		mask = f(r)
	}
	if mask == nil {
		mask = schema.Partial(schema.Any, "", true).Message.Whole()
	}
	return mask.Project(nil, raw)
}
