package statefulset

import (
	"bytes"
	"strconv"
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/history"
	"github.com/windlass-dev/windlass/sdk/pod"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// means tells whether the newest revision stands for the set's template though their bytes differ. An API server of another version reads a stored set with other
// defaults, and prints it otherwise; pods must not be replaced for that (upstream's gate StatefulSetSemanticRevisionComparison).
//
// Only the API server knows its defaults. It is asked, once for each pair, where the set's template is the revision's with something added: what would a pod of either be?
func (r *rollout) means(newest *appsv1.ControllerRevision, data []byte) (bool, error) {
	old, err := history.Template(newest)
	if err != nil {
		return false, nil // nobody could roll back to it
	}
	t := &r.set.Spec.Template
	if wire.Equal(unsafe.Pointer(old), unsafe.Pointer(t), &corev1.PodTemplateSpecTable) {
		return true, nil
	}
	found := newest.ResourceVersion + " " + strconv.FormatInt(r.set.Generation, 10)
	if string(r.c.State()) == found {
		return true, nil
	}
	if !within(newest.Data.Raw, data) || !equal(old.Spec.AutomountServiceAccountToken, t.Spec.AutomountServiceAccountToken) {
		return false, nil
	}
	same, err := r.samePod(old, t)
	if same {
		r.c.SetState([]byte(found))
	}
	return same, err
}

func equal(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

// samePod tells whether the API server would make the same pod of both templates.
func (r *rollout) samePod(a, b *corev1.PodTemplateSpec) (bool, error) {
	try := func(t *corev1.PodTemplateSpec) sdk.Effect {
		p := pod.New(r.set, t)
		var no bool
		p.Spec.AutomountServiceAccountToken = &no // the token's volume would have a random name
		return sdk.Create(p, sdk.DryRun())
	}
	outcomes, err := r.c.DoAll(sdk.Independent(try(a), try(b)))
	if err != nil {
		return false, err
	}
	var made [2]corev1.Pod
	for i := range outcomes[0].Members {
		o := &outcomes[0].Members[i]
		switch {
		case o.Code == abi.CodeOK:
		case o.Reason == sdk.Invalid || o.Reason == "Forbidden" || o.Reason == "BadRequest":
			return false, nil // of one no pod can be made, or nobody can tell
		default:
			return false, &sdk.Error{Reason: o.Reason, Message: o.Message}
		}
		if err := resource.Decode(o.Object.Data, &made[i]); err != nil {
			return false, err
		}
	}
	x, y := &made[0], &made[1]
	return wire.EqualMaps(x.Labels, y.Labels) && wire.EqualMaps(x.Annotations, y.Annotations) &&
		wire.Equal(unsafe.Pointer(&x.Spec), unsafe.Pointer(&y.Spec), &corev1.PodSpecTable), nil
}

// within tells whether all of the JSON a is in b too, which may have more members. Both have sorted keys and no spaces, as revisions do.
func within(a, b []byte) bool {
	x, y := &text{rest: a}, &text{rest: b}
	return x.within(y) && len(x.rest) == 0 && len(y.rest) == 0
}

// text is what is left to read of a JSON text.
type text struct{ rest []byte }

func (x *text) within(y *text) bool {
	switch {
	case x.take('{'):
		if !y.take('{') {
			return false
		}
		for !x.take('}') {
			x.take(',')
			key := x.value()
			for { // what is only in y
				y.take(',')
				if len(y.rest) == 0 || y.rest[0] != '"' || bytes.Compare((&text{rest: y.rest}).value(), key) >= 0 {
					break
				}
				y.value()
				y.take(':')
				y.value()
			}
			if !bytes.HasPrefix(y.rest, key) {
				if x.take(':') && string(x.value()) == "null" {
					continue // as good as absent
				}
				return false
			}
			y.rest = y.rest[len(key):]
			if !x.take(':') || !y.take(':') || !x.within(y) {
				return false
			}
		}
		for !y.take('}') {
			y.take(',')
			if len(y.value()) == 0 {
				return false
			}
			y.take(':')
			y.value()
		}
		return true
	case x.take('['):
		if !y.take('[') {
			return false
		}
		for !x.take(']') {
			if x.take(',') != y.take(',') || !x.within(y) {
				return false
			}
		}
		return y.take(']')
	}
	v := x.value()
	return len(v) > 0 && bytes.Equal(v, y.value())
}

func (x *text) take(c byte) bool {
	if len(x.rest) == 0 || x.rest[0] != c {
		return false
	}
	x.rest = x.rest[1:]
	return true
}

// value takes a whole value; nothing where there is none.
func (x *text) value() []byte {
	depth, quoted, i := 0, false, 0
scan:
	for ; i < len(x.rest); i++ {
		switch c := x.rest[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']'):
			break scan
		case c == '}' || c == ']':
			depth--
		}
	}
	i = min(i, len(x.rest))
	v := x.rest[:i:i]
	x.rest = x.rest[i:]
	return v
}
