package schema

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/host/schema/testpod"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestChangedNamesThePathsThatDiffer(t *testing.T) {
	paths := []string{
		"metadata", "metadata.labels", "metadata.labels[team]", "metadata.deletionTimestamp", "spec", "spec.nodeName",
		"spec.containers.image", "spec.containers.name",
		"status.conditions.status", "status.conditions.type", "status.phase", "controller.uid",
	}

	leaves, err := mustFor(t, "", "v1", "pods").Message.Leaves(paths)
	if err != nil {
		t.Fatal(err)
	}

	now := metav1.Now()
	for _, c := range []struct {
		name   string
		change func(p *corev1.Pod)
		want   []string
	}{
		{"nothing", func(p *corev1.Pod) {}, nil},
		{"resource version and managed fields", func(p *corev1.Pod) { p.ResourceVersion, p.ManagedFields = "9", nil }, nil},
		{"one label", func(p *corev1.Pod) {
			p.Labels["team"] = "x"
		}, []string{"metadata", "metadata.labels", "metadata.labels[team]"}},
		{"another label", func(p *corev1.Pod) { p.Labels["a"] = "x" }, []string{"metadata", "metadata.labels"}},
		{"label gone", func(p *corev1.Pod) {
			delete(p.Labels, "team")
		}, []string{"metadata", "metadata.labels", "metadata.labels[team]"}},
		{"labels gone", func(p *corev1.Pod) {
			p.Labels = nil
		}, []string{"metadata", "metadata.labels", "metadata.labels[team]"}},
		{"annotation", func(p *corev1.Pod) { p.Annotations["a"] = "b" }, []string{"metadata"}},
		{"deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &now }, []string{"metadata", "metadata.deletionTimestamp"}},
		{"bound", func(p *corev1.Pod) { p.Spec.NodeName = "other" }, []string{"spec", "spec.nodeName"}},
		{"image", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "other" }, []string{"spec", "spec.containers.image"}},
		{"another container", func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
		}, []string{"spec", "spec.containers.image", "spec.containers.name"}},
		{"not ready", func(p *corev1.Pod) { p.Status.Conditions[2].Status = "False" }, []string{"status.conditions.status"}},
		{"transition", func(p *corev1.Pod) { p.Status.Conditions[2].LastTransitionTime = now }, nil},
		{"pod IP", func(p *corev1.Pod) { p.Status.PodIP = "1.2.3.4" }, nil},
		{"owner", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "x" }, []string{"metadata", "controller.uid"}},
	} {
		old, changed := testpod.New(1), testpod.New(1)
		c.change(changed)
		for _, turn := range []string{"", " and back"} {
			var bits Bits
			if err := leaves.Changed(marshal(t, old), marshal(t, changed), &bits); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, p := range paths {
				if bits.Has(i) {
					got = append(got, p)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s%s: %v, want %v", c.name, turn, got, c.want)
			}
			old, changed = changed, old
		}
	}
}

func TestAnObjectThatAppearsChangesAllItHas(t *testing.T) {
	leaves, err := mustFor(t, "", "v1",
		"pods").Message.Leaves([]string{"spec.nodeName", "metadata.labels[team]", "metadata.deletionTimestamp"})
	if err != nil {
		t.Fatal(err)
	}
	var bits Bits
	if err := leaves.Changed(nil, marshal(t, testpod.New(1)), &bits); err != nil {
		t.Fatal(err)
	}
	if !bits.Has(0) || !bits.Has(1) {
		t.Errorf("%b", bits)
	}
}
