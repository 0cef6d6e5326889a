package resourcequota

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/module"
)

// newRequest returns the sync of a quota that bounds what pods ask for.
func newRequest() *abi.SyncRequest {
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "shop", Name: "all"}, Now: 1e18,
		Views: make([]abi.ViewData, len(reads))}
	q := &corev1.ResourceQuota{}
	q.Namespace, q.Name, q.UID = "shop", "all", "u-1"
	for _, name := range []corev1.ResourceName{"pods", "count/pods", "requests.cpu", "requests.memory", "limits.cpu",
		"limits.memory", "requests.example.com/gpu"} {
		q.Spec.Hard.Set(name, wire.Quantity{Text: "100000"})
	}
	module.Put(r, 0, q)
	return r
}

// podsAlike answers an ask for pods with so many kinds of them, of each of which there are a thousand.
func podsAlike(kinds int) module.Perform {
	var all []abi.ObjectData
	for i := range kinds {
		p := &Pod{}
		p.Spec.Containers = make([]Container, 2)
		for j := range p.Spec.Containers {
			c := &p.Spec.Containers[j]
			c.Name = fmt.Sprint("container-", j)
			c.Resources.Requests.Set("cpu", wire.Quantity{Text: fmt.Sprintf("%dm", 100+i)})
			c.Resources.Requests.Set("memory", wire.Quantity{Text: "128Mi"})
			c.Resources.Limits.Set("memory", wire.Quantity{Text: "256Mi"})
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses,
				ContainerStatus{Name: c.Name, AllocatedResources: c.Resources.Requests, Resources: &c.Resources})
		}
		for _, t := range []corev1.PodConditionType{"PodScheduled", "Initialized", "Ready", "ContainersReady"} {
			p.Status.Conditions = append(p.Status.Conditions, PodCondition{Type: t})
		}
		p.Status.Phase, p.Status.QOSClass = corev1.PodRunning, corev1.PodQOSBurstable
		all = append(all, abi.ObjectData{Data: resource.Append(nil, p), Count: 1000})
	}

	return func(q *abi.PerformRequest) (*abi.PerformResponse, error) {
		a := &abi.PerformResponse{}
		for i := range q.Effects {
			o := abi.Outcome{}
			if e := &q.Effects[i]; e.Kind == abi.EffectView {
				o.View = &abi.ViewData{}
				if reads[e.Ask.View] == sdk.AnyView(pods) {
					o.View.Objects = all
				}
			}
			a.Outcomes = append(a.Outcomes, o)
		}
		return a, nil
	}
}

// However many pods a namespace has, and though no two are alike, they fit into a sync.
func TestManyPods(t *testing.T) {
	if a := module.Open(t, Plugin).Run(t, newRequest(), podsAlike(30_000)); a.Error != "" {
		t.Error(a.Error)
	}
}

// Claims that were made for pods are told from others by asking for all of those pods at once: a sync may ask a
// thousand times.
func TestManyClaimsOfPods(t *testing.T) {
	const many = 1100
	r := newRequest()
	var claims, owners []abi.ObjectData
	yes := true
	for i := range many {
		p := &Pod{}
		p.Name, p.UID = fmt.Sprint("pod-", i), metav1.UID(fmt.Sprint("u-", i))
		owners = append(owners, abi.ObjectData{Data: resource.Append(nil, p)})
		d := &DeviceClaim{}
		d.Name = fmt.Sprint("claim-", i)
		d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID,
			Controller: &yes}}
		claims = append(claims, abi.ObjectData{Data: resource.Append(nil, d)})
	}
	gpus := &DeviceClass{}
	gpus.Name, gpus.Spec.ExtendedResourceName = "gpu", new("example.com/gpu")

	asks, named := 0, 0
	answer := map[sdk.AnyView][]abi.ObjectData{podsClaims: claims, claimingPods: owners,
		deviceClasses: {{Data: resource.Append(nil, gpus)}}}
	a := sdk.Run(Plugin, r, nil, func(q *abi.PerformRequest) (*abi.PerformResponse, error) {
		asked := q.Effects[0].Ask
		asks++
		if reads[asked.View] == sdk.AnyView(claimingPods) {
			named += len(asked.Names)
		}
		return &abi.PerformResponse{Outcomes: []abi.Outcome{{View: &abi.ViewData{Objects: answer[reads[asked.View]]}}}}, nil
	})
	if a.Error != "" || asks > 20 || named != many {
		t.Errorf("%d asks, %d pods asked for, error %q", asks, named, a.Error)
	}
}

// BenchmarkPods is the sync of a quota in whose namespace there are pods of so many kinds.
func BenchmarkPods(b *testing.B) {
	module.BenchPerforming(b, Plugin, []int{10, 100, 1000}, func(kinds int) (*abi.SyncRequest, module.Perform) {
		return newRequest(), podsAlike(kinds)
	})
}
