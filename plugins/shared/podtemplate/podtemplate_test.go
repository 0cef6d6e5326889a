package podtemplate

import (
	"hash/fnv"
	"strconv"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

func template(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	t.Labels.Set("app", "web")
	t.Labels.Set("tier", "front")
	t.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	t.Spec.Containers[0].Resources.Limits.Set("cpu", wire.Quantity{Text: "1"})
	change(t)
	return t
}

func TestEqual(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*corev1.PodTemplateSpec)
		equal  bool
	}{
		"nothing":        {func(t *corev1.PodTemplateSpec) {}, true},
		"the hash label": {func(t *corev1.PodTemplateSpec) { t.Labels.Set(HashLabel, "x") }, true},
		"the order of labels": {func(t *corev1.PodTemplateSpec) {
			t.Labels[0], t.Labels[1] = t.Labels[1], t.Labels[0]
		}, true},
		"an amount's form": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Resources.Limits.Set("cpu", wire.Quantity{Text: "1000m"})
		}, true},
		"no list": {func(t *corev1.PodTemplateSpec) { t.Spec.InitContainers = []corev1.Container{} }, true},
		"a label": {func(t *corev1.PodTemplateSpec) { t.Labels.Set("app", "site") }, false},
		"an amount": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Resources.Limits.Set("cpu", wire.Quantity{Text: "1001m"})
		}, false},
		"an image":         {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "web:2" }, false},
		"an unknown field": {func(t *corev1.PodTemplateSpec) { t.Spec.XUnknown = "\xc2\x3e\x01x" }, false},
	} {
		a, b := template(func(*corev1.PodTemplateSpec) {}), template(x.change)
		labels := len(b.Labels)
		if Equal(a, b) != x.equal || Equal(b, a) != x.equal {
			t.Errorf("%s changed: equal should be %v", name, x.equal)
		}
		if len(a.Labels) != 2 || len(b.Labels) != labels {
			t.Errorf("%s changed: labels are lost: %v, %v", name, a.Labels, b.Labels)
		}
	}
}

func TestHash(t *testing.T) {
	same := func(*corev1.PodTemplateSpec) {}
	plain := template(same)
	one, two := int32(1), int32(2)
	h := fnv.New32a()
	h.Write(wire.Append(nil, unsafe.Pointer(plain), &corev1.PodTemplateSpecTable))
	if got, want := Hash(plain, nil), rand.SafeEncodeString(strconv.Itoa(int(h.Sum32()))); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
	if a, b := Hash(plain, nil), Hash(template(func(t *corev1.PodTemplateSpec) {
		t.Labels[0], t.Labels[1] = t.Labels[1], t.Labels[0]
	}), nil); a != b {
		t.Errorf("labels in another order: %s and %s", a, b)
	}
	hashes := map[string]bool{Hash(plain, nil): true, Hash(plain, &one): true, Hash(plain, &two): true,
		Hash(template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "web:2" }), nil): true}
	if len(hashes) != 4 {
		t.Errorf("four templates and counts have %d hashes: %v", len(hashes), hashes)
	}
}

// Numbers are written as upstream writes them.
func FuzzSafe_as_apimachinery(f *testing.F) {
	f.Add(uint32(0))
	f.Add(uint32(1234567890))
	f.Add(^uint32(0))
	f.Fuzz(func(t *testing.T, n uint32) {
		if got, want := safeEncode(n), rand.SafeEncodeString(strconv.FormatUint(uint64(n), 10)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	})
}
