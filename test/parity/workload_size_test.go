package parity

import (
	"fmt"
	"net/http"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
)

// A Deployment is scaled to nothing and back; what others do to its sets or pods is put right.
func scaleAndMend(s *space) {
	s.createDeployment(3)
	s.complete(3)
	s.changeDeployment(replicas(0))
	s.awaitDeployment("no replicas", func(d *appsv1.Deployment) bool {
		return d.Status.Replicas == 0 && d.Status.TerminatingReplicas != nil && *d.Status.TerminatingReplicas == 0
	})
	s.eventually("no pods", func() (bool, string) {
		n := len(s.listPods())
		return n == 0, fmt.Sprint(n)
	})
	s.changeDeployment(replicas(3))
	s.complete(3)

	name := s.setWithImage("web:1").Name
	s.patchSet(name, `{"spec":{"replicas":5}}`)
	s.awaitSet(name, "the Deployment's size", func(rs *appsv1.ReplicaSet) bool {
		return *rs.Spec.Replicas == 3 &&
			allReady(3)(rs)
	})
	s.eventually("no pod too many, on its way out either", func() (bool, string) {
		l := s.listPods()
		return len(l) == 3 && !slices.ContainsFunc(l, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }),
			fmt.Sprint(len(l))
	})
	victim := s.listPods()[0].Name
	s.must(s.pods.Delete(s.ctx, victim, metav1.DeleteOptions{}))
	s.eventually("another pod", func() (bool, string) {
		l := s.listPods()
		return len(l) == 3 && !slices.ContainsFunc(l, func(p corev1.Pod) bool { return p.Name == victim }), fmt.Sprint(len(l))
	})
	s.complete(3)
}

// The pods that are cheapest to delete go first.
func deletionCost(s *space) {
	s.makeSet(4)
	s.awaitSet("web", "four ready pods", allReady(4))
	pods := s.listPods()
	for i, cost := range []string{`"10"`, `"-5"`, "null", `"7"`} {
		// The label goes in the same write, so that the set's status tells when its controller has seen it.
		s.patchPod(pods[i].Name,
			fmt.Sprintf(`{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":%s},"labels":{"tier":null}}}`,
				cost))
	}

	s.awaitSet("web", "no pod with all labels",
		func(rs *appsv1.ReplicaSet) bool { return rs.Status.FullyLabeledReplicas == 0 })
	s.patchSet("web", `{"spec":{"replicas":2}}`)
	s.awaitSet("web", "two pods", func(rs *appsv1.ReplicaSet) bool { return rs.Status.Replicas == 2 })
	s.eventually("two pods", func() (bool, string) {
		n := len(s.listPods())
		return n == 2, fmt.Sprint(n)
	})

	var left []string
	for _, p := range s.listPods() {
		left = append(left, p.Name)
	}
	want := []string{pods[0].Name, pods[3].Name}
	slices.Sort(want)
	if slices.Sort(left); !slices.Equal(left, want) {
		s.Errorf("left are %v, want %v", left, want)
	}
}

// Pods on their way out are counted until they are gone, and replaced meanwhile.
func terminatingReplicas(s *space) {
	s.createDeployment(4, setFinalizer)
	s.complete(4)
	terminating := func(what string, replicas, n int32) {
		s.Helper()
		s.awaitDeployment(what, func(d *appsv1.Deployment) bool {
			x := d.Status
			return x.AvailableReplicas == replicas && x.Replicas == replicas && x.TerminatingReplicas != nil &&
				*x.TerminatingReplicas == n
		})
		s.awaitSet(s.setWithImage("web:1").Name, what, func(rs *appsv1.ReplicaSet) bool {
			x := rs.Status
			return x.AvailableReplicas == replicas && x.TerminatingReplicas != nil && *x.TerminatingReplicas == n
		})
	}
	s.changeDeployment(replicas(2))
	terminating("two terminating after a scale-down", 2, 2)
	for _, p := range s.listPods() {
		if p.DeletionTimestamp == nil {
			s.must(s.pods.Delete(s.ctx, p.Name, metav1.DeleteOptions{}))
			break
		}
	}
	terminating("three terminating after a delete", 2, 3)
	s.releasePods()
	terminating("none terminating", 2, 0)
}

// limitPods makes a quota of pods. No quota controller runs here, so that admission counts up from what the status
// says.
func (s *space) limitPods(pods, used string) (lift func()) {
	s.Helper()
	hard := corev1.ResourceList{"pods": resource.MustParse(pods)}
	quotas := s.client.CoreV1().ResourceQuotas(s.name)
	q, err := quotas.Create(s.ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec: corev1.ResourceQuotaSpec{Hard: hard}}, metav1.CreateOptions{})
	s.must(err)
	q.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{"pods": resource.MustParse(used)}}
	_, err = quotas.UpdateStatus(s.ctx, q, metav1.UpdateOptions{})
	s.must(err)
	return func() { s.must(quotas.Delete(s.ctx, "pods", metav1.DeleteOptions{})) }
}

// refused counts pods that were not let in.
func (s *space) refused() int {
	return len(s.cluster.Audit(s, cluster.Filter{Verbs: []string{"create"}, Resources: []string{"pods"}, Namespace: s.name,
		Codes: []int{http.StatusForbidden}}))
}

// A set that may not make its pods says so, tries ever more rarely and with one pod first, not with all 18 that it
// lacks, and gets over it.
func quotaOfPods(s *space) {
	lift := s.limitPods("2", "0")
	s.makeSet(20)
	rs := s.awaitSet("web", "condition ReplicaFailure",
		func(rs *appsv1.ReplicaSet) bool { return len(rs.Status.Conditions) > 0 && rs.Status.ReadyReplicas == 2 })
	c := rs.Status.Conditions[0]
	if c.Type != appsv1.ReplicaSetReplicaFailure || c.Status != corev1.ConditionTrue || c.Reason != "FailedCreate" ||
		c.LastTransitionTime.IsZero() {
		s.Errorf("condition %+v", c)
	}
	s.happened("ReplicaSet", "web", "FailedCreate",
		"exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2")
	s.eventually("more attempts", func() (bool, string) {
		n := s.refused()
		return n > 3, fmt.Sprint(n)
	})
	if n := s.refused(); n > 15 {
		s.Errorf("%d pods were tried in vain already", n)
	}
	lift()
	s.awaitSet("web", "twenty ready pods and no condition", allReady(20))
	if n := len(podsEverMade(s)); n > 20 {
		s.Errorf("%d pods were made, want 20", n)
	}
}

// A Deployment whose set may not make its pods says so too, and gets over it.
func quotaOfRollout(s *space) {
	s.createDeployment(3)
	s.complete(3)
	lift := s.limitPods("3", "3")
	s.changeDeployment(setImage("web:2"))
	d := s.reaches(appsv1.DeploymentReplicaFailure, "True FailedCreate: pods \"web-")
	s.reaches(appsv1.DeploymentAvailable, "True MinimumReplicasAvailable")
	if d.Status.UpdatedReplicas != 0 {
		s.Errorf("%d updated replicas, want none", d.Status.UpdatedReplicas)
	}
	lift()
	s.complete(3)
	s.reaches(appsv1.DeploymentReplicaFailure, "")
	s.reaches(appsv1.DeploymentProgressing, "True NewReplicaSetAvailable")
}
