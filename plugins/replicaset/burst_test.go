package replicaset

import (
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// newRequest returns the sync of a set that wants so many replicas and has so many pods.
func newRequest(replicas int32, have int) *abi.SyncRequest {
	rs := &appsv1.ReplicaSet{}
	rs.Namespace, rs.Name, rs.UID = "default", "web", "uid"
	rs.Spec.Replicas = &replicas
	rs.Spec.Template.Labels.Set("app", "web")
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Spec.Template.Labels}
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: 1_800_000_000e9,
		Views: make([]abi.ViewData, 4)}
	r.Views[0].Objects = []abi.ObjectData{{Data: resource.Append(nil, rs), ResourceVersion: "1"}}
	for i := range have {
		p := pod.New(rs, &rs.Spec.Template)
		p.Name, p.GenerateName, p.UID = "web-"+strconv.Itoa(i), "", metav1.UID("0b8f7c8e-0000-4000-8000-"+strconv.Itoa(i))
		p.CreationTimestamp = metav1.Unix(1_790_000_000+int64(i), 0)
		p.Status.Phase = corev1.PodRunning
		r.Views[1].Objects = append(r.Views[1].Objects, abi.ObjectData{Data: resource.Append(nil, p), ResourceVersion: "1"})
	}
	return r
}

// One sync creates or deletes 500 pods at most.
func TestBurst(t *testing.T) {
	Plugin.Manifest() // numbers the views

	for _, x := range []struct {
		want    int32
		have, n int
		kind    abi.EffectKind
		mode    abi.GroupMode
	}{
		{want: 600, have: 0, n: 500, kind: abi.EffectCreate, mode: abi.SlowStart},
		{want: 600, have: 599, n: 1, kind: abi.EffectCreate, mode: abi.SlowStart},
		{want: 1, have: 600, n: 500, kind: abi.EffectDelete, mode: abi.Parallel},
		{want: 0, have: 500, n: 500, kind: abi.EffectDelete, mode: abi.Parallel},
	} {
		groups := 0
		a := sdk.Run(Plugin, newRequest(x.want, x.have), nil, func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
			groups++
			g := &r.Effects[0]
			if len(r.Effects) != 1 || g.Kind != abi.EffectGroup || g.Mode != x.mode || len(g.Members) != x.n {
				t.Errorf("%d wanted, %d there: %d effects, the first of kind %d and mode %d with %d members",
					x.want, x.have, len(r.Effects), g.Kind, g.Mode, len(g.Members))
			}
			for i := range g.Members {
				if g.Members[i].Kind != x.kind {
					t.Fatalf("member %d is of kind %d", i, g.Members[i].Kind)
				}
			}
			return &abi.PerformResponse{Outcomes: []abi.Outcome{{Members: make([]abi.Outcome, len(g.Members))}}}, nil
		})

		if events := len(a.Effects) - 1; groups != 1 || a.Error != "" || events != x.n {
			t.Errorf("%d wanted, %d there: %d groups, %d events, error %q", x.want, x.have, groups, events, a.Error)
		}
	}
}
