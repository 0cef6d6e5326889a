package namespace

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// pod is a pod of which only how long it may take to end is read.
//
//narrow:resource v1/pods Pod namespaced
type pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   podSpec
	Status podStatus
}

type podSpec struct{ TerminationGracePeriodSeconds *int64 }

type podStatus struct{ Phase corev1.PodPhase }

var pods = resource.Of[pod]{Info: podInfo}

const (
	podsName = "pods"
	podsID   = "v1/" + podsName
)
