package podtemplate

import (
	"testing"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// What is no name of an image has no tag, so that it isn't "latest" for want of another one.
func TestPullPolicy(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"web": corev1.PullAlways, "web:latest": corev1.PullAlways, "web:v1": corev1.PullIfNotPresent,
		"": corev1.PullIfNotPresent, "Web": corev1.PullIfNotPresent, "${IMAGE}": corev1.PullIfNotPresent,
		"Web:latest": corev1.PullIfNotPresent, "REGISTRY/web": corev1.PullAlways, "host:5000/web": corev1.PullAlways,
		"host:port/web": corev1.PullIfNotPresent, "a//b": corev1.PullIfNotPresent, "a/b/": corev1.PullIfNotPresent,
		"a__b": corev1.PullAlways, "a___b": corev1.PullIfNotPresent, "a--b": corev1.PullAlways,
		"a..b": corev1.PullIfNotPresent, "-a": corev1.PullIfNotPresent, "[::1]:5000/web": corev1.PullAlways,
		"${REGISTRY}/web": corev1.PullIfNotPresent, "a b": corev1.PullIfNotPresent,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("%q: %s, want %s", image, got, want)
		}
	}
}
