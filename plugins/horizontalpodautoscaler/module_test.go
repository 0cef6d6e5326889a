package horizontalpodautoscaler

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	autoscalingv1 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v1"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/module"
)

// newRequest returns the sync of an autoscaler of so many pods, which use what they should, in a namespace of two
// hundred autoscalers.
func newRequest(pods int) (*abi.SyncRequest, module.Perform) {
	percent := int32(50)
	h := &autoscalingv2.HorizontalPodAutoscaler{}
	h.Namespace, h.Name, h.UID = "default", "web", "u1"
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment",
		Name: "web"}
	h.Spec.MaxReplicas = int32(2 * pods)
	h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu",
			Target: autoscalingv2.MetricTarget{AverageUtilization: &percent}}}}
	var s autoscalingv1.Scale
	s.Namespace, s.Name, s.Spec.Replicas, s.Status.Replicas, s.Status.Selector = "default", "web", int32(pods),
		int32(pods), "app=web"
	view := &abi.ViewData{}
	var items []string

	start := wire.Unix(9e8, 0)
	for i := range pods {
		p := &Pod{Spec: PodSpec{Containers: []Container{{Name: "web"}}}}
		p.Namespace, p.Name = "default", fmt.Sprintf("web-7d4b9c6f5d-%05d", i)
		p.Labels.Set("app", "web")
		p.Labels.Set("pod-template-hash", "7d4b9c6f5d")
		p.Spec.Containers[0].Resources.Requests.Set("cpu", wire.Quantity{Text: "200m"})
		p.Status = PodStatus{Phase: corev1.PodRunning, StartTime: &start,
			Conditions: []PodCondition{{"Ready", "True", start}}}
		view.Objects = append(view.Objects, abi.ObjectData{Data: resource.Append(nil, p), ResourceVersion: "1"})
		items = append(items, `{"metadata":{"name":"`+p.Name+
			`","namespace":"default","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web","pod-template-hash":"7d4b9c6f5d"}},`+
			`"timestamp":"2001-09-09T01:46:30Z","window":"15.034s","containers":[{"name":"web","usage":{"cpu":"100123456n","memory":"65536Ki"}}]}`)
	}

	body := []byte(`{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[` +
		strings.Join(items, ",") + "]}")
	var facts []abi.Fact
	for i := range 200 {
		facts = append(facts, abi.Fact{Key: abi.KeyRef{Namespace: "default", Name: fmt.Sprint("other-", i)},
			Data: fmt.Appendf(nil, "app=other-%d", i)})
	}
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: 1e18, State: []byte("5@999999999000;;"),
		Views: []abi.ViewData{{Objects: []abi.ObjectData{{Data: resource.Append(nil, h), ResourceVersion: "7"}}}, {}}}

	return r, func(q *abi.PerformRequest) (*abi.PerformResponse, error) {
		a := &abi.PerformResponse{}
		for i := range q.Effects {
			o := abi.Outcome{}
			switch e := &q.Effects[i]; e.Kind {
			case abi.EffectDiscover:
				o.Discovery = &abi.Discovery{Resources: []abi.APIResource{{Resource: "apps/v1/deployments", Kind: "Deployment",
					Namespaced: true}}}
			case abi.EffectGet:
				o.Object = abi.ObjectData{Data: wire.Append(nil, unsafe.Pointer(&s), &autoscalingv1.ScaleTable),
					ResourceVersion: "9"}
			case abi.EffectView:
				o.View = view
			case abi.EffectFacts:
				o.Facts = facts
			case abi.EffectRead:
				o.Object.Data = body
			case abi.EffectUpdate:
				o.Object = abi.ObjectData{Data: e.Object, ResourceVersion: "10"}
			}
			a.Outcomes = append(a.Outcomes, o)
		}
		return a, nil
	}
}

// The largest deployments that there are fit into a sync.
func TestManyPods(t *testing.T) {
	r, perform := newRequest(10_000)
	m := module.Open(t, Plugin)
	if a := m.Run(t, r, perform); a.Error != "" || a.RequeueAfter != 15e9 {
		t.Errorf("error %q, again after %d ns", a.Error, a.RequeueAfter)
	}
}

// BenchmarkSteady is a sync that finds the usage as it should be.
func BenchmarkSteady(b *testing.B) {
	for _, pods := range []int{3, 100, 1000} {
		r, perform := newRequest(pods)
		b.Run(fmt.Sprint("native/", pods), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a := sdk.Run(Plugin, r, settingsOf([]string{"15s", "5m0s", "0.1", "5m0s", "30s"}), perform); a.Error != "" {
					b.Fatal(a.Error)
				}
			}
		})
		b.Run(fmt.Sprint("module/", pods), func(b *testing.B) {
			m := module.Open(b, Plugin)
			for b.Loop() {
				m.Run(b, r, perform)
			}
		})
	}
}
