package views

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// alike is how many objects these of a distinct view stand for.
func alike(all []abi.ObjectData) (n int) {
	for _, o := range all {
		n += int(o.Count)
	}
	return n
}

func podOn(namespace, name, node string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
}

// quotas is a controller that adds pods up, as resourcequota does.
func quotas() abi.Controller {
	return abi.Controller{Name: "c", Views: []abi.View{
		{Name: "sets", Resource: replicasets, Fields: []string{"spec.replicas"}},
		{Name: "nodes", Resource: pods, Fields: []string{"spec.nodeName"}, Lazy: true, Distinct: true,
			Where: all(inKeyNamespace(),
				abi.Condition{Op: abi.OpIn, Path: "status.phase", Values: []string{"Failed"}, Not: true})},
		{Name: "all", Resource: schema.Any, Lazy: true, Where: all(inKeyNamespace()),
			QuietOn: []string{abi.QuietAdd, abi.QuietUpdate}},
	}}
}

// A distinct view delivers each set of fields once, with how many objects have it, and nothing else of them, in an
// order that doesn't hang on their names.
func TestDistinct(t *testing.T) {
	p, w := compileWithWorld(t, quotas())
	for i, node := range []string{"b", "a", "b", "", "b", "a"} {
		name := fmt.Sprint("p", i)
		w.applyObject(pods, "x", name, podOn("x", name, node, corev1.PodRunning))
	}
	w.applyObject(pods, "x", "failed", podOn("x", "failed", "b", corev1.PodFailed))
	w.applyObject(pods, "y", "other", podOn("y", "other", "b", corev1.PodRunning))

	var s Snapshot
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "x", Name: "a"}, &s); err != nil {
		t.Fatal(err)
	}
	d, err := s.Ask(&abi.Ask{View: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, o := range d.Objects {
		var pod corev1.Pod
		if err := pod.Unmarshal(o.Data); err != nil {
			t.Fatal(err)
		}
		if pod.Name != "" || pod.UID != "" || pod.Status.Phase != "" || o.ResourceVersion != "" {
			t.Errorf("of the pods on node %q more than that is delivered: %v", pod.Spec.NodeName, &pod)
		}
		got[pod.Spec.NodeName] += o.Count
	}
	if want := map[string]int64{"": 1, "a": 2, "b": 3}; len(d.Objects) != 3 || !maps.Equal(got, want) {
		t.Errorf("%d objects: %v", len(d.Objects), got)
	}
	if o := s.Find(pods, "x", "p0"); o != nil {
		t.Errorf("%s has been delivered by its name", o.Name)
	}
	if d, err = s.Ask(&abi.Ask{View: 1, Count: true}); err != nil || d.Count != 6 {
		t.Errorf("%d objects: %v", d.Count, err)
	}
}

// A view over all resources is asked for one of them: in whatever version it is served, and not if it isn't, or if its
// objects are in no namespace.
func TestAskForAResource(t *testing.T) {
	p, w := compileWithWorld(t, quotas())
	w.applyObject(pods, "x", "p", podOn("x", "p", "a", corev1.PodFailed))
	w.applyObject(pods, "y", "p", podOn("y", "p", "a", corev1.PodFailed))

	var s Snapshot
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "x", Name: "a"}, &s); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		ask  abi.Ask
		want abi.ViewData
		err  string
	}{
		{ask: abi.Ask{Resource: "pods"}, want: abi.ViewData{Count: 1}},
		{ask: abi.Ask{Resource: "pods", Namespace: "y"}},
		{ask: abi.Ask{Resource: "deployments.apps"}},
		{ask: abi.Ask{Resource: "deployments"}, want: abi.ViewData{Unserved: true}},
		{ask: abi.Ask{Resource: "pods.apps"}, want: abi.ViewData{Unserved: true}},
		{ask: abi.Ask{Resource: "nodes", Namespace: "x"}, want: abi.ViewData{Unserved: true}},
		{ask: abi.Ask{}, err: "must name one"},
		{ask: abi.Ask{Resource: "pods", Fresh: true}, err: "can't be asked for what is fresh"},
		{ask: abi.Ask{View: 1, Resource: "pods"}, err: "can't name a resource"},
	} {
		x.ask.View, x.ask.Count = cmp.Or(x.ask.View, 2), true
		d, err := s.Ask(&x.ask)
		switch {
		case x.err != "":
			if err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%+v: %v", x.ask, err)
			}
		case err != nil, d.Count != x.want.Count, d.Unserved != x.want.Unserved:
			t.Errorf("%+v: %+v, %v", x.ask, d, err)
		}
	}
}

