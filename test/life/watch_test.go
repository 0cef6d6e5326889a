package life

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// A node counts as long as a ready pod is on it that doesn't go, and twice when another one is made for it, before it
// is bound.
func TestBounds(t *testing.T) {
	pod := func(name, node string, ready bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node}}
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		if ready {
			p.Status.Conditions[0].Status = corev1.ConditionTrue
		}
		return p
	}
	meant := pod("new-1", "", false)
	meant.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Values: []string{"n1"}}}}}},
	}}
	going := pod("old-2", "n2", true)
	going.DeletionTimestamp = &metav1.Time{}

	for _, x := range []struct {
		name   string
		bounds Bounds
		event  apiwatch.EventType
		pod    *corev1.Pod
		wrong  bool
	}{
		{"a surge within its bounds", Bounds{Ready: 2, Twice: 1}, apiwatch.Added, meant, false},
		{"a surge that is too large", Bounds{Ready: 2, Twice: 0}, apiwatch.Added, meant, true},
		{"one may be missing", Bounds{Ready: 1}, apiwatch.Modified, pod("old-1", "n1", false), false},
		{"none may be unready", Bounds{Ready: 2}, apiwatch.Modified, pod("old-1", "n1", false), true},
		{"none may be gone", Bounds{Ready: 2}, apiwatch.Deleted, pod("old-1", "n1", true), true},
		{"none may go", Bounds{Ready: 2}, apiwatch.Modified, going, true},
	} {
		n := &nodes{bounds: x.bounds, pods: map[string]*corev1.Pod{
			"old-1": pod("old-1", "n1", true), "old-2": pod("old-2", "n2", true),
		}}
		n.notePod(x.event, x.pod)
		if wrong := len(n.wrong) > 0; wrong != x.wrong || n.changes != 1 {
			t.Errorf("%s: %q", x.name, n.wrong)
		}
	}
}
