// Package podtemplate tells pod templates apart, and fills in what they leave out with the API's defaults.
package podtemplate

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// HashLabel is the label that tells the pods of one template from those of another.
const HashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// Equal reports whether two templates mean the same, HashLabel aside.
func Equal(a, b *corev1.PodTemplateSpec) bool {
	// Labels are exchanged for the moment: a copy of a template is long, in time and in a module's code.
	x, y := a.Labels, b.Labels
	a.Labels.Delete(HashLabel)
	b.Labels.Delete(HashLabel)
	same := wire.Equal(unsafe.Pointer(a), unsafe.Pointer(b), &corev1.PodTemplateSpecTable)
	a.Labels, b.Labels = x, y
	return same
}

// Relabel makes dst the template src with other labels; the rest they share.
func Relabel(dst, src *corev1.PodTemplateSpec, labels wire.StringMap) {
	wire.Copy(unsafe.Pointer(dst), unsafe.Pointer(src), &corev1.PodTemplateSpecTable)
	dst.Labels = labels
}

// Hash is a name for what the template means, in letters and digits that spell nothing. Count makes others of it, where
// two templates have the same. It differs from that of another Kubernetes version, upstream's too: nothing may rely on
// it.
func Hash(t *corev1.PodTemplateSpec, count *int32) string {
	b := wire.Append(nil, unsafe.Pointer(t), &corev1.PodTemplateSpecTable)
	if count != nil {
		n := uint32(*count)
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	h := uint32(2166136261) // FNV-1a
	for _, x := range b {
		h = (h ^ uint32(x)) * 16777619
	}
	return safeEncode(h)
}

// safeEncode writes a number with digits of rand.SafeEncodeString (k8s.io/apimachinery/pkg/util/rand).
func safeEncode(n uint32) string {
	const digits = "456789bcdf" // its '0' to '9'
	var b [10]byte
	i := len(b)
	for ok := true; ok; ok = n > 0 {
		i--
		b[i] = digits[n%10]
		n /= 10
	}
	return string(b[i:])
}
