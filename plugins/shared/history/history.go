// Package history keeps the ControllerRevisions of a controller's pod template (pkg/controller/history).
package history

import (
	"bytes"
	"strconv"

	"github.com/windlass-dev/windlass/plugins/shared/form"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// The data of a revision is a patch that replaces the template: keys are sorted, "$" before all letters.
const (
	head  = `{"spec":{"template":`
	mark  = `"$patch":"replace"`
	tail  = `}}`
	start = head + "{" + mark
)

// Data is the data of a template's revision, byte for byte upstream's for a DaemonSet: a byte that differs rolls all
// its pods.
func Data(t *corev1.PodTemplateSpec) ([]byte, error) { return patchData(t, false) }

// FloatData is Data as upstream's StatefulSet controller makes it, which reads numbers as floats.
func FloatData(t *corev1.PodTemplateSpec) ([]byte, error) { return patchData(t, true) }

func patchData(t *corev1.PodTemplateSpec, floats bool) ([]byte, error) {
	json, err := form.TemplateJSON(t, floats)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(start)+len(json)+len(tail))
	b = append(b, start...)
	if len(json) > len("{}") {
		b = append(b, ',')
	}
	b = append(b, json[1:]...)
	return append(b, tail...), nil
}

// Template is the template that a revision's data restores.
func Template(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	raw := r.Data.Raw
	if !bytes.HasPrefix(raw, []byte(head)) || !bytes.HasSuffix(raw, []byte(tail)) {
		return nil, sdk.Errors("controller revision ", r.Namespace, "/", r.Name, " does not replace spec.template")
	}
	t, err := form.ParseTemplate(raw[len(head) : len(raw)-len(tail)]) // which ignores the key $patch
	if err != nil {
		return nil, sdk.Errors("controller revision ", r.Namespace, "/", r.Name, ": ", err.Error())
	}
	return t, nil
}

// Sort sorts revisions by number; of equal ones the older is first, then the name decides. There are few of them.
func Sort(revisions []*appsv1.ControllerRevision) {
	for i := range revisions {
		for ; i > 0 && isOlder(revisions[i], revisions[i-1]); i-- {
			revisions[i], revisions[i-1] = revisions[i-1], revisions[i]
		}
	}
}

func isOlder(a, b *appsv1.ControllerRevision) bool {
	if a.Revision != b.Revision {
		return a.Revision < b.Revision
	}
	if n := a.CreationTimestamp.Compare(b.CreationTimestamp); n != 0 {
		return n < 0
	}
	return a.Name < b.Name
}

// Next is the number of the next revision.
func Next(revisions []*appsv1.ControllerRevision) int64 {
	n := int64(0)
	for _, r := range revisions {
		n = max(n, r.Revision)
	}
	return n + 1
}

// Split returns the revisions with this data from the others, in their order.
func Split(revisions []*appsv1.ControllerRevision, data []byte) (equal, others []*appsv1.ControllerRevision) {
	for _, r := range revisions {
		if bytes.Equal(r.Data.Raw, data) {
			equal = append(equal, r)
		} else {
			others = append(others, r)
		}
	}
	return equal, others
}

// Hash is upstream's hash of a StatefulSet revision's data (history.HashControllerRevision); of a DaemonSet's it is
// [form.TemplateHash].
func Hash(data []byte, collisions *int32) string {
	h := uint32(2166136261) // FNV-1
	add := func(b byte) { h = h*16777619 ^ uint32(b) }
	for _, b := range data {
		add(b)
	}
	if collisions != nil {
		for _, b := range []byte(strconv.Itoa(int(*collisions))) {
			add(b)
		}
	}
	return safeEncode(strconv.FormatUint(uint64(h), 10))
}

// safeEncode replaces digits as rand.SafeEncodeString does, so that they spell nothing.
func safeEncode(digits string) string {
	b := []byte(digits)
	for i := range b {
		b[i] = "456789bcdf"[b[i]-'0']
	}
	return string(b)
}

// Name is the name of a StatefulSet's revision with this hash.
func Name(prefix, hash string) string {
	if len(prefix) > 223 {
		prefix = prefix[:223]
	}
	return prefix + "-" + hash
}
