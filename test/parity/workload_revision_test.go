package parity

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation      = "deployment.kubernetes.io/max-replicas"
)

func setPaused(yes bool) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Paused = yes }
}

// A paused Deployment says that it is, is scaled, and begins no roll-out before it is resumed.
func pauseRollout(s *space) {
	s.createDeployment(3)
	s.complete(3)
	s.reaches(appsv1.DeploymentProgressing, "True NewReplicaSetAvailable")
	s.changeDeployment(setPaused(true))
	s.reaches(appsv1.DeploymentProgressing, "Unknown DeploymentPaused: Deployment is paused")
	s.changeDeployment(setImage("web:2"))
	s.awaitDeployment("no updated replica", func(d *appsv1.Deployment) bool { return d.Status.UpdatedReplicas == 0 })
	s.changeDeployment(replicas(5))
	s.awaitDeployment("five old replicas", func(d *appsv1.Deployment) bool {
		return d.Status.AvailableReplicas == 5 && d.Status.UpdatedReplicas == 0
	})
	if l := s.listSets(); len(l) != 1 {
		s.Errorf("a paused Deployment has %d sets, want 1", len(l))
	}

	s.changeDeployment(func(d *appsv1.Deployment) { setPaused(false)(d); nowhere(d) })
	s.awaitDeployment("the roll-out begins", func(d *appsv1.Deployment) bool {
		return d.Status.UpdatedReplicas == 3 && d.Status.AvailableReplicas == 4
	})
	s.reaches(appsv1.DeploymentProgressing, `True ReplicaSetUpdated: ReplicaSet "web-`)
	s.changeDeployment(setPaused(true))
	s.reaches(appsv1.DeploymentProgressing, "Unknown DeploymentPaused: Deployment is paused")
	s.changeDeployment(setPaused(false)) // nothing gets on, so that the resumption is all there is to tell
	s.reaches(appsv1.DeploymentProgressing, "Unknown DeploymentResumed: Deployment is resumed")
	s.changeDeployment(somewhere)
	s.complete(5)
	s.reaches(appsv1.DeploymentProgressing, "True NewReplicaSetAvailable")
}

// The annotation rolls back, says so, and goes; to nowhere it goes as well.
func rollback(s *space) {
	s.createDeployment(2)
	s.complete(2)
	for _, i := range []string{"web:2", "web:3"} {
		s.changeDeployment(setImage(i))
		s.complete(2)
	}

	undo := func(to, reason, message string) *appsv1.Deployment {
		s.Helper()
		s.changeDeployment(func(d *appsv1.Deployment) {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedRollbackTo, to)
		})
		s.happened("Deployment", "web", reason, message)
		d := s.awaitDeployment("annotation gone", func(d *appsv1.Deployment) bool {
			_, wish := d.Annotations[appsv1.DeprecatedRollbackTo]
			return !wish
		})
		s.complete(2)
		return d
	}

	expect := func(d *appsv1.Deployment, image string) {
		s.Helper()
		if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
			s.Errorf("image %s, want %s", got, image)
		}
		if _, label := d.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; label {
			s.Error("the template has got a set's hash")
		}
	}

	expect(undo("0", "DeploymentRollback", `Rolled back deployment "web" to revision 2`), "web:2")
	s.eventually("revision 4", func() (bool, string) {
		rs := s.setWithImage("web:2")
		return rs.Annotations[revisionAnnotation] == "4" && rs.Annotations[historyAnnotation] == "2",
			fmt.Sprint(rs.Annotations)
	})

	expect(undo("1", "DeploymentRollback", `Rolled back deployment "web" to revision 1`), "web:1")
	expect(undo("99", "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to."), "web:1")
	expect(undo("5", "DeploymentRollbackTemplateUnchanged",
		`The rollback revision contains the same template as current deployment "web"`), "web:1")
	s.awaitDeployment("revision 5", func(d *appsv1.Deployment) bool { return d.Annotations[revisionAnnotation] == "5" })
}

// Of old sets only as many stay as the limit says, the latest.
func historyLimit(s *space) {
	limit := int32(2)
	s.createDeployment(1, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &limit })
	s.complete(1)
	for _, i := range []string{"web:2", "web:3", "web:4", "web:5"} {
		s.changeDeployment(setImage(i))
		s.complete(1)
	}

	revisions := func(want ...string) {
		s.Helper()
		s.eventually(fmt.Sprint("revisions ", want), func() (bool, string) {
			var got []string
			for _, rs := range s.listSets() {
				got = append(got, rs.Annotations[revisionAnnotation])
			}
			slices.Sort(got)
			return slices.Equal(got, want), fmt.Sprint(got)
		})
	}

	revisions("3", "4", "5")
	none := int32(0)
	s.changeDeployment(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &none })
	revisions("5")
	for _, c := range s.setHistory.allChanges() {
		if c.gone && *c.object.Spec.Replicas+c.object.Status.Replicas != 0 {
			s.Errorf("%s was deleted with %d replicas", c.object.Name, c.object.Status.Replicas)
		}
	}
}

// Annotations of the Deployment reach its set, all but those that each has for itself.
func annotations(s *space) {
	s.createDeployment(2, setBounds(1, 0), func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"team": "front", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
	})
	s.complete(2)
	want := func(want map[string]string) {
		s.Helper()
		s.eventually("the set's annotations", func() (bool, string) {
			got := s.setWithImage("web:1").Annotations
			return maps.Equal(got, want), fmt.Sprint(got)
		})
	}
	want(map[string]string{"team": "front", revisionAnnotation: "1", desiredAnnotation: "2", maxAnnotation: "3"})
	s.changeDeployment(func(d *appsv1.Deployment) {
		d.Annotations["team"], d.Annotations["kubernetes.io/change-cause"] = "back", "a test"
		d.Spec.MinReadySeconds = 1
	})
	want(map[string]string{"team": "back", "kubernetes.io/change-cause": "a test", revisionAnnotation: "1",
		desiredAnnotation: "2", maxAnnotation: "3"})
	s.complete(2)
	if n := s.setWithImage("web:1").Spec.MinReadySeconds; n != 1 {
		s.Errorf("the set's minReadySeconds are %d, want 1", n)
	}
	if n := len(podsEverMade(s)); n != 2 {
		s.Errorf("%d pods were made, want 2", n)
	}
}

// A name that is taken by somebody else's set makes the Deployment try another.
func collision(s *space) {
	s.createDeployment(2)
	s.complete(2)
	taken := s.setWithImage("web:1")
	// Nobody collects what a Deployment leaves behind here: its set keeps the name, and belongs to nobody who lives.
	s.must(s.deployments.Delete(s.ctx, "web", metav1.DeleteOptions{}))
	s.createDeployment(2)
	d := s.complete(2)
	if d.Status.CollisionCount == nil || *d.Status.CollisionCount != 1 {
		s.Errorf("collisionCount %v, want 1", d.Status.CollisionCount)
	}
	if l := s.listSets(); len(l) != 2 {
		s.Errorf("there are %d sets, want 2", len(l))
	}
	after, err := s.sets.Get(s.ctx, taken.Name, metav1.GetOptions{})
	if s.must(err); after.UID != taken.UID || after.Generation != taken.Generation {
		s.Errorf("the set %s, which is not the Deployment's, was changed", taken.Name)
	}
}
