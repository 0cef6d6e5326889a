package replicaset

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/module"
)

// The module answers byte for byte as the same code does natively.
func TestModuleAnswersAsNativeOnWorlds(t *testing.T) {
	module.Agree(t, Plugin, newRequest(0, 0), newRequest(3, 0), newRequest(600, 0), newRequest(3, 3), newRequest(1, 600),
		newRequest(0, 5))
}

// BenchmarkSteady is the sync of a set whose pods are all there and ready, as each of their events brings it about.
func BenchmarkSteady(b *testing.B) {
	module.BenchSteady(b, Plugin, []int{1, 100, 1000, 5000}, func(pods int) *abi.SyncRequest {
		r := newRequest(int32(pods), pods)
		rs := &appsv1.ReplicaSet{}
		if err := resource.Decode(r.Views[0].Objects[0].Data, rs); err != nil {
			b.Fatal(err)
		}
		n, none := int32(pods), int32(0)
		rs.Status = appsv1.ReplicaSetStatus{Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			TerminatingReplicas: &none}
		r.Views[0].Objects[0].Data = resource.Append(nil, rs)
		for i := range r.Views[1].Objects {
			r.Views[1].Objects[i].Data = readyPod(b, r.Views[1].Objects[i].Data)
		}
		return r
	})
}

// readyPod is the pod as a kubelet leaves it, cut to what the controller declares.
func readyPod(t testing.TB, data []byte) []byte {
	p := &corev1.Pod{}
	if err := resource.Decode(data, p); err != nil {
		t.Fatal(err)
	}
	p.Labels.Set("pod-template-hash", "7d9c8b6f5d")
	for i := range p.OwnerReferences {
		o := &p.OwnerReferences[i]
		o.APIVersion, o.Kind, o.Name, o.BlockOwnerDeletion = "", "", "", nil
	}
	p.Spec = corev1.PodSpec{NodeName: "node-0123"}
	p.Status.Conditions = module.ReadyConditions(p.CreationTimestamp)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{}}
	return resource.Append(nil, p)
}
