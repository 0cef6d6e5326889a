package envelope

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/host/schema/testpod"
)

func FuzzEnvelopeReadsAnything(f *testing.F) {
	f.Add(Wrap("v1", "Pod", []byte{1, 2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, kind, raw, err := Unwrap(b)
		if err != nil {
			return
		}
		if v2, kind2, raw2, err := Unwrap(Wrap(v, kind, raw)); err != nil || v2 != v || kind2 != kind ||
			!bytes.Equal(raw, raw2) {
			t.Fatalf("round trip: %v", err)
		}
		_, _ = ReadMeta(raw)
		_, _ = ReadList(raw)
	})
}

// A namespace's finalizers are those of its spec.
func TestNamespaceFinalizers(t *testing.T) {
	n := &corev1.Namespace{}
	n.Finalizers = []string{"of-its-metadata"}
	n.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes, "example.com/mine"}
	if got := NamespaceFinalizers(schematest.Marshal(t, n)); got != 2 {
		t.Errorf("%d finalizers, want 2", got)
	}
	if got := NamespaceFinalizers([]byte{0x12, 9}); got != 0 {
		t.Errorf("%d finalizers in what can't be read", got)
	}
}

// What the host reads of and changes in each written object costs few allocations, whatever its size.
func TestWireAllocations(t *testing.T) {
	raw := schematest.Marshal(t, testpod.New(0))
	wrapped := Wrap("v1", "Pod", raw)

	for what, c := range map[string]struct {
		most float64
		do   func() error
	}{
		"reading the metadata": {8, func() error { _, err := ReadMeta(raw); return err }}, // its 6 strings
		"setting two strings": {3, func() error {
			_, err := SetVersion(raw, "7", "u")
			return err
		}},
		"wrapping":                      {1, func() error { Wrap("v1", "Pod", raw); return nil }},
		"unwrapping":                    {2, func() error { _, _, _, err := Unwrap(wrapped); return err }},
		"telling whether it is deleted": {1, func() error { IsDeleting(raw); return nil }},
	} {
		if got := testing.AllocsPerRun(100, func() {
			if err := c.do(); err != nil {
				t.Fatal(err)
			}
		}); got > c.most {
			t.Errorf("%s: %v allocations, at most %v", what, got, c.most)
		}
	}
}

// A server that has no protobuf answers in JSON.
func TestUnwrapJSON(t *testing.T) {
	_, kind, raw, err := UnwrapAny([]byte(`{"apiVersion":"a/v1","kind":"Thing","metadata":{"name":"n","uid":"u","resourceVersion":"7","finalizers":["f"]},"spec":{"x":1}}`))
	m, metaErr := ReadMeta(raw)
	if err != nil || metaErr != nil || kind != "Thing" || m.Name != "n" || m.UID != "u" || m.ResourceVersion != "7" ||
		m.Finalizers != 1 {
		t.Errorf("object: %s %+v %v %v", kind, m, err, metaErr)
	}
	_, _, raw, err = UnwrapAny([]byte(` {"apiVersion":"a/v1","kind":"ThingList","metadata":{"resourceVersion":"9","continue":"c"},"items":[{"metadata":{"name":"n"}},{}]}`))
	l, listErr := ReadList(raw)
	if err != nil || listErr != nil || l.Version != "9" || l.Next != "c" || len(l.Items) != 2 {
		t.Errorf("list: %+v %v %v", l, err, listErr)
	}
	_, kind, raw, err = UnwrapAny([]byte(`{"apiVersion":"v1","kind":"Status","status":"Success","details":{"name":"n","uid":"u"}}`))
	if err != nil || kind != "Status" || StatusUID(raw) != "u" {
		t.Errorf("status: %s %v", kind, err)
	}
	for _, bad := range []string{"", "{", `{"metadata":1}`, "text", `{"items":1}`} {
		if _, _, raw, err := UnwrapAny([]byte(bad)); err == nil {
			t.Errorf("%q gave %q", bad, raw)
		}
	}
}

// A list of custom resources comes in JSON.
func TestListInJSON(t *testing.T) {
	webApps := schema.Custom(abi.Resource{Group: "example.com", Version: "v1", Name: "webapps"}, "WebApp", true)
	_, kind, raw, err := UnwrapOf(webApps,
		[]byte(`{"apiVersion":"example.com/v1","kind":"Apps","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a","uid":"u"},"spec":{}},{"metadata":{"name":"b"}}]}`))
	if err != nil || kind != "Apps" {
		t.Fatal(kind, err)
	}
	l, err := ReadList(raw)
	if err != nil || l.Version != "7" || l.Next != "c" || len(l.Items) != 2 {
		t.Fatalf("%+v %v", l, err)
	}
	if m, err := ReadMeta(l.Items[0]); err != nil || m.Name != "a" || m.UID != "u" {
		t.Error(m, err)
	}
}
