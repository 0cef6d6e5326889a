package daemonset

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/history"
	"github.com/windlass-dev/windlass/plugins/shared/scheduling"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/test/module"
)

// newRequest returns the sync of a DaemonSet on so many nodes, the first of which have a ready pod; what is declared of
// each, no more.
func newRequest(t testing.TB, nodes, pods int) *abi.SyncRequest {
	ds := &appsv1.DaemonSet{}
	ds.Namespace, ds.Name, ds.UID, ds.Generation = "kube-system", "agent", "uid", 1
	l := &ds.Spec.Template.Labels
	l.Set("app", "agent")
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: *l}
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	ds.Spec.Template.Spec.NodeSelector.Set("kubernetes.io/os", "linux")
	ds.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	n, have := int32(nodes), int32(min(nodes, pods))
	ds.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: n, CurrentNumberScheduled: have, NumberReady: have,
		UpdatedNumberScheduled: have, NumberAvailable: have, NumberUnavailable: n - have, ObservedGeneration: 1}

	r := &appsv1.ControllerRevision{Revision: 1}
	r.Namespace, r.Name, r.UID, r.OwnerReferences = ds.Namespace, "agent-h1", "r", []metav1.OwnerReference{owner.Ref(ds)}
	r.Labels.Set("app", "agent")
	r.Labels.Set(hashLabel, "h1")
	var err error
	if r.Data.Raw, err = history.Data(&ds.Spec.Template); err != nil {
		t.Fatal(err)
	}

	q := &abi.SyncRequest{Key: abi.KeyRef{Namespace: ds.Namespace, Name: ds.Name}, Now: 1_800_000_000e9,
		Views: make([]abi.ViewData, 4)}
	module.Put(q, 0, ds)
	module.Put(q, 1, r)
	for i := range max(nodes, pods) {
		name := fmt.Sprintf("ip-10-%03d-%03d.eu-central-1.compute.internal", i/256, i%256)
		if i < pods {
			p := &corev1.Pod{}
			p.Namespace, p.Name, p.UID, p.OwnerReferences = ds.Namespace, fmt.Sprintf("agent-%05d", i),
				metav1.UID("0b8f7c8e-0000-4000-8000-"+strconv.Itoa(i)), r.OwnerReferences
			p.Labels, p.CreationTimestamp = r.Labels, metav1.Unix(1_790_000_000, 0)
			p.Spec.NodeName, p.Status.Phase = name, corev1.PodRunning
			if i >= nodes {
				p.Spec.NodeName, p.Spec.Affinity = "", restrictToNode(nil, name)
			}
			p.Status.Conditions = module.ReadyConditions(p.CreationTimestamp)
			module.Put(q, 2, p)
		}
		if i < nodes {
			x := &scheduling.Node{}
			x.Name, x.UID = name, metav1.UID("1b8f7c8e-0000-4000-8000-"+strconv.Itoa(i))
			for _, k := range []string{"beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os",
				"failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
				"kubernetes.io/arch", "node.kubernetes.io/instance-type", "topology.kubernetes.io/region",
				"topology.kubernetes.io/zone", "example.com/pool", "example.com/team"} {
				x.Labels.Set(k, "eu-central-1")
			}
			x.Labels.Set("kubernetes.io/hostname", name)
			x.Labels.Set("kubernetes.io/os", "linux")
			module.Put(q, 3, x)
		}
	}
	return q
}

// One sync creates 250 pods and deletes 250 at most.
func TestBurst(t *testing.T) {
	Plugin.Manifest() // numbers the views
	for _, x := range []struct {
		nodes, pods int
		n           int
		kind        abi.EffectKind
		mode        abi.GroupMode
	}{
		{nodes: 300, pods: 0, n: 250, kind: abi.EffectCreate, mode: abi.SlowStart},
		{nodes: 300, pods: 299, n: 1, kind: abi.EffectCreate, mode: abi.SlowStart},
		{nodes: 1, pods: 301, n: 250, kind: abi.EffectDelete, mode: abi.Parallel},
		{nodes: 1, pods: 3, n: 2, kind: abi.EffectDelete, mode: abi.Parallel},
	} {
		groups := 0
		a := sdk.Run(Plugin, newRequest(t, x.nodes, x.pods), nil, func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
			groups++
			if g := &r.Effects[0]; len(r.Effects) != 1 || g.Kind != abi.EffectGroup || g.Mode != x.mode ||
				len(g.Members) != x.n || g.Members[0].Kind != x.kind {
				t.Errorf("%d nodes, %d pods: %d effects, the first of kind %d and mode %d with %d members", x.nodes, x.pods,
					len(r.Effects), g.Kind, g.Mode, len(g.Members))
			}
			return module.Succeed(r)
		})

		if n := countEvents(a); groups != 1 || a.Error != "" || n != x.n {
			t.Errorf("%d nodes, %d pods: %d groups, %d events, error %q", x.nodes, x.pods, groups, n, a.Error)
		}
	}
}

func countEvents(a *abi.SyncResponse) (n int) {
	for i := range a.Effects {
		if a.Effects[i].Kind == abi.EffectEvent {
			n++
		}
	}
	return n
}

// The module answers byte for byte as the same code does natively, helpers included.
func TestModuleAnswersAsNativeOnWorlds(t *testing.T) {
	var all []*abi.SyncRequest
	for _, x := range []struct{ nodes, pods int }{{0, 0}, {3, 0}, {300, 0}, {3, 3}, {1, 300}} {
		old, new := newRequest(t, x.nodes, x.pods), newRequest(t, x.nodes, x.pods)
		new.Views[1].Objects = nil // the revision is to be made
		all = append(all, old, new)
	}
	module.Agree(t, Plugin, all...)
}

// BenchmarkSteady is the sync of a DaemonSet whose pods are all there and ready, as each of their events brings it
// about.
func BenchmarkSteady(b *testing.B) {
	module.BenchSteady(b, Plugin, []int{1, 100, 1000, 5000},
		func(nodes int) *abi.SyncRequest { return newRequest(b, nodes, nodes) })
}

// A template may ask for as many labels as an object holds, and a node may have as many.
func TestManyLabels(t *testing.T) {
	const labels = 40_000
	r := newRequest(t, 0, 0)
	ds, node := &appsv1.DaemonSet{}, &corev1.Node{}
	ds.Namespace, ds.Name, ds.UID, ds.Generation = "kube-system", "agent", "uid", 1
	ds.Spec.Template.Labels.Set("app", "agent")
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: ds.Spec.Template.Labels}
	node.Name, node.UID = "wide", "node"
	for i := range labels {
		l := wire.KV{Key: fmt.Sprintf("l-%06d", i), Value: "x"}
		ds.Spec.Template.Spec.NodeSelector = append(ds.Spec.Template.Spec.NodeSelector, l)
		node.Labels = append(node.Labels, l)
	}
	views := Plugin.Manifest().Controllers[0].Views
	r.Views[0].Objects = nil
	module.Put(r, 0, ds)
	module.Put(r, slices.IndexFunc(views, func(v abi.View) bool { return v.Resource.Name == "nodes" }), node)
	a, stats := module.Open(t, Plugin).Measure(t, r, module.Succeed)
	if a.Error != "" || stats.Performs == 0 || stats.Fuel > 1_000_000_000 {
		t.Errorf("error %q, %d performs, %d of fuel", a.Error, stats.Performs, stats.Fuel)
	}
}
