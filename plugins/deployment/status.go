package deployment

import (
	"math"
	"time"

	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// The reasons of a Deployment's conditions.
const (
	progressed   = "NewReplicaSetAvailable"
	progresses   = "ReplicaSetUpdated"
	timedOut     = "ProgressDeadlineExceeded"
	createdSet   = "NewReplicaSetCreated"
	foundSet     = "FoundNewReplicaSet"
	createFailed = "ReplicaSetCreateError"
	paused       = "DeploymentPaused"
	resumed      = "DeploymentResumed"
	enough       = "MinimumReplicasAvailable"
	tooFew       = "MinimumReplicasUnavailable"
)

// observe sets the status to what the sets amount to, the condition Available among it.
func (r *rollout) observe() {
	s, all := &r.d.Status, r.allSets()
	s.ObservedGeneration = r.d.Generation
	s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas = 0, 0, 0, available(all)
	for _, rs := range all {
		s.Replicas += rs.Status.Replicas
		s.ReadyReplicas += rs.Status.ReadyReplicas
	}
	if r.new != nil {
		s.UpdatedReplicas = r.new.Status.Replicas
	}
	s.UnavailableReplicas = max(0, totalDesired(all)-s.AvailableReplicas)
	s.TerminatingReplicas = nil
	if tellTerminating.On(r.c) {
		s.TerminatingReplicas = terminating(all)
	}
	if s.AvailableReplicas >= r.want-r.maxUnavailable() {
		r.setCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue, enough, "Deployment has minimum availability.")
	} else {
		r.setCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse, tooFew,
			"Deployment does not have minimum availability.")
	}
}

// terminating is how many pods are on their way out; nil where a set doesn't tell, though its controller has looked at
// it.
func terminating(all []*appsv1.ReplicaSet) *int32 {
	n := int32(0)
	for _, rs := range all {
		switch t := rs.Status.TerminatingReplicas; {
		case t != nil:
			n += *t
		case rs.Status.ObservedGeneration != 0:
			return nil
		}
	}
	return &n
}

// progress writes the status of a rollout: how far it is, whether it gets on, what hinders it. It tells whether the
// rollout is complete.
func (r *rollout) progress(options ...sdk.Option) (complete bool) {
	before := r.d.Status
	r.observe()
	s := &r.d.Status
	complete = s.UpdatedReplicas == r.want && s.Replicas == r.want && s.AvailableReplicas == r.want
	r.setProgressing(&before, complete)
	r.setFailure()
	r.writeStatus(options...)
	p := condition(r.d, appsv1.DeploymentProgressing)
	if p != nil && !complete && p.Reason != timedOut && p.Reason != progressed {
		r.c.After(p.LastUpdateTime.Add(r.deadline()).Sub(r.c.Now()) + time.Second) // nothing else may happen until then
	}
	return complete
}

func (r *rollout) setProgressing(before *appsv1.DeploymentStatus, complete bool) {
	if !r.hasDeadline() {
		r.dropCondition(appsv1.DeploymentProgressing)
		return
	}

	s, p := &r.d.Status, condition(r.d, appsv1.DeploymentProgressing)
	if s.Replicas == s.UpdatedReplicas && p != nil && p.Reason == progressed {
		return // no rollout: pods come and go
	}

	what := "Deployment " + quoteName(r.d.Name)
	if r.new != nil {
		what = "ReplicaSet " + quoteName(r.new.Name)
	}

	switch {
	case complete:
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, progressed, what+" has successfully progressed.")
	case s.UpdatedReplicas > before.UpdatedReplicas ||
		s.Replicas-s.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		s.ReadyReplicas > before.ReadyReplicas || s.AvailableReplicas > before.AvailableReplicas:
		// The time of the last progress is told even where the condition stays what it was.
		r.dropCondition(appsv1.DeploymentProgressing)
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, progresses, what+" is progressing.")
		if p != nil && p.Status == corev1.ConditionTrue {
			condition(r.d, appsv1.DeploymentProgressing).LastTransitionTime = p.LastTransitionTime
		}
	case p != nil && p.Reason != progressed &&
		(p.Reason == timedOut || p.LastUpdateTime.Add(r.deadline()).Before(r.c.Now())):
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, timedOut, what+" has timed out progressing.")
	}
}

// setFailure tells of a set that can't make or delete its pods, the new one first.
func (r *rollout) setFailure() {
	sets := r.old
	if r.new != nil {
		sets = append([]*appsv1.ReplicaSet{r.new}, r.old...)
	}
	for _, rs := range sets {
		for i := range rs.Status.Conditions {
			if f := &rs.Status.Conditions[i]; f.Type == appsv1.ReplicaSetReplicaFailure {
				r.addCondition(&appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: f.Status,
					Reason: f.Reason, Message: f.Message,
					LastUpdateTime: f.LastTransitionTime, LastTransitionTime: f.LastTransitionTime})
				return
			}
		}
	}
	r.dropCondition(appsv1.DeploymentReplicaFailure)
}

// notePause tells that the Deployment has been paused or resumed, so that the time between doesn't count against its
// deadline.
func (r *rollout) notePause() {
	p := condition(r.d, appsv1.DeploymentProgressing)
	was := p != nil && p.Reason == paused
	switch {
	case !r.hasDeadline() || p != nil && p.Reason == timedOut || r.d.Spec.Paused == was:
	case was:
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, resumed, "Deployment is resumed")
	default:
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, paused, "Deployment is paused")
	}
}

// writeStatus writes the status with the revision annotation, if this sync has changed anything of it.
func (r *rollout) writeStatus(options ...sdk.Option) {
	if !resource.Equal(r.seen, r.d) {
		r.c.Add(sdk.UpdateStatus(r.d, options...))
	}
}

func (r *rollout) hasDeadline() bool {
	s := r.d.Spec.ProgressDeadlineSeconds
	return s != nil && *s != math.MaxInt32
}

func (r *rollout) deadline() time.Duration {
	return time.Duration(*r.d.Spec.ProgressDeadlineSeconds) * time.Second
}
