package schema

import (
	"slices"
	"testing"
)

// A manifest's paths are a stranger's: whatever the text, an error, or a path and a mask that work on any bytes.
func FuzzPathsAreErrorsOrWork(f *testing.F) {
	for _, p := range append(slices.Clone(fuzzed), "metadata.labels[a.b/c]", "spec..nodeName", "metadata.labels[",
		"metadata.labels]x[", "", ".", "spec.containers[0]", "status.\x00") {
		f.Add(p, []byte{0x0a, 0x02, 0x0a, 0x00})
	}
	m := mustFor(f, "", "v1", "pods").Message
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		if p, err := m.Path(text); err == nil {
			p.Values(nil, raw)
			p.Raw(nil, raw)
		}
		k, err := m.Mask(text)
		if err != nil {
			return
		}
		once, err := k.Project(nil, raw)
		if err != nil {
			return
		}
		if _, err := m.Whole().Project(nil, once); err != nil {
			t.Fatalf("%q of %x is %x, which can't be read: %v", text, raw, once, err)
		}
		if _, err := m.Leaves([]string{text}); err != nil {
			t.Fatalf("%q is a mask and no leaf: %v", text, err)
		}
	})
}
