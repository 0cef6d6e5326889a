package garbagecollector

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/module"
)

// viewOf is a view's place in a request.
func viewOf(name string) int {
	return slices.IndexFunc(Plugin.Manifest().Controllers[0].Views, func(v abi.View) bool { return v.Name == name })
}

// newOrphaning returns the sync of an owner that lets its dependents go, of which it is shown some.
func newOrphaning(shown, all int) *abi.SyncRequest {
	metadata := func(name string, change func(*resource.Metadata)) abi.ObjectData {
		m := &resource.Metadata{}
		m.Namespace, m.Name, m.UID = "default", name, metav1.UID("uid-"+name)
		change(m)
		return abi.ObjectData{Data: resource.Append(nil, m), ResourceVersion: "1", Resource: "v1/configmaps", Kind: "ConfigMap"}
	}
	views := make([]abi.ViewData, len(Plugin.Manifest().Controllers[0].Views))
	for i := range views {
		views[i].View = int32(i)
	}
	deleted := metav1.Unix(1, 0)
	views[0].Objects = []abi.ObjectData{metadata("owner", func(m *resource.Metadata) {
		m.DeletionTimestamp, m.Finalizers = &deleted, []string{orphanFinalizer}
	})}
	shownOrphans := &views[viewOf("orphans")]
	for i := range shown {
		shownOrphans.Objects = append(shownOrphans.Objects, metadata(fmt.Sprint("child-", i), func(m *resource.Metadata) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "uid-owner"}}
		}))
	}
	shownOrphans.Count = int64(all)
	return &abi.SyncRequest{Key: abi.KeyRef{Resource: "v1/configmaps", Namespace: "default", Name: "owner"}, Now: 1e18,
		Views: views}
}

// Of more dependents than a sync is shown those are let go, the owner stays, and the rest follows. What a sync takes in
// memory doesn't hang on how many there are.
func TestManyOrphans(t *testing.T) {
	m := module.Open(t, Plugin)
	if v := Plugin.Manifest().Controllers[0].Views[viewOf("orphans")]; v.First != orphansMost {
		t.Fatalf("the view delivers %d objects", v.First)
	}

	for _, x := range []struct {
		shown, all int
		last       bool
	}{{orphansMost, 40_000, false}, {orphansMost, orphansMost, true}, {0, 0, true}} {
		a, stats := m.Measure(t, newOrphaning(x.shown, x.all), module.Succeed)
		released, finalized := 0, false
		for i := range a.Effects {
			released += len(a.Effects[i].Members)
			finalized = finalized || strings.Contains(string(a.Effects[i].Object), "finalizers")
		}
		if a.Error != "" || released != x.shown || finalized != x.last || (a.RequeueAfter > 0) == x.last {
			t.Errorf("%+v: %d are let go, the owner is %v, again after %d ns, error %q", x, released, finalized,
				a.RequeueAfter, a.Error)
		}
		if stats.Memory > 16<<20 {
			t.Errorf("%+v takes %d bytes of memory", x, stats.Memory)
		}
	}
}

// Of more owners that are gone than one sync can ask for, those that were asked for go first, and the rest follows; the
// object itself goes in the end.
func TestManyOwnersThatAreGone(t *testing.T) {
	m := module.Open(t, Plugin)
	asked := 0
	nothing := func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
		a := &abi.PerformResponse{}
		for i := range r.Effects {
			o := abi.Outcome{Code: abi.CodeFailed, Reason: "NotFound"}
			if r.Effects[i].Kind == abi.EffectDelete {
				o = abi.Outcome{}
			}
			asked++
			a.Outcomes = append(a.Outcomes, o)
		}
		return a, nil
	}

	for owners, then := range map[int]string{9500: "fewer", goneMost + 1: "fewer", goneMost: "deleted", 1: "deleted"} {
		asked = 0
		a, _ := m.Measure(t, newOwned(owners), nothing)
		switch kept := strings.Count(patchOf(a), `"name":"owner-`); {
		case a.Error != "" || asked > goneMost+1:
			t.Errorf("%d owners: %d requests, error %q", owners, asked, a.Error)
		case then == "deleted" && (len(a.Effects) > 0 || asked != owners+1):
			t.Errorf("%d owners: it isn't deleted after %d requests: %d effects", owners, asked, len(a.Effects))
		case then == "fewer" && (kept != owners-goneMost || a.RequeueAfter == 0):
			t.Errorf("%d owners: %d are left, again after %d ns", owners, kept, a.RequeueAfter)
		}
	}
}

// A reference whose owner can't be asked for stays, also where it is the last that a sync comes to.
func TestAnOwnerThatCannotBeAskedForIsKept(t *testing.T) {
	m := module.Open(t, Plugin)
	asked := 0
	a, _ := m.Measure(t, newOwned(2*goneMost), func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
		o := abi.Outcome{Code: abi.CodeFailed, Reason: "NotFound"}
		if asked++; asked == goneMost {
			o.Reason = "InternalError"
		}
		return &abi.PerformResponse{Outcomes: []abi.Outcome{o}}, nil
	})
	if a.Error == "" || len(a.Effects) > 0 || asked != goneMost {
		t.Errorf("after %d requests: %d effects, error %q", asked, len(a.Effects), a.Error)
	}
}

// newOwned returns the sync of an object with so many owners, none of which the cache has.
func newOwned(owners int) *abi.SyncRequest {
	item := &resource.Metadata{}
	item.Namespace, item.Name, item.UID = "default", "child", "uid-child"
	for i := range owners {
		item.OwnerReferences = append(item.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap",
			Name: fmt.Sprint("owner-", i), UID: metav1.UID(fmt.Sprint("uid-", i))})
	}
	r := newOrphaning(0, 0)
	r.Key.Name = "child"
	r.Views[0].Objects = []abi.ObjectData{{Data: resource.Append(nil, item), ResourceVersion: "1",
		Resource: "v1/configmaps", Kind: "ConfigMap"}}
	return r
}

// patchOf is the only effect's content, "" of none.
func patchOf(a *abi.SyncResponse) string {
	if len(a.Effects) != 1 {
		return ""
	}
	return string(a.Effects[0].Object)
}

// An object may have as many owners as it holds, and each of these may be as large as it likes: they are delivered by
// what tells them from one another, and one that has them all is judged in a hundredth of what a sync may take.
func TestManyOwnersThatLive(t *testing.T) {
	for _, name := range []string{"owners", "waiters"} {
		if v := Plugin.Manifest().Controllers[0].Views[viewOf(name)]; fmt.Sprint(v.Fields) != "[metadata.uid]" {
			t.Errorf("%s are delivered with %q", name, v.Fields)
		}
	}

	const owners = 9500
	r := newOwned(owners)
	for i := range owners {
		o := &resource.Metadata{}
		o.Namespace, o.Name, o.UID = "default", fmt.Sprint("owner-", i), metav1.UID(fmt.Sprint("uid-", i))
		data := abi.ObjectData{Data: resource.Append(nil, o), ResourceVersion: "1", Resource: "v1/configmaps", Kind: "ConfigMap"}
		for _, name := range []string{"owners", "waiters"} {
			r.Views[viewOf(name)].Objects = append(r.Views[viewOf(name)].Objects, data)
		}
	}
	a, stats := module.Open(t, Plugin).Measure(t, r, module.Succeed)
	if a.Error != "" || len(a.Effects) > 0 || stats.Fuel > 1_000_000_000 {
		t.Errorf("error %q, %d effects, %d of fuel", a.Error, len(a.Effects), stats.Fuel)
	}
}
