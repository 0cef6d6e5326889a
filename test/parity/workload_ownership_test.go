package parity

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// foreground deletes what stays, for nobody collects its dependents here.
func foreground() metav1.DeleteOptions {
	policy := metav1.DeletePropagationForeground
	return metav1.DeleteOptions{PropagationPolicy: &policy}
}

// A Deployment takes over an orphaned set of its template with its pods, and lets it go when its labels no longer
// match.
func adoptSet(s *space) {
	orphan := s.makeSet(2)
	s.awaitSet("web", "two ready pods", allReady(2))
	s.createDeployment(2)
	d := s.complete(2)

	rs, err := s.sets.Get(s.ctx, orphan.Name, metav1.GetOptions{})
	if s.must(err); !metav1.IsControlledBy(rs, d) {
		s.Errorf("the orphan was not adopted: %v", rs.OwnerReferences)
	}
	if n := len(podsEverMade(s)); n != 2 {
		s.Errorf("%d pods were made, want the orphan's 2", n)
	}
	if l := s.listSets(); len(l) != 1 {
		s.Errorf("there are %d sets, want the orphan alone", len(l))
	}

	s.patchSet("web", `{"metadata":{"labels":{"app":"other"}}}`)
	s.eventually("the set is released", func() (bool, string) {
		rs, err := s.sets.Get(s.ctx, "web", metav1.GetOptions{})
		s.must(err)
		return len(rs.OwnerReferences) == 0, fmt.Sprint(rs.OwnerReferences)
	})
	s.eventually("it has a successor", func() (bool, string) { // until then the status is the old one, which is complete
		l := s.listSets()
		return len(l) > 1, fmt.Sprint(len(l), " sets")
	})
	s.complete(2)
	if l := s.listSets(); len(l) != 2 {
		s.Errorf("there are %d sets, want the released one and its successor", len(l))
	}
	s.awaitSet("web", "the released set keeps its pods",
		func(rs *appsv1.ReplicaSet) bool { return rs.Status.Replicas == 2 })
}

// A Deployment that is being deleted takes nothing over and begins nothing; its status still follows its sets.
func deletingDeployment(s *space) {
	s.createDeployment(3)
	s.complete(3)
	s.must(s.deployments.Delete(s.ctx, "web", foreground()))
	s.makeSet(1)
	s.awaitSet("web", "a ready pod", allReady(1))
	s.changeDeployment(setImage("web:2"))
	mine := s.setWithImage("web:1")
	for _, rs := range s.listSets() {
		if rs.Name != "web" {
			mine = &rs
		}
	}
	s.patchSet(mine.Name, `{"spec":{"replicas":1}}`)
	s.awaitDeployment("the size that its set was given", func(d *appsv1.Deployment) bool {
		return d.Status.Replicas == 1 &&
			d.DeletionTimestamp != nil
	})
	if rs, err := s.sets.Get(s.ctx, "web", metav1.GetOptions{}); err != nil || len(rs.OwnerReferences) != 0 {
		s.Errorf("a Deployment that is being deleted has adopted %v, error %v", rs.OwnerReferences, err)
	}
	if l := s.listSets(); len(l) != 2 {
		s.Errorf("there are %d sets, want 2", len(l))
	}
}

// A set takes over a matching orphan instead of making a pod, and replaces one that no longer matches.
func adoptPods(s *space) {
	s.makePod("stray")
	rs := s.makeSet(3)
	s.awaitSet("web", "three ready pods", allReady(3))
	want := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: rs.UID,
		Controller: new(bool), BlockOwnerDeletion: new(bool)}
	*want.Controller, *want.BlockOwnerDeletion = true, true
	if got := s.getPod("stray").OwnerReferences; len(got) != 1 || got[0].String() != want.String() {
		s.Errorf("owners of the stray pod: %v, want %v", got, want)
	}

	if n := len(s.listPods()); n != 3 {
		s.Errorf("there are %d pods, want 3", n)
	}
	s.patchPod("stray", `{"metadata":{"labels":{"app":"debug"}}}`)
	s.eventually("the pod is released", func() (bool, string) {
		l := s.getPod("stray").OwnerReferences
		return len(l) == 0, fmt.Sprint(l)
	})

	s.eventually("a pod in its place", func() (bool, string) {
		n := len(s.listPods())
		return n == 4, fmt.Sprint(n)
	})

	s.awaitSet("web", "three ready pods", allReady(3))
	// It comes back: now there is one too many.
	s.patchPod("stray", `{"metadata":{"labels":{"app":"web"}}}`)
	s.eventually("three pods", func() (bool, string) {
		n := len(s.listPods())
		return n == 3, fmt.Sprint(n)
	})
	s.awaitSet("web", "three ready pods", allReady(3))
}

// A set that is being deleted takes over nothing, releases nothing and makes nothing; its status still follows its
// pods.
func deletingSet(s *space) {
	s.makeSet(3)
	s.awaitSet("web", "three ready pods", allReady(3))
	s.must(s.sets.Delete(s.ctx, "web", foreground()))
	s.makePod("stray")
	s.eventually("the stray pod is ready", func() (bool, string) {
		p := s.getPod("stray")
		return available(p), fmt.Sprint(p.Status.Phase)
	})
	for _, p := range s.listPods() {
		if p.Name != "stray" {
			s.must(s.pods.Delete(s.ctx, p.Name, metav1.DeleteOptions{}))
			break
		}
	}

	s.awaitSet("web", "two ready pods", allReady(2))
	if l := s.getPod("stray").OwnerReferences; len(l) != 0 {
		s.Errorf("a set that is being deleted has adopted the pod: %v", l)
	}

	running := 0
	for _, p := range s.listPods() {
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	if running != 3 {
		s.Errorf("%d pods run, want 3", running)
	}
}
