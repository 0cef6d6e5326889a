package namespace

import (
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/module"
)

// A namespace of a great many pods, or of a great many objects that can't be deleted at once, fits into a sandbox.
func TestMany(t *testing.T) {
	const n = 20_000
	ns := &corev1.Namespace{Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}}
	deleted := metav1.UnixNano(1e9)
	ns.Name, ns.UID, ns.DeletionTimestamp = "shop", "uid", &deleted
	whole := abi.ObjectData{Data: resource.Append(nil, ns), ResourceVersion: "1"}

	var live, cached []abi.ObjectData
	grace := int64(30)
	for i := range n {
		p := &pod{Spec: podSpec{&grace}, Status: podStatus{corev1.PodRunning}}
		p.Namespace, p.Name, p.UID = "shop", "web-7d9c8b6f5d-"+
			strconv.Itoa(i), metav1.UID("8f14e45f-ceea-467f-9575-"+strconv.Itoa(i))
		cached = append(cached, abi.ObjectData{Data: resource.Append(nil, p), ResourceVersion: "1"})
		p.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
		p.CreationTimestamp, p.DeletionTimestamp = deleted, &deleted
		p.Labels.Set("app.kubernetes.io/name", "web")
		p.Labels.Set("pod-template-hash", "7d9c8b6f5d")
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9c8b6f5d",
			UID: "8f14e45f-ceea-467f-9575-0123456789ab"}}
		m := &resource.Metadata{ObjectMeta: p.ObjectMeta}
		live = append(live, abi.ObjectData{Data: resource.Append(nil, m), ResourceVersion: "1"})
	}
	for _, c := range []struct {
		resource string
		verbs    []string
		message  string
		deletes  int
	}{
		{podsID, []string{"delete", "deletecollection", "list"},
			"Some resources are remaining: pods. has 20000 resource instances", 0},
		{"example.com/v1/widgets", []string{"delete", "list"},
			"Some resources are remaining: widgets.example.com has 20000 resource instances", n},
	} {
		said, deletes := "", 0
		a := module.Open(t, Plugin).Run(t, &abi.SyncRequest{
			Key: abi.KeyRef{Name: "shop"}, Now: 10e9, State: []byte("1"),
			Views: []abi.ViewData{{Objects: []abi.ObjectData{whole}}, {Count: 1}, {}},
		}, func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
			e, o := &r.Effects[0], abi.Outcome{}
			switch e.Kind {
			case abi.EffectGet:
				o.Object = whole
			case abi.EffectDiscover:
				o.Discovery = &abi.Discovery{Resources: []abi.APIResource{{Resource: c.resource, Namespaced: true, Verbs: c.verbs}}}
			case abi.EffectView:
				o.View = &abi.ViewData{Objects: cached}
			case abi.EffectList:
				o.View = &abi.ViewData{Objects: live}
			case abi.EffectGroup:
				deletes += len(e.Members)
				o.Members = make([]abi.Outcome, len(e.Members))
			case abi.EffectUpdate:
				said = string(e.Object)
			}
			return &abi.PerformResponse{Outcomes: []abi.Outcome{o}}, nil
		})
		if a.Error != "" || !strings.Contains(said, c.message) || a.RequeueAfter == 0 {
			t.Errorf("%s: error %q, requeued after %d ns, conditions %q", c.resource, a.Error, a.RequeueAfter, said)
		}
		if deletes != c.deletes {
			t.Errorf("%s: %d deleted one by one, expected %d", c.resource, deletes, c.deletes)
		}
	}
}
