package disruption

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	policyv1 "github.com/windlass-dev/windlass/sdk/api/policy/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/module"
)

// The places of views.
const (
	budgetView = iota
	podView
	_
	_
	setView
	deploymentView
)

// newRequest returns the sync of a budget of so many ready pods, of a Deployment, at which it has looked before.
func newRequest(pods int) *abi.SyncRequest {
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: 1e18, Views: make([]abi.ViewData, 8)}
	b := &policyv1.PodDisruptionBudget{}
	b.Namespace, b.Name, b.UID, b.Generation = "default", "web", "u-1", 1
	least := wire.FromInt(1)
	b.Spec.MinAvailable, b.Spec.Selector = &least, &metav1.LabelSelector{}
	b.Spec.Selector.MatchLabels.Set("app", "web")
	module.Put(r, budgetView, b)

	yes := true
	for i := range pods {
		p := &Pod{}
		p.Namespace, p.Name = "default", fmt.Sprintf("web-7d4b9c6f5d-%05d", i)
		p.UID = metav1.UID(fmt.Sprintf("0b9c6f5d-6f5d-4b9c-8f5d-%012d", i))
		p.Labels.Set("app", "web")
		p.Labels.Set("pod-template-hash", "7d4b9c6f5d")
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d4b9c6f5d",
			UID: "u-set", Controller: &yes}}
		for _, c := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
			p.Status.Conditions = append(p.Status.Conditions, Condition{Type: c, Status: corev1.ConditionTrue})
		}
		module.Put(r, podView, p)
		r.State = append(r.State, tail(p)...)
	}
	return r
}

// newShare is the same of a budget that allows a share of its pods to go.
func newShare(pods int) (*abi.SyncRequest, module.Perform) {
	r := newRequest(pods)
	b := &policyv1.PodDisruptionBudget{}
	if err := resource.Decode(r.Views[budgetView].Objects[0].Data, b); err != nil {
		panic(err) // it was made above
	}
	share := wire.IntOrString{Type: wire.Text, StrVal: "10%"}
	b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &share
	r.Views[budgetView].Objects[0].Data = resource.Append(nil, b)

	replicas, yes := int32(pods), true
	d, s := &deployment{}, &replicaSet{}
	d.Namespace, d.Name, d.UID, d.Spec.Replicas = "default", "web", "u-deployment", &replicas
	s.Namespace, s.Name, s.UID, s.Spec.Replicas = "default", "web-7d4b9c6f5d", "u-set", &replicas
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web",
		UID: "u-deployment", Controller: &yes}}
	views := map[int32]sdk.Object{setView: s, deploymentView: d}

	return r, func(q *abi.PerformRequest) (*abi.PerformResponse, error) {
		a := &abi.PerformResponse{}
		for i := range q.Effects {
			o := abi.Outcome{}
			if e := &q.Effects[i]; e.Kind == abi.EffectView {
				o.View = &abi.ViewData{Objects: []abi.ObjectData{{Data: resource.Append(nil, views[e.Ask.View]),
					ResourceVersion: "1"}}}
			}
			a.Outcomes = append(a.Outcomes, o)
		}
		return a, nil
	}
}

// The module answers byte for byte as the same code does natively.
func TestModuleAnswersAsNativeOnWorlds(t *testing.T) {
	module.Agree(t, Plugin, newRequest(0), newRequest(1), newRequest(3000))
}

// A namespace's pods all fit into a sync.
func TestManyPods(t *testing.T) {
	r, perform := newShare(30_000)
	if a := module.Open(t, Plugin).Run(t, r, perform); a.Error != "" {
		t.Error(a.Error)
	}
}

// BenchmarkNumber is the sync of a budget that says how many pods must stay.
func BenchmarkNumber(b *testing.B) {
	module.Bench(b, Plugin, []int{10, 100, 1000}, newRequest)
}

// BenchmarkShare is the sync of a budget that says how many pods may go.
func BenchmarkShare(b *testing.B) {
	module.BenchPerforming(b, Plugin, []int{10, 100, 1000}, newShare)
}
