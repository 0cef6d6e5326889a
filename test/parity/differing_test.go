package parity

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/test/life"
)

// A field that differs, one that only one manager has written, an event that was told more often and an object
// that only one manager has left are each a line; of an object that isn't there at all no field is.
func TestDiffering(t *testing.T) {
	native := life.Lines{
		"Pod a": "is there", "Pod a status.phase": "Running", "Pod a metadata.labels.x": "y", "Pod a spec.same": "1",
		"Pod b": "is there", "Pod b status.phase": "Running",
		"event of v1 Pod a: x": "1 times", "event of v1 Pod b: y": "1 times",
	}
	ours := life.Lines{
		"Pod a": "is there", "Pod a status.phase": "Failed", "Pod a metadata.finalizers[0]": "z", "Pod a spec.same": "1",
		"Pod c": "is there", "Pod c status.phase": "Running", "event of v1 Pod a: x": "2 times",
	}
	want := []string{
		"Pod a metadata.finalizers[0]: only Windlass: z",
		"Pod a metadata.labels.x: only native: y",
		"Pod a status.phase: native Running, Windlass Failed",
		"Pod b: only native: is there",
		"Pod c: only Windlass: is there",
		"event of v1 Pod a: x: native 1 times, Windlass 2 times",
		"event of v1 Pod b: y: only native: 1 times",
	}
	if got := differing(native, ours); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := differing(native, native); len(got) > 0 {
		t.Errorf("what is the same differs: %q", got)
	}
}
