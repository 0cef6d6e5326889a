package views

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

func TestCompileRefuses(t *testing.T) {
	view := func(v abi.View) abi.Controller {
		v.Name, v.Resource = "pods", pods
		return abi.Controller{Name: "c", Views: []abi.View{{Name: "sets", Resource: replicasets}, v}}
	}

	where := func(c abi.Condition) abi.Controller { return view(abi.View{Where: &c}) }
	for _, x := range []struct {
		name string
		c    abi.Controller
		want string
	}{
		{"an unknown resource", abi.Controller{Name: "c",
			Views: []abi.View{{Name: "v", Resource: abi.Resource{Version: "v1", Name: "pod"}}}}, "v1/pod"},
		{"an unknown resource that is written",
			abi.Controller{Name: "c", Views: []abi.View{{Name: "v", Resource: pods}},
				Writes: []abi.Write{{Resource: abi.Resource{Version: "v1", Name: "configmap"}}}}, "there is v1/configmaps"},
		{"an unknown field", view(abi.View{Fields: []string{"spec.nodename"}}), "nodeName"},
		{"an unknown quiet path", view(abi.View{Quiet: []string{"status.fase"}}), "phase"},
		{"an unknown kind of event", view(abi.View{QuietOn: []string{"deletion"}}), `"deletion"`},
		{"a Secret's content as keys", abi.Controller{Name: "c", Key: abi.Key{Path: "data[token]"},
			Views: []abi.View{{Name: "secrets", Resource: abi.Resource{Version: "v1", Name: "secrets"},
				Unseen: []string{"data[token]"}}}}, `path "data[token]" of v1/secrets may lead to secrets`},
		{"a Secret's annotation as keys", abi.Controller{Name: "c", Key: abi.Key{Path: "metadata.annotations[a]"},
			Views: []abi.View{{Name: "secrets", Resource: abi.Resource{Version: "v1", Name: "secrets"}}}}, "for annotations"},
		{"annotations of all resources as keys", abi.Controller{Name: "c", Key: abi.Key{Path: "metadata.annotations[a]"},
			Views: []abi.View{{Name: "all", Resource: abi.Resource{Name: "*"}}}}, "for annotations"},
		{"a later view", where(joins("controller.uid", 1, "metadata.uid")), "not an earlier one"},
		{"a wrong path in the earlier view", where(joins("controller.uid", 0, "metadata.uuid")), "view sets"},
		{"no selector at the path", where(abi.Condition{Op: abi.OpSelected, View: 0, ViewPath: "spec.replicas"}),
			"neither a label selector"},
		{"a negated join", where(abi.Condition{Op: abi.OpJoin, Not: true, Path: "metadata.name", ViewPath: "metadata.name"}),
			"negated"},
		{"an empty constant", where(abi.Condition{Op: abi.OpIn, Path: "spec.nodeName", Values: []string{""}}), "not exists"},
		{"an unknown op", where(abi.Condition{Op: "like", Path: "spec.nodeName"}), `"like"`},
		{"two tests in one", where(abi.Condition{Op: abi.OpExists, Path: "spec.nodeName", Any: []abi.Condition{{}}}),
			"exactly one"},
		{"a value of a key that is an object", where(joins("metadata.name", abi.FromKey, "value")), "the key is an object"},
		{"a guard that joins", view(abi.View{Guard: &abi.Condition{Op: abi.OpJoin, Path: "metadata.name",
			ViewPath: "metadata.name"}}), "constants only"},
		{"elements of a scalar", where(
			abi.Condition{Each: true, Path: "metadata.finalizers", Where: &abi.Condition{Op: abi.OpExists, Path: "x"}}),
			"no fields of its own"},
		{"a part of a map that is quiet",
			view(abi.View{Fields: []string{"metadata.annotations"}, Quiet: []string{"metadata.annotations[x]"}}),
			"instead of the map"},
		{"a key view that isn't there",
			abi.Controller{Name: "c", Key: abi.Key{View: 3}, Views: []abi.View{{Name: "sets", Resource: replicasets}}},
			"no view 3"},
		{"a lazy key view", abi.Controller{Name: "c", Views: []abi.View{{Name: "sets", Resource: replicasets, Lazy: true}}},
			"can't be lazy"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := Compile(&x.c)
			if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "controller c") {
				t.Fatalf("error %v, want one with %q that names the controller", err, x.want)
			}
		})
	}
}

func TestPlansShareIndexes(t *testing.T) {
	one, two := shapes[0], shapes[0]
	// The same conditions, written in another order.
	two.Views = slices.Clone(two.Views)
	w := *two.Views[1].Where
	w.All = []abi.Condition{w.All[1], w.All[0]}
	two.Views[1].Where = &w
	var names [][]string
	for _, c := range []*abi.Controller{&one, &two} {
		p, err := Compile(c)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, n := range p.Needs() {
			all = append(all, slices.Sorted(maps.Keys(n.Indexers))...)
		}
		names = append(names, all)
	}
	if len(names[0]) == 0 || !slices.Equal(names[0], names[1]) {
		t.Fatalf("indexes differ:\n%q\n%q", names[0], names[1])
	}
}

