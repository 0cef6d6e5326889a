package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/test/workload"
)

// history is written line by line; each line is one revision.
type history struct {
	entries []entry
	pods    map[string]*corev1.Pod
}

func (h *history) add(o metav1.Object, gone bool) {
	revision := uint64(len(h.entries) + 1)
	o.SetResourceVersion(fmt.Sprint(revision))
	h.entries = append(h.entries, entry{revision: revision, object: o, gone: gone})
}

func ownedMeta(by metav1.Object, kind, name string) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{Name: name, UID: types.UID(name),
		OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: by.GetName(), UID: by.GetUID(), Controller: &yes}}}
}

func (h *history) deployment(replicas, surge int32, strategy appsv1.DeploymentStrategyType) *appsv1.Deployment {
	most := intstr.FromInt32(surge)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Strategy: appsv1.DeploymentStrategy{Type: strategy}}}
	if strategy == "" {
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &most}
	}
	h.add(d, false)
	return d
}

func (h *history) addReplicaSet(d *appsv1.Deployment, name string, replicas int32) *appsv1.ReplicaSet {
	s := &appsv1.ReplicaSet{ObjectMeta: ownedMeta(d, "Deployment", name), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
	h.add(s, false)
	return s
}

func (h *history) addPods(by metav1.Object, kind string, change func(*corev1.Pod), names ...string) {
	for _, name := range names {
		p := &corev1.Pod{ObjectMeta: ownedMeta(by, kind, name)}
		if change != nil {
			change(p)
		}
		h.add(p, false)
		h.pods[name] = p
	}
}

func (h *history) changePod(name string, f func(*corev1.Pod)) {
	p := h.pods[name].DeepCopy()
	f(p)
	h.add(p, false)
	h.pods[name] = p
}

func setReady(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func setDeleting(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
func succeeded(p *corev1.Pod)   { p.Status.Phase = corev1.PodSucceeded }
func setNode(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = node }
}
func setIndex(i string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: i} }
}