// withdrawn are resources that aren't served while their objects are kept, and groups of which nothing is known.
type withdrawn map[abi.Resource]bool

func (w withdrawn) Current(r abi.Resource) (abi.Resource, bool) { return r, true }
func (w withdrawn) Lost(r abi.Resource) bool                    { return w[r] }
func (w withdrawn) Lacking() (unlisted []abi.Resource, young abi.Resource, wait time.Duration) {
	for r := range w {
		if r.Name == schema.Any.Name {
			unlisted = append(unlisted, r)
		}
	}
	return unlisted, young, 0
}

// Of a lenient view over all resources, one that is no longer served is answered as such, whether objects of it are
// kept or not: what the plugin counts besides isn't to wait for it. One of a group that discovery has told nothing of
// may be there.
func TestAskForWhatIsWithdrawn(t *testing.T) {
	c := quotas()
	c.Views[2].Lenient = true
	p, w := compileWithWorld(t, c)
	w.applyObject(pods, "x", "p", podOn("x", "p", "a", corev1.PodFailed))
	away := withdrawn{pods: true, {Group: "example.com", Version: "v1", Name: schema.Any.Name}: true}
	p.SetCurrency(away)

	var s Snapshot
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "x", Name: "a"}, &s); err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]abi.ViewData{
		"pods":               {Unserved: true},
		"gears.example.com":  {Unlisted: []string{"example.com/v1/*"}},
		"gears.example.net":  {Unserved: true},
		"deployments.apps":   {},
		"replicasets.apps":   {},
		"deployments.extras": {Unserved: true},
	} {
		d, err := s.Ask(&abi.Ask{View: 2, Resource: resource, Count: true})
		if err != nil || d.Unserved != want.Unserved || !slices.Equal(d.Unlisted, want.Unlisted) {
			t.Errorf("%s: %+v, %v", resource, d, err)
		}
	}
}

// Who asked is woken by what comes, goes or changes what was delivered, and by nothing else that happens to the
// objects.
func TestWakesOfWhoAsked(t *testing.T) {
	p, w := compileWithWorld(t, quotas())
	w.applyObject(replicasets, "x", "a", &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", UID: "a"}})
	var s Snapshot
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "x", Name: "a"}, &s); err != nil {
		t.Fatal(err)
	}
	for _, a := range []abi.Ask{{View: 1}, {View: 2, Resource: "pods", Count: true}} {
		if _, err := s.Ask(&a); err != nil {
			t.Fatal(err)
		}
	}

	for _, x := range []struct {
		what  string
		pod   *corev1.Pod
		wakes bool
	}{
		{"comes", podOn("x", "p", "", corev1.PodPending), true},
		{"has another node", podOn("x", "p", "n", corev1.PodPending), true},
		{"runs", podOn("x", "p", "n", corev1.PodRunning), false},
		{"fails", podOn("x", "p", "n", corev1.PodFailed), true},
		{"goes", nil, true},
	} {
		var e cache.Event
		if x.pod == nil {
			e, _ = w.applyObject(pods, "x", "p", nil)
		} else {
			e, _ = w.applyObject(pods, "x", "p", x.pod)
		}
		woken := false
		p.Wakes(w, e, nil, func(abi.KeyRef, time.Duration) { woken = true })
		if woken != x.wakes {
			t.Errorf("a pod %s: woken %v", x.what, woken)
		}
	}

	p.Forget()
	e, _ := w.applyObject(pods, "x", "p", podOn("x", "p", "", corev1.PodPending))
	p.Wakes(w, e, nil, func(k abi.KeyRef, _ time.Duration) {
		t.Errorf("woken for what %v asked before it was forgotten", k)
	})
}

// A view that says how many objects are alike has neither a count nor a first part, and looks below metadata.
func TestDistinctIsRefused(t *testing.T) {
	for _, change := range []func(*abi.View){
		func(v *abi.View) { v.Lazy, v.Count = false, 3 },
		func(v *abi.View) { v.First = 3 },
		func(v *abi.View) { v.Resource = schema.Any },
	} {
		bad := quotas()
		bad.Views[1].Where, bad.Views[1].Fields = nil, nil
		change(&bad.Views[1])
		if _, err := Compile(&bad); err == nil || !strings.Contains(err.Error(), "distinct") {
			t.Errorf("%+v: %v", bad.Views[1], err)
		}
	}
}
