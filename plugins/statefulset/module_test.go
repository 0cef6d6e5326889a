package statefulset

import (
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/history"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/test/module"
)

// newRequest returns the sync of a set that wants some pods and has others, all ready, with ten revisions; the pods
// from outdated on are of an old one.
func newRequest(t testing.TB, policy appsv1.PodManagementPolicyType, want, have, outdated int) *abi.SyncRequest {
	n, limit := int32(want), int32(10)
	set := &appsv1.StatefulSet{}
	set.Namespace, set.Name, set.UID, set.Generation = "default", "web", "u1", 1
	set.Spec.Replicas, set.Spec.PodManagementPolicy, set.Spec.RevisionHistoryLimit = &n, policy, &limit
	set.Spec.Selector = &metav1.LabelSelector{}
	set.Spec.Selector.MatchLabels.Set("app", "web")
	set.Spec.Template.Labels.Set("app", "web")
	set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: 1e18, Views: make([]abi.ViewData, 4)}
	for i := range 10 {
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:" + strconv.Itoa(i)}}
		data, err := history.FloatData(&set.Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		v := &appsv1.ControllerRevision{Revision: int64(i + 1)}
		v.Namespace, v.Name, v.Labels, v.OwnerReferences = "default", "web-"+strconv.Itoa(i), set.Spec.Template.Labels,
			[]metav1.OwnerReference{owner.Ref(set)}
		v.Data.Raw = data
		module.Put(r, 2, v)
	}

	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: n, ReadyReplicas: n, AvailableReplicas: n,
		CurrentReplicas: n, UpdatedReplicas: n, CurrentRevision: "web-9", UpdateRevision: "web-9"}
	module.Put(r, 0, set)
	for i := range have {
		yes := true
		p := &corev1.Pod{}
		p.Namespace, p.Name, p.UID = "default", "web-"+strconv.Itoa(i), metav1.UID("pod-"+strconv.Itoa(i))
		p.Labels.Set("app", "web")
		identify(p, int64(i))
		p.Labels.Set(appsv1.StatefulSetRevisionLabel, "web-9")
		if i >= outdated {
			p.Labels.Set(appsv1.StatefulSetRevisionLabel, "web-8")
		}
		p.OwnerReferences = []metav1.OwnerReference{{UID: "u1", Controller: &yes}}
		p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-abcde"}}
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = module.ReadyConditions(metav1.Unix(9e8, 0))
		module.Put(r, 1, p)
	}
	return r
}

// The module answers byte for byte as the same code does natively.
func TestModuleAnswersAsNativeOnWorlds(t *testing.T) {
	var all []*abi.SyncRequest
	for _, x := range []struct{ want, have, outdated int }{{0, 0, 0}, {3, 0, 0}, {3, 2, 3}, {3, 3, 3}, {3, 3, 1},
		{1, 30, 30}, {700, 0, 0}} {
		for _, policy := range []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement,
			appsv1.ParallelPodManagement} {
			all = append(all, newRequest(t, policy, x.want, x.have, x.outdated))
		}
	}
	module.Agree(t, Plugin, all...)
}

// BenchmarkSteady is the sync of a set whose pods are all there and ready, with a full history, as each of their events
// brings it about.
func BenchmarkSteady(b *testing.B) {
	module.BenchSteady(b, Plugin, []int{3, 20, 1000}, func(pods int) *abi.SyncRequest {
		return newRequest(b, appsv1.OrderedReadyPodManagement, pods, pods, pods)
	})
}
