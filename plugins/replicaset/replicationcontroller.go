package replicaset

import (
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
	"github.com/windlass-dev/windlass/sdk/replicas"
)

var (
	controllers    = replicas.SetsOf(corev1.ReplicationControllers)
	controllerPods = replicas.PodsOf(controllers).Fields(pod.RankFields...).Quiet(pod.RankFields...)
)

// controller is pkg/controller/replication: a ReplicationController is a ReplicaSet of an older version. It has no
// siblings, and its status doesn't tell of terminating pods.
var controller = &sdk.Controller{
	Name:           "replicationcontroller-controller",
	Alias:          "replicationcontroller",
	Queue:          "replicationmanager",
	ServiceAccount: "replication-controller",
	EventSource:    "replication-controller",
	Reads:          sdk.Views{controllers, controllerPods},
	Writes:         replicas.WritesOf(&corev1.ReplicationControllers.Info),
	Workers:        5,
	Pace:           sdk.StatusPace,
	Sync:           syncController,
}

func syncController(c *sdk.Call) error {
	rc, ok := controllers.Get(c)
	if !ok {
		return nil
	}

	spec, was := specOf(&rc.Spec), statusOf(&rc.Status)
	status, changed, err := replicas.Manage(c, rc, &replicas.Set{Spec: &spec, Status: &was}, controllerPods.List(c),
		func(active []*corev1.Pod, n int) []*corev1.Pod { return leastUseful(c, active, nil, n) })
	if changed {
		s := sdk.Clone(rc)
		setStatus(&s.Status, &status)
		c.Add(sdk.UpdateStatus(s))
	}
	return err
}

// specOf is what a ReplicaSet would say. A selector without labels selects nothing.
func specOf(s *corev1.ReplicationControllerSpec) appsv1.ReplicaSetSpec {
	spec := appsv1.ReplicaSetSpec{Replicas: s.Replicas, MinReadySeconds: s.MinReadySeconds,
		Template: sdk.Deref(s.Template, corev1.PodTemplateSpec{})}
	if len(s.Selector) > 0 {
		spec.Selector = &metav1.LabelSelector{MatchLabels: s.Selector}
	}
	return spec
}

func statusOf(s *corev1.ReplicationControllerStatus) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas,
		ReadyReplicas: s.ReadyReplicas, AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration}
	for i := range s.Conditions {
		x := &s.Conditions[i]
		status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(x.Type), Status: x.Status, LastTransitionTime: x.LastTransitionTime,
			Reason: x.Reason, Message: x.Message, XUnknown: x.XUnknown})
	}
	return status
}

// setStatus puts into a status what a ReplicaSet's would say, and leaves what of it nobody here knows.
func setStatus(s *corev1.ReplicationControllerStatus, status *appsv1.ReplicaSetStatus) {
	s.ObservedGeneration, s.Replicas, s.FullyLabeledReplicas = status.ObservedGeneration, status.Replicas,
		status.FullyLabeledReplicas
	s.ReadyReplicas, s.AvailableReplicas, s.Conditions = status.ReadyReplicas, status.AvailableReplicas, nil

	for i := range status.Conditions {
		x := &status.Conditions[i]
		s.Conditions = append(s.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(x.Type), Status: x.Status, LastTransitionTime: x.LastTransitionTime,
			Reason: x.Reason, Message: x.Message, XUnknown: x.XUnknown})
	}
}