func TestUnjoinedViewsAreWarnedOf(t *testing.T) {
	c := abi.Controller{Name: "c",
		Views: []abi.View{{Name: "sets", Resource: replicasets}, {Name: "nodes", Resource: nodesR}}}
	p, err := Compile(&c)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "nodes") {
		t.Fatalf("warnings %q", p.Warnings)
	}
	c.Views[1].Quiet = []string{"*"}
	if p, err = Compile(&c); err != nil || len(p.Warnings) != 0 {
		t.Fatalf("warnings %q, error %v of a quiet view", p.Warnings, err)
	}
}

// compileWithWorld compiles a controller and makes its world.
func compileWithWorld(t *testing.T, c abi.Controller) (*Plan, *world) {
	t.Helper()
	p, err := Compile(&c)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(p)
	if err != nil {
		t.Fatal(err)
	}
	return p, w
}

func collectWakes(p *Plan, w *world, e cache.Event, own func(cache.Event) bool) map[abi.KeyRef]time.Duration {
	all := map[abi.KeyRef]time.Duration{}
	p.Wakes(w, e, own, func(k abi.KeyRef, d time.Duration) { all[k] = d })
	return all
}

func service(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, UID: types.UID(name)},
		Spec: corev1.ServiceSpec{Selector: selector}}
}

func TestKindsOfEventsThatAreQuiet(t *testing.T) {
	p, w := compileWithWorld(t, shapes[2]) // endpoints: only the deletion of one wakes, and those found at start
	key := abi.KeyRef{Namespace: "x", Name: "a"}
	old := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", UID: "1"}}

	add, _ := w.applyObject(endpoints, "x", "a", old)
	if got := collectWakes(p, w, add, nil); len(got) != 0 {
		t.Errorf("an add wakes %v", got)
	}
	add.Initial = true
	if got := collectWakes(p, w, add, nil); len(got) != 1 {
		t.Errorf("one found at start, whose service is absent, wakes %v, want its key", got)
	}

	var keys []abi.KeyRef
	p.Keys(w, func(k abi.KeyRef) { keys = append(keys, k) })
	if !slices.Equal(keys, []abi.KeyRef{key}) {
		t.Errorf("keys at start are %v", keys)
	}
	for r, want := range map[abi.Resource]int{endpoints: 1, services: 0} {
		n := 0
		p.KeysFrom(w, r, func(abi.KeyRef) { n++ })
		if n != want {
			t.Errorf("%d keys come from %s, want %d", n, r, want)
		}
	}

	changed := old.DeepCopy()
	changed.Subsets = []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "1.1.1.1"}}}}
	update, _ := w.applyObject(endpoints, "x", "a", changed)
	if got := collectWakes(p, w, update, nil); len(got) != 0 {
		t.Errorf("an update wakes %v", got)
	}
	gone, _ := w.applyObject(endpoints, "x", "a", nil)
	if _, ok := collectWakes(p, w, gone, nil)[key]; !ok {
		t.Error("a delete doesn't wake")
	}
}

// What is watched unseen wakes and isn't delivered; whether there is something is a condition, to which empty data is
// nothing.
func TestUnseen(t *testing.T) {
	secrets := abi.Resource{Version: "v1", Name: "secrets"}
	p, w := compileWithWorld(t, abi.Controller{Name: "unseen", Views: []abi.View{
		{Name: "secrets", Resource: secrets, Fields: []string{"data[id]"}, Unseen: []string{"data[secret]"}},
		{Name: "full", Resource: secrets, Fields: []string{"metadata.name"}, Where: all(inKeyNamespace(),
			abi.Condition{Op: abi.OpExists, Path: "data[secret]"})},
	}})
	set := func(secret string) cache.Event {
		e, _ := w.applyObject(secrets, "x", "a", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a",
			UID: "1"}, Data: map[string][]byte{"id": []byte("me"), "secret": []byte(secret), "more": []byte(secret)}})
		return e
	}
	key := abi.KeyRef{Namespace: "x", Name: "a"}
	set("old")
	if got := collectWakes(p, w, set("new"), nil); len(got) != 1 {
		t.Errorf("another secret wakes %v, want its key", got)
	}

	for secret, full := range map[string]int{"new": 1, "": 0} {
		set(secret)
		var s Snapshot
		if err := p.Snapshot(w, key, &s); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Views()[1].Objects); n != full {
			t.Errorf("with the secret %q %d Secrets are full, want %d", secret, n, full)
		}
		for _, o := range append(s.Views()[0].Objects, s.Views()[1].Objects...) {
			if secret != "" && bytes.Contains(o.Data, []byte(secret)) || !bytes.Contains(o.Data, []byte("me")) {
				t.Errorf("with the secret %q it is delivered: %q", secret, o.Data)
			}
		}
	}
}

