package schema

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/windlass-dev/windlass/host/schema/testpod"
)

// What is done to each object that comes allocates nothing once there is a buffer.
func TestAllocations(t *testing.T) {
	message := mustFor(t, "", "v1", "pods").Message
	mask, err := message.Mask(endpointPaths...)
	if err != nil {
		t.Fatal(err)
	}

	leaves, err := message.Leaves(endpointPaths)
	if err != nil {
		t.Fatal(err)
	}

	node, err := message.Path("spec.nodeName")
	if err != nil {
		t.Fatal(err)
	}

	pod := testpod.New(1)
	before := marshal(t, pod)
	pod.Status.Phase = corev1.PodFailed
	after := marshal(t, pod)
	dst, values := make([]byte, 0, len(before)), make([][]byte, 0, 1)

	var bits Bits
	for what, do := range map[string]func() error{
		"projecting":      func() error { _, err := mask.Project(dst[:0], before); return err },
		"telling changes": func() error { return leaves.Changed(before, after, &bits) },
		"reading a value": func() error { _, err := node.Values(values[:0], before); return err },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}
