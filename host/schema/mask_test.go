package schema

import (
	"testing"

	"github.com/windlass-dev/windlass/host/schema/testpod"
	corev1 "k8s.io/api/core/v1"
)

func TestMask(t *testing.T) {
	pod := mustFor(t, "", "v1", "pods").Message
	mask := func(paths ...string) *Mask {
		m, err := pod.Mask(paths...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}

	without, err := pod.Whole().Without("metadata.resourceVersion")
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name  string
		mask  *Mask
		path  string
		keeps bool
	}{
		{"itself", mask("spec.nodeName"), "spec.nodeName", true},
		{"all below", mask("spec"), "spec.containers.resources.limits[cpu]", true},
		{"beside", mask("spec.nodeName"), "spec.hostname", false},
		{"above", mask("spec.nodeName"), "spec", false},
		{"part of a list", mask("spec.containers.name"), "spec.containers", false},
		{"a key", mask("metadata.labels[a]"), "metadata.labels[a]", true},
		{"another key", mask("metadata.labels[a]"), "metadata.labels[b]", false},
		{"all keys", mask("metadata.labels[a]"), "metadata.labels", false},
		{"a key of all", mask("metadata.labels"), "metadata.labels[a]", true},
		{"two keys", mask("metadata.labels[b]", "metadata.labels[a]"), "metadata.labels[a]", true},
		{"derived", mask("controller.uid"), "owners.name", true},
		{"metadata", mask("metadata"), "metadata", true},
		{"metadata of the whole", pod.Whole(), "metadata", true},
		{"managedFields of metadata", mask("metadata"), "metadata.managedFields", false},
		{"managedFields of the whole", pod.Whole(), "metadata.managedFields", false},
		{"managedFields named", mask("metadata", "metadata.managedFields"), "metadata.managedFields", true},
		{"left out", without, "metadata.resourceVersion", false},
		{"beside what is left out", without, "metadata.labels", true},
		{"no such path", pod.Whole(), "spec.nope", false},
	} {
		if got := c.mask.Keeps(c.path); got != c.keeps {
			t.Errorf("%s: keeps %s: %v", c.name, c.path, got)
		}
	}

	if !pod.Whole().Covers(mask("metadata", "spec", "status")) {
		t.Error("the whole object doesn't cover its parts")
	}
	if mask("metadata", "spec", "status").Covers(pod.Whole()) {
		t.Error("the parts cover fields that aren't known yet")
	}
}

func TestProjectionKeepsNamedKeysAlone(t *testing.T) {
	pod := mustFor(t, "", "v1", "pods").Message
	m, err := pod.Mask("metadata.labels[team]", "metadata.annotations[prometheus.io/port]", "metadata.name")
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Project(nil, marshal(t, testpod.New(3)))
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.Pod
	if err := got.Unmarshal(b); err != nil {
		t.Fatal(err)
	}
	if len(got.Labels) != 1 || got.Labels["team"] != "storefront" || len(got.Annotations) != 1 || got.Name == "" ||
		got.Spec.NodeName != "" {
		t.Errorf("%+v", got.ObjectMeta)
	}
}

func TestWholeKeepsFieldsThatNobodyKnowsYet(t *testing.T) {
	pod := mustFor(t, "", "v1", "pods").Message
	raw := append(marshal(t, testpod.New(1)), 0xfa, 0x3f, 1, 'x') // field 1023
	b, err := pod.Whole().Project(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	if string(b[len(b)-4:]) != "\xfa\x3f\x01x" {
		t.Errorf("the object ends with %q", b[len(b)-4:])
	}
	var got corev1.Pod
	if err := got.Unmarshal(b); err != nil || got.ManagedFields != nil || got.Labels == nil {
		t.Errorf("%v %+v", err, got.ObjectMeta)
	}
}

var endpointPaths = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.deletionTimestamp",
	"metadata.ownerReferences",
	"spec.nodeName", "spec.hostname", "spec.subdomain", "spec.containers.name", "spec.containers.ports",
	"status.phase", "status.podIP", "status.podIPs", "status.conditions.type", "status.conditions.status",
}

func BenchmarkProject(b *testing.B) {
	m, err := mustFor(b, "", "v1", "pods").Message.Mask(endpointPaths...)
	if err != nil {
		b.Fatal(err)
	}
	raw := marshal(b, testpod.New(1))
	dst := make([]byte, 0, len(raw))
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = m.Project(dst[:0], raw); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(raw)), "bytes-in")
	b.ReportMetric(float64(len(dst)), "bytes-out")
}

func BenchmarkUnmarshalForComparison(b *testing.B) {
	raw := marshal(b, testpod.New(1))
	b.ReportAllocs()
	for b.Loop() {
		var pod corev1.Pod
		if err := pod.Unmarshal(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChanged(b *testing.B) {
	pod := mustFor(b, "", "v1", "pods").Message
	m, err := pod.Mask(endpointPaths...)
	if err != nil {
		b.Fatal(err)
	}

	l, err := pod.Leaves(endpointPaths)
	if err != nil {
		b.Fatal(err)
	}

	p := testpod.New(1)
	old, err := m.Project(nil, marshal(b, p))
	if err != nil {
		b.Fatal(err)
	}

	p.Status.Conditions[2].Status = corev1.ConditionFalse
	now, err := m.Project(nil, marshal(b, p))
	if err != nil {
		b.Fatal(err)
	}

	var bits Bits
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Changed(old, now, &bits); err != nil {
			b.Fatal(err)
		}
	}

	if bits.Count() != 1 {
		b.Fatalf("%d paths changed", bits.Count())
	}
}

func BenchmarkValues(b *testing.B) {
	p, err := mustFor(b, "", "v1", "pods").Message.Path("spec.nodeName")
	if err != nil {
		b.Fatal(err)
	}
	m, err := mustFor(b, "", "v1", "pods").Message.Mask(endpointPaths...)
	if err != nil {
		b.Fatal(err)
	}
	raw, err := m.Project(nil, marshal(b, testpod.New(1)))
	if err != nil {
		b.Fatal(err)
	}
	var dst [][]byte
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = p.Values(dst[:0], raw); err != nil || len(dst) != 1 {
			b.Fatal(err)
		}
	}
}