func TestOwnWritesAreQuietButTheirDeletion(t *testing.T) {
	p, w := compileWithWorld(t, shapes[3]) // endpointslice
	slice := sliceOf("s", "a")
	add, _ := w.applyObject(slicesR, "x", "s", slice)
	own := func(e cache.Event) bool { return e.New == add.New }
	if got := collectWakes(p, w, add, own); len(got) != 0 {
		t.Errorf("an echo wakes %v", got)
	}
	if p.Echoes(add) {
		t.Error("an add that was its own would wake")
	}
	if got := collectWakes(p, w, add, func(cache.Event) bool { return false }); len(got) != 1 {
		t.Errorf("somebody else's write wakes %v", got)
	}
	gone, _ := w.applyObject(slicesR, "x", "s", nil)
	if got := collectWakes(p, w, gone, own); len(got) != 1 {
		t.Errorf("the deletion of what was written wakes %v", got)
	}
	if !p.Echoes(gone) {
		t.Error("the deletion of what was written would not wake")
	}
	other := sliceOf("s", "b")
	w.applyObject(slicesR, "x", "s", slice)
	moved, _ := w.applyObject(slicesR, "x", "s", other)
	if got := len(collectWakes(p, w, moved, func(cache.Event) bool { return true })) > 0; p.Echoes(moved) != got {
		t.Errorf("an echo that takes a slice to another service wakes: %v, but it is said to: %v", got, !got)
	}

	if pod, _ := w.applyObject(pods, "x", "p",
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p", UID: "p"}}); !p.Echoes(pod) {
		t.Error("a pod is loud whoever has written it")
	}
}

func TestBatchesDelayTheirViewAlone(t *testing.T) {
	p, w := compileWithWorld(t, shapes[2])
	added, _ := w.applyObject(services, "x", "a", service("a", map[string]string{"app": "p"}))
	key := abi.KeyRef{Namespace: "x", Name: "a"}
	if d, ok := collectWakes(p, w, added, nil)[key]; !ok || d != 0 {
		t.Errorf("the service wakes after %v (%v)", d, ok)
	}
	pod, _ := w.applyObject(pods, "x", "p",
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p", UID: "p",
			Labels: map[string]string{"app": "p"}}})
	if d, ok := collectWakes(p, w, pod, nil)[key]; !ok || d != time.Second {
		t.Errorf("the pod wakes after %v (%v)", d, ok)
	}
}

// An event that several views see wakes the key as soon as one of them wants it to.
func TestTheShortestDelayCounts(t *testing.T) {
	slow := abi.View{Name: "slow", Resource: pods, Fields: []string{"metadata.labels"}, Where: all(inKeyNamespace())}
	slow.Batch = int64(time.Hour)
	quick := slow
	quick.Name, quick.Batch = "quick", int64(time.Second)
	for _, both := range [][]abi.View{{slow, quick}, {quick, slow}} {
		all := append([]abi.View{{Name: "sets", Resource: replicasets}}, both...)
		p, w := compileWithWorld(t, abi.Controller{Name: "c", Views: all})
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", UID: "a"}}
		w.applyObject(replicasets, "x", "a", set)
		e, _ := w.applyObject(pods, "x", "p", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p", UID: "p"}})
		if d, ok := collectWakes(p, w, e, nil)[abi.KeyRef{Namespace: "x", Name: "a"}]; !ok || d != time.Second {
			t.Errorf("%s before %s: the pod wakes after %v (%v)", both[0].Name, both[1].Name, d, ok)
		}
	}
}

func TestSnapshotOverTheLimitNamesItsView(t *testing.T) {
	c := abi.Controller{Name: "c", Views: []abi.View{{Name: "sets", Resource: replicasets},
		{Name: "heavy pods", Resource: pods, Fields: []string{"metadata.annotations"}, Where: all(inKeyNamespace())}}}
	p, w := compileWithWorld(t, c)
	w.applyObject(replicasets, "x", "a", &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a",
		UID: "a"}})
	big := map[string]string{"note": strings.Repeat("x", 1<<20)}
	for _, n := range []string{"a", "b", "c", "d"} {
		for _, m := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"} {
			w.applyObject(pods, "x", n+m, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: n + m,
				UID: types.UID(n + m), Annotations: big}})
		}
	}
	var s Snapshot
	err := p.Snapshot(w, abi.KeyRef{Namespace: "x", Name: "a"}, &s)
	if err == nil || !strings.Contains(err.Error(), "heavy pods") || !strings.Contains(err.Error(), "68 objects") {
		t.Fatalf("error %v", err)
	}
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "y", Name: "a"}, &s); err != nil {
		t.Fatalf("another key: %v", err)
	}
}

func sliceOf(name, of string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, UID: types.UID(name),
		Labels: map[string]string{"kubernetes.io/service-name": of}}}
}
