package disruption

import (
	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// disruptions are the pods that are to go, each with since when.
type disruptions = wire.Dict[string, wire.Time]

// Pod is a pod of which only whose it is and how it fares are read.
//
//narrow:resource v1/pods Pod namespaced
type Pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status PodStatus
}

// PodStatus is what is read of a pod's status.
type PodStatus struct{ Conditions []Condition }

// Condition is what is read of a pod's condition.
type Condition struct {
	Type   string
	Status corev1.ConditionStatus
}

var podKind = resource.Of[Pod]{Info: podInfo}

// ready reports whether the pod is ready.
func (p *Pod) ready() bool {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == string(corev1.PodReady) {
			return p.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// target is a pod of which only its conditions are read, as a whole: they are written back.
//
//narrow:resource v1/pods Pod namespaced
type target struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status targetStatus
}

type targetStatus struct{ Conditions []corev1.PodCondition }

var targetKind = resource.Of[target]{Info: targetInfo}

// rival is a budget of which only what it selects is read.
//
//narrow:resource policy/v1/poddisruptionbudgets PodDisruptionBudget namespaced
type rival struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec rivalSpec
}

type rivalSpec struct{ Selector *metav1.LabelSelector }

// scaled is what is read of the spec of whatever runs replicas.
type scaled struct{ Replicas *int32 }

//narrow:resource v1/replicationcontrollers ReplicationController namespaced
type replicationController struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec scaled
}

//narrow:resource apps/v1/replicasets ReplicaSet namespaced
type replicaSet struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec scaled
}

//narrow:resource apps/v1/deployments Deployment namespaced
type deployment struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec scaled
}

//narrow:resource apps/v1/statefulsets StatefulSet namespaced
type statefulSet struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec scaled
}
