package views

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// crowdedWorld returns a world with replica sets of some pods each, all of the same app, for all plans.
func crowdedWorld(b testing.TB, sets, podsEach int, controllers ...abi.Controller) (*world, []*Plan) {
	b.Helper()
	var plans []*Plan
	for i := range controllers {
		p, err := Compile(&controllers[i])
		if err != nil {
			b.Fatal(err)
		}
		plans = append(plans, p)
	}

	w, err := newWorld(plans...)
	if err != nil {
		b.Fatal(err)
	}

	for i := range sets {
		name := fmt.Sprint("set-", i)
		labels := map[string]string{"app": "web", "pod-template-hash": name}
		w.applyObject(replicasets, "x", name,
			&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "x", UID: types.UID(name)},
				Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}})
		if w.stores[services] != nil {
			w.applyObject(services, "x", name, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "x",
				UID: types.UID("svc-" + name)}, Spec: corev1.ServiceSpec{Selector: labels}})
		}
		for j := range podsEach {
			w.applyObject(pods, "x", fmt.Sprintf("%s-%d", name, j), benchPod(name, j, "Running"))
		}
	}

	return w, plans
}

func benchPod(set string, i int, phase corev1.PodPhase) *corev1.Pod {
	yes := true
	name := fmt.Sprintf("%s-%d", set, i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "x", UID: types.UID(name),
			Labels:      map[string]string{"app": "web", "pod-template-hash": set, "note": "n"},
			Annotations: map[string]string{"a": "some annotation that only one controller wants to read, of some length"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, UID: types.UID(set),
				Controller: &yes, BlockOwnerDeletion: &yes}}},
		Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i%50), ServiceAccountName: "default",
			Volumes: []corev1.Volume{{Name: "v",
				VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}},
		Status: corev1.PodStatus{Phase: phase, PodIP: "10.0.0.1", HostIP: "10.1.0.1", Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}},
	}
}

// annotated reads what no other shape does, so that the cache keeps more than they want.
var annotated = abi.Controller{Name: "annotated",
	Views: []abi.View{{Name: "pods", Resource: pods, Fields: []string{"metadata", "spec", "status"}}}}

func BenchmarkSnapshotOf1000Pods(b *testing.B) {
	for _, x := range []struct {
		name        string
		controllers []abi.Controller
	}{{"the cache keeps what the plan reads", shapes[:1]},
		{"the cache keeps more", []abi.Controller{shapes[0], annotated}}} {
		b.Run(x.name, func(b *testing.B) {
			w, plans := crowdedWorld(b, 10, 1000, x.controllers...)
			var s Snapshot
			key := abi.KeyRef{Namespace: "x", Name: "set-3"}
			b.ReportAllocs()
			for b.Loop() {
				if err := plans[0].Snapshot(w, key, &s); err != nil {
					b.Fatal(err)
				}
				if len(s.Rows(1)) != 1000 {
					b.Fatal(len(s.Rows(1)))
				}
			}
		})
	}
}

func BenchmarkPodEventAmong50Controllers(b *testing.B) {
	// Six shapes read pods by owner, selector, node, claim; the others read but a claim's users.
	var fifty []abi.Controller
	for i := range 50 {
		fifty = append(fifty, []abi.Controller{shapes[0], shapes[2], shapes[3], shapes[5], shapes[7], shapes[9]}[i%6])
	}
	w, plans := crowdedWorld(b, 100, 20, fifty...)
	router := NewRouter(w, pods)

	woken := 0
	for _, p := range plans {
		if _, err := router.Add(p, pods, nil, func(abi.KeyRef, time.Duration) { woken++ }); err != nil {
			b.Fatal(err)
		}
	}

	object := func(change func(*corev1.Pod)) *cache.Object {
		pod := benchPod("set-3", 7, "Running")
		change(pod)
		e, _ := w.applyObject(pods, "x", pod.Name, pod)
		return e.New
	}

	running := object(func(*corev1.Pod) {})
	for _, x := range []struct {
		name   string
		change func(*corev1.Pod)
	}{
		{"status", func(p *corev1.Pod) { p.Status.Phase = "Failed" }},
		{"labels", func(p *corev1.Pod) { p.Labels["note"] = "other" }},
		{"nothing that is read", func(p *corev1.Pod) {}},
	} {
		changed := object(x.change)
		if x.name == "nothing that is read" {
			changed.Raw = append(changed.Raw[:len(changed.Raw):len(changed.Raw)], 0xf8, 0x07, 1) // a field of a newer API server
		}
		b.Run(x.name, func(b *testing.B) {
			e := cache.Event{Resource: w.schemas[pods], Old: running, New: changed}
			woken = 0
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				router.OnEvent(e)
				n++
			}
			b.ReportMetric(float64(woken)/float64(n), "keys/op")
		})
	}
}

// An autoscaler asks for the few pods of its target, in a namespace with many others.
func BenchmarkAskFor2Of1000Pods(b *testing.B) {
	w, plans := crowdedWorld(b, 500, 2, abi.Controller{Name: "autoscaler", Views: []abi.View{
		{Name: "sets", Resource: replicasets},
		{Name: "pods", Resource: pods, Fields: []string{"metadata.labels", "spec.nodeName", "status"},
			Where: all(inKeyNamespace()), Lazy: true, Quiet: []string{"*"}}}})
	selector, err := (&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pod-template-hash",
		Operator: "In", Values: []string{"set-3"}}}}).Marshal()
	if err != nil {
		b.Fatal(err)
	}
	var s Snapshot
	b.ReportAllocs()
	for b.Loop() {
		if err := plans[0].Snapshot(w, abi.KeyRef{Namespace: "x", Name: "set-3"}, &s); err != nil {
			b.Fatal(err)
		}
		if got, err := s.Ask(&abi.Ask{View: 1, Namespace: "x", Selector: selector}); err != nil || len(got.Objects) != 2 {
			b.Fatal(len(got.Objects), err)
		}
	}
}

// A quota adds up what the pods of a large namespace take: they are of a few kinds.
func BenchmarkDistinctOf10000Pods(b *testing.B) {
	w, plans := crowdedWorld(b, 5000, 2, abi.Controller{Name: "quota", Views: []abi.View{
		{Name: "sets", Resource: replicasets},
		{Name: "pods", Resource: pods, Fields: []string{"spec.containers.resources", "status.phase"},
			Where: all(inKeyNamespace()), Lazy: true, Distinct: true, Quiet: []string{"*"}}}})
	var s Snapshot
	b.ReportAllocs()
	for b.Loop() {
		if err := plans[0].Snapshot(w, abi.KeyRef{Namespace: "x", Name: "set-3"}, &s); err != nil {
			b.Fatal(err)
		}
		if got, err := s.Ask(&abi.Ask{View: 1}); err != nil || alike(got.Objects) != 10000 || len(got.Objects) > 10 {
			b.Fatal(len(got.Objects), err)
		}
	}
}
