package parity

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func setBounds(surge, unavailable int) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		s, u := intstr.FromInt(surge), intstr.FromInt(unavailable)
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}}
	}
}

// At no moment of a rolling update are fewer pods available than wanted, or more asked for than the surge allows.
func rollingUpdate(s *space) {
	s.createDeployment(10, setBounds(3, 2))
	s.complete(10)
	for _, i := range []string{"web:2", "web:3"} {
		s.changeDeployment(setImage(i))
		s.complete(10)
	}
	s.expectBounds(8, 13)
	d := s.reaches(appsv1.DeploymentProgressing, "True NewReplicaSetAvailable: ReplicaSet \"web-")
	if r := d.Annotations["deployment.kubernetes.io/revision"]; r != "3" {
		s.Errorf("revision %q, want 3", r)
	}
	s.reaches(appsv1.DeploymentAvailable, "True MinimumReplicasAvailable: Deployment has minimum availability.")
	// All pods of the second image and of the first are gone, each made once.
	if n := len(podsEverMade(s)); n != 30 {
		s.Errorf("%d pods were made, want 30", n)
	}
	s.happened("Deployment", "web", "ScalingReplicaSet", "from 0 to ")
}

// expectBounds checks all that happened since as many pods were available as there must be.
func (s *space) expectBounds(minAvailable int, maxWanted int32) {
	s.Helper()
	s.catchUp()
	begun, lowest := false, 0
	s.podHistory.replayChanges(func(pods map[string]*corev1.Pod, _ change[*corev1.Pod]) {
		n := 0
		for _, p := range pods {
			if available(p) {
				n++
			}
		}
		// The native manager counts pods as available that a set is about to lose: docs/differences.md.
		if begun = begun || n >= minAvailable; begun && n < minAvailable && !s.native {
			s.Errorf("only %d pods were available, want at least %d", n, minAvailable)
		}
		lowest = max(lowest, n)
	})
	if !begun {
		s.Errorf("at most %d pods were ever available", lowest)
	}

	s.setHistory.replayChanges(func(sets map[string]*appsv1.ReplicaSet, c change[*appsv1.ReplicaSet]) {
		n := int32(0)
		for _, rs := range sets {
			n += *rs.Spec.Replicas
		}
		if n > maxWanted {
			s.Errorf("%d pods were asked for after a change of %s, want at most %d", n, c.object.Name, maxWanted)
		}
	})
}

func available(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

// podsEverMade returns the names of all pods that ever were.
func podsEverMade(s *space) map[string]bool {
	names := map[string]bool{}
	for _, c := range s.podHistory.allChanges() {
		names[c.object.Name] = true
	}
	return names
}

// Recreate makes no new pod while an old one is there, be it only because something holds it.
func recreate(s *space) {
	s.createDeployment(3, setFinalizer,
		func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType })
	s.complete(3)
	s.changeDeployment(setImage("web:2"))
	s.awaitDeployment("three terminating pods", func(d *appsv1.Deployment) bool {
		return d.Status.Replicas == 0 && d.Status.TerminatingReplicas != nil && *d.Status.TerminatingReplicas == 3
	})
	if l := s.listSets(); len(l) != 1 {
		s.Errorf("there are %d sets while old pods end, want the old one", len(l))
	}
	s.releasePods()
	s.complete(3)
	s.podHistory.replayChanges(func(pods map[string]*corev1.Pod, c change[*corev1.Pod]) {
		images := map[string]int{}
		for _, p := range pods {
			images[p.Spec.Containers[0].Image]++
		}
		if len(images) > 1 {
			s.Errorf("old and new pods at a time after a change of %s: %v", c.object.Name, images)
		}
	})
	s.reaches(appsv1.DeploymentProgressing, "True NewReplicaSetAvailable")
}

// A roll-out that doesn't get on shares a change of size between old and new pods in proportion.
func proportionalScaling(s *space) {
	s.createDeployment(10, setBounds(3, 2))
	s.complete(10)
	s.changeDeployment(func(d *appsv1.Deployment) { setImage("web:2")(d); nowhere(d) })
	sized := func(old, new int32) {
		s.Helper()
		s.awaitDeployment("old and new pods", func(d *appsv1.Deployment) bool {
			return d.Status.Replicas == old+new && d.Status.UpdatedReplicas == new && d.Status.AvailableReplicas == old &&
				d.Status.UnavailableReplicas == new
		})
	}
	sized(8, 5)
	s.changeDeployment(replicas(15))
	sized(11, 7)
	// 9 with the surge: 5 and 4 by proportion, and then one old pod more than must be available makes way for a new one
	s.changeDeployment(replicas(6))
	sized(4, 5)
	s.reaches(appsv1.DeploymentAvailable, "True MinimumReplicasAvailable")
}

// A roll-out that doesn't get on in time says so, and goes on when it can.
func progressDeadline(s *space) {
	deadline := int32(2)
	s.createDeployment(2, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = &deadline })
	s.complete(2)
	s.changeDeployment(func(d *appsv1.Deployment) { setImage("web:2")(d); nowhere(d) })
	d := s.reaches(appsv1.DeploymentProgressing, "False ProgressDeadlineExceeded: ReplicaSet \"web-")
	want := `False ProgressDeadlineExceeded: ReplicaSet "` + s.setWithImage("web:2").Name + `" has timed out progressing.`
	if got := condition(d, appsv1.DeploymentProgressing); got != want {
		s.Errorf("condition %q, want %q", got, want)
	}
	s.reaches(appsv1.DeploymentAvailable, "True MinimumReplicasAvailable")
	s.changeDeployment(func(d *appsv1.Deployment) { setImage("web:3")(d); somewhere(d) })
	s.complete(2)
	s.reaches(appsv1.DeploymentProgressing, "True NewReplicaSetAvailable")
}

// A pod counts as available only when it has been ready for so long.
func minReadySeconds(s *space) {
	const seconds = 15 // so that somebody looks in between, however busy the machine is
	s.createDeployment(3, setBounds(1, 1), func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = seconds })
	s.complete(3)
	s.changeDeployment(setImage("web:2"))
	s.complete(3)
	s.catchUp()
	early := false
	for _, c := range s.deploymentHistory.allChanges() {
		early = early || c.object.Status.ReadyReplicas > c.object.Status.AvailableReplicas
	}
	if !early {
		s.Error("no pod was ever ready and not yet available")
	}

	// How many pods were available by their own account, whenever a set said how many are.
	pods := s.podHistory.allChanges()
	for _, c := range s.setHistory.allChanges() {
		if c.gone {
			continue
		}
		ripe := map[string]bool{}
		for _, p := range pods {
			if since, ok := readySince(p.object); ok && metav1.IsControlledBy(p.object, c.object) &&
				c.at.Sub(since) >= seconds*time.Second {
				ripe[p.object.Name] = true
			}
		}
		if int(c.object.Status.AvailableReplicas) > len(ripe) {
			s.Errorf("%s has %d available replicas where only %d had been ready for %d s", c.object.Name,
				c.object.Status.AvailableReplicas, len(ripe), seconds)
		}
	}
}

func readySince(p *corev1.Pod) (time.Time, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