// What should not be is found, and what may be isn't.
func TestJudge(t *testing.T) {
	job := func(h *history, completions, parallelism int32, change ...func(*batchv1.JobSpec)) *batchv1.Job {
		j := workload.Job("j", completions, parallelism, change...)
		j.UID = "j"
		h.add(j, false)
		return j
	}

	daemons := func(h *history, surge int32) *appsv1.DaemonSet {
		most := intstr.FromInt32(surge)
		s := workload.DaemonSet("s", func(s *appsv1.DaemonSetSpec) {
			s.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: &most}
		})
		s.UID = "s"
		h.add(s, false)
		return s
	}

	ordered := func(h *history, replicas int32) *appsv1.StatefulSet {
		s := workload.StatefulSet("s", replicas)
		s.UID = "s"
		h.add(s, false)
		return s
	}

	for _, c := range []struct {
		name  string
		write func(h *history)
		want  []string
	}{
		{"a roll-out", func(h *history) {
			d := h.deployment(2, 1, "")
			a := h.addReplicaSet(d, "a", 2)
			h.addPods(a, "ReplicaSet", setReady, "a1", "a2")
			b := h.addReplicaSet(d, "b", 1)
			h.addPods(b, "ReplicaSet", setReady, "b1")
			h.addReplicaSet(d, "a", 1)
			h.addReplicaSet(d, "b", 2)
			h.addPods(b, "ReplicaSet", setReady, "b2") // its place is that of one which set a has yet to delete
			h.changePod("a1", setDeleting)
			h.addReplicaSet(d, "a", 0)
			h.changePod("a2", setDeleting)
		}, nil},
		{"a pod made twice", func(h *history) {
			h.addPods(h.addReplicaSet(h.deployment(2, 1, ""), "a", 2), "ReplicaSet", nil, "a1", "a2", "a3")
		}, []string{"ReplicaSet /a: a3 is pod 3, 2 are wanted"}},
		{"pods that were wanted once", func(h *history) {
			d := h.deployment(3, 0, "")
			a := h.addReplicaSet(d, "a", 3)
			h.addPods(a, "ReplicaSet", setReady, "a1")
			h.addReplicaSet(d, "a", 1)
			h.addPods(a, "ReplicaSet", setReady, "a2") // made before the set's last change was seen
			h.changePod("a2", setDeleting)
			h.entries = append(h.entries, entry{revision: uint64(len(h.entries))})
			h.addPods(a, "ReplicaSet", nil, "a3")
		}, []string{"ReplicaSet /a: a3 is pod 2, 1 are wanted"}},
		{"sets that want too much", func(h *history) {
			d := h.deployment(2, 1, "")
			h.addReplicaSet(d, "a", 2)
			h.addReplicaSet(d, "b", 2)
		}, []string{"Deployment /d: its sets want 4 pods when /b grows to 2, it wants 3 with its surge"}},
		{"too many of two sets", func(h *history) {
			d := h.deployment(2, 1, "")
			a, b := h.addReplicaSet(d, "a", 2), h.addReplicaSet(d, "b", 1)
			h.addPods(a, "ReplicaSet", nil, "a1", "a2")
			h.addPods(b, "ReplicaSet", nil, "b1", "b2")
		}, []string{"ReplicaSet /b: b2 is pod 2, 1 are wanted", "Deployment /d: b2 is pod 4, 3 are wanted with the surge"}},
		{"recreated too early", func(h *history) {
			d := h.deployment(1, 0, appsv1.RecreateDeploymentStrategyType)
			h.addPods(h.addReplicaSet(d, "a", 1), "ReplicaSet", nil, "a1")
			h.changePod("a1", setDeleting)
			h.addReplicaSet(d, "a", 0)
			h.addPods(h.addReplicaSet(d, "b", 1), "ReplicaSet", nil, "b1")
		}, []string{"Deployment /d: b1 of /b came while a1 of /a was there"}},
		{"ordinals", func(h *history) {
			s := ordered(h, 2)
			h.addPods(s, "StatefulSet", setReady, "s-0")
			h.addPods(s, "StatefulSet", nil, "s-1")
			h.changePod("s-0", setDeleting)
			h.addPods(s, "StatefulSet", nil, "s-2")
		}, []string{"StatefulSet /s: s-0 began to go while s-1 was not ready", "StatefulSet /s: s-2 came, 2 are wanted",
			"StatefulSet /s: s-2 came while s-0 was not ready",
			"StatefulSet /s: s-2 came while s-1 was not ready"}},
		{"two on a node", func(h *history) {
			s := daemons(h, 0)
			h.addPods(s, "DaemonSet", setNode("n"), "s1")
			h.addPods(s, "DaemonSet", setNode("m"), "s2")
			h.addPods(s, "DaemonSet", setNode("n"), "s3")
		}, []string{"DaemonSet /s: s3 came, n has 2 pods"}},
		{"a surge of daemons", func(h *history) {
			s := daemons(h, 1)
			h.addPods(s, "DaemonSet", setNode("n"), "s1", "s2")
			h.addPods(s, "DaemonSet", setNode("m"), "s3", "s4")
		}, []string{"DaemonSet /s: s4 came, 2 nodes have two pods, the surge is 1"}},
		{"an index twice", func(h *history) {
			j := job(h, 3, 2, workload.Indexed)
			h.addPods(j, "Job", setIndex("0"), "j1", "j2")
			h.changePod("j1", succeeded)
			h.changePod("j2", succeeded)
			h.addPods(j, "Job", setIndex("0"), "j3")
		}, []string{"Job /j: j2 of index 0 came while j1 was at work", "Job /j: j3 of index 0 came though that was done"}},
		{"what was there before", func(h *history) {
			j := job(h, 1, 1)
			j.Status.Succeeded = 1
			h.addPods(j, "Job", succeeded, "j1", "j2")
			for i := range h.entries {
				h.entries[i].old, h.entries[i].revision = true, 0
			}
			slices.Reverse(h.entries) // twice: a list isn't shuffled
		}, nil},
		{"more than to complete", func(h *history) {
			j := job(h, 2, 2)
			h.addPods(j, "Job", nil, "j1", "j2")
			h.changePod("j1", succeeded)
			h.addPods(j, "Job", nil, "j3")
			h.changePod("j2", setDeleting)
			j = j.DeepCopy()
			j.Status.Succeeded = 2
			h.add(j, false)
		}, []string{"Job /j: j3 is pod 2 at work, 1 are done of 2", "Job /j: j2 was deleted at work",
			"Job /j: its status counts 2 succeeded, 1 have"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &history{pods: map[string]*corev1.Pod{}}
			c.write(h)
			slices.Reverse(h.entries) // as the watches may deliver them
			_, wrong := judgeEntries(h.entries)
			for i := range wrong {
				_, wrong[i], _ = strings.Cut(wrong[i], ": ")
			}
			if !slices.Equal(wrong, c.want) {
				t.Errorf("found %q, want %q", wrong, c.want)
			}
		})
	}
}
