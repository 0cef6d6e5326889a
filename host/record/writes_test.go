package record

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
)

// Of each object the last write is known: on what it was done, for which key, and how that sync ended.
func TestLastWrite(t *testing.T) {
	r := NewRing("deployment-controller", -1)
	old, next := r.Recorder(testSource("old")), r.Recorder(testSource("next"))
	web, api := abi.KeyRef{Namespace: "default", Name: "web"}, abi.KeyRef{Namespace: "default", Name: "api"}
	const sets = "apps/v1/replicasets"
	first, second := old.Begin(web, time.Now()), next.Begin(api, time.Now())
	r.Wrote(web, effects.Write{Verb: "create", Resource: sets, Namespace: "default", Name: "web-1", ResourceVersion: "1"})
	r.Wrote(api, effects.Write{Verb: "update", Resource: sets, Subresource: "status", Namespace: "default", Name: "api-1",
		ResourceVersion: "2"})
	r.Wrote(web, effects.Write{Verb: "update", Resource: sets, Namespace: "default", Name: "web-2", ResourceVersion: "3"})
	ignore := cmpopts.IgnoreFields(Write{}, "Time", "Digest", "Version")
	check := func(name string, want Write) {
		t.Helper()
		want.Controller, want.Resource, want.Namespace, want.Name = "deployment-controller", sets, "default", name
		got, ok := r.LastWrite(sets, "default", name)
		if d := cmp.Diff(want, got, ignore); d != "" || !ok || time.Since(got.Time) > time.Minute {
			t.Errorf("%s: %s", name, d)
		}
	}
	check("web-1", Write{Plugin: "old", Verb: "create", ResourceVersion: "1", Key: "default/web",
		Writes: []string{"create " + sets}})
	first.End("ok", nil)
	second.End("error", errors.New("conflict"))
	check("web-1", Write{Plugin: "old", Verb: "create", ResourceVersion: "1", Key: "default/web",
		Writes: []string{"create " + sets}, Result: "ok"})
	check("web-2", Write{Plugin: "old", Verb: "update", ResourceVersion: "3", Key: "default/web",
		Writes: []string{"create " + sets, "update " + sets}, Result: "ok"})
	check("api-1", Write{Plugin: "next", Verb: "update", Subresource: "status", ResourceVersion: "2", Key: "default/api",
		Writes: []string{"update " + sets + "/status"}, Result: "error", SyncError: "conflict"})

	again := next.Begin(web, time.Now())
	r.Wrote(web, effects.Write{Verb: "delete", Resource: sets, Namespace: "default", Name: "web-1"})
	again.End("ok", nil)
	check("web-1", Write{Plugin: "next", Verb: "delete", Key: "default/web", Writes: []string{"delete " + sets},
		Result: "ok"})

	all := next.Begin(web, time.Now())
	r.Wrote(web, effects.Write{Verb: "deletecollection", Resource: sets, Namespace: "default"})
	all.End("ok", nil)
	if got, ok := r.LastWrite(sets, "default", "web-2"); !ok || got.Verb != "deletecollection" {
		t.Errorf("after the collection was deleted: %+v", got)
	}
	if got, ok := r.LastWrite(sets, "other", "web-2"); ok {
		t.Errorf("in another namespace: %+v", got)
	}
}

// A recorded sync has what was written and which events there were, in order, in the ring and in a file; an event is no
// write to what it is about.
func TestSyncTellsItsWrites(t *testing.T) {
	r := NewRing("c", 0)
	recorder, key := r.Recorder(testSource("p")), abi.KeyRef{Namespace: "shop", Name: "web"}
	rec := recorder.Begin(key, time.Now())
	rec.Request([]byte{})
	r.Wrote(key, effects.Write{Verb: effects.EventVerb, Resource: "apps/v1/replicasets", Namespace: "shop", Name: "web"})
	r.Wrote(key, effects.Write{Verb: "update", Resource: "apps/v1/replicasets", Subresource: "status", Namespace: "shop",
		Name: "web"})
	r.Wrote(key, effects.Write{Verb: "deletecollection", Resource: "v1/pods", Namespace: "shop"})
	rec.End("ok", nil)
	recorder.Begin(key, time.Now()).End("ok", nil)

	file, err := Parse(encoded(t, r.File()))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"event on apps/v1/replicasets shop/web", "update apps/v1/replicasets/status shop/web",
		"deletecollection v1/pods shop/"}
	if d := cmp.Diff(want, file.Syncs[0].Wrote); d != "" {
		t.Error(d)
	}
	if len(file.Syncs[1].Wrote) != 0 {
		t.Errorf("a sync that wrote nothing says %v", file.Syncs[1].Wrote)
	}
	if w, _ := r.LastWrite("apps/v1/replicasets", "shop", "web"); w.Verb != "update" {
		t.Errorf("the last write is %+v", w)
	}

	rec = recorder.Begin(key, time.Now())
	for range wroteMost + 2 {
		r.Wrote(key, effects.Write{Verb: "delete", Resource: "v1/pods", Namespace: "shop", Name: "web"})
	}
	rec.End("ok", nil)
	if all := r.File().Syncs[2].Wrote; len(all) != wroteMost+1 || all[wroteMost] != "2 more" {
		t.Errorf("%d writes are told, %q the last", len(all), all[len(all)-1])
	}
}

func TestWritesAreBounded(t *testing.T) {
	r := NewRing("c", -1)
	for i := range writesMost + 100 {
		r.Wrote(abi.KeyRef{}, effects.Write{Resource: "v1/pods", Name: fmt.Sprint(i)})
		r.Wrote(abi.KeyRef{}, effects.Write{Resource: "v1/pods", Name: "0"})
	}
	if n := len(r.writes.byObject); n != writesMost || r.writes.order.Len() != n {
		t.Errorf("%d objects, %d in the list", n, r.writes.order.Len())
	}
	for name, want := range map[string]bool{"0": true, "1": false, "100": false, "101": true} {
		if _, ok := r.LastWrite("v1/pods", "", name); ok != want {
			t.Errorf("%s is remembered: %v", name, ok)
		}
	}
}

// What is remembered of many writes is modest: every controller remembers as many.
func TestWritesAreSmall(t *testing.T) {
	r := NewRing("replicaset-controller", -1)
	recorder := r.Recorder(testSource("p"))
	write := func(i int) effects.Write {
		return effects.Write{Verb: "create", Resource: "v1/pods", Namespace: "default",
			Name: fmt.Sprintf("web-5d4f8b7c6d-%05d", i), UID: fmt.Sprintf("8a1f4a9e-5d2b-4b8e-9a53-%012d", i),
			ResourceVersion: fmt.Sprint(100000 + i)}
	}

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 100 {
		key := abi.KeyRef{Namespace: "default", Name: fmt.Sprint("web-", i)}
		rec := recorder.Begin(key, time.Now())
		for j := range writesMost / 100 {
			r.Wrote(key, write(i*100+j))
		}
		rec.End("ok", nil)
	}

	runtime.GC()
	runtime.ReadMemStats(&after)
	n := len(r.writes.byObject)
	if each := int(after.HeapAlloc-before.HeapAlloc) / n; each > 800 {
		t.Errorf("%d bytes for each of %d writes", each, n)
	} else {
		t.Logf("%d bytes for each of %d writes", each, n)
	}
	runtime.KeepAlive(r)
}
