package effects

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects/barrier"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/test/cluster"
)

// However many requests are lost on their way and answers on theirs, each effect happens exactly once and ends well.
func TestOnClusterLostRequestsAndAnswers(t *testing.T) {
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, nil)
	ctx := t.Context()
	owner, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(ctx, configMap("owner", "1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	owned := func(name string) *corev1.ConfigMap {
		c := configMap(name, "1")
		if name == "" {
			c.GenerateName = "made-"
		}
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID,
			Controller: &yes}}
		return c
	}
	for _, c := range []struct {
		name          string
		before, after int
		status        []int
	}{
		{"requests lost", 2, 0, nil},
		{"answers lost", 0, 1, nil},
		{"both lost", 1, 2, nil},
		{"gateway errors", 0, 1, []int{502, 503, 504, 500}},
		{"throttled", 0, 0, []int{429, 429}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func(outer *testing.T) { w.t = outer }(w.t)
			w.t = t
			lose := func() { w.proxy.loseRequests(c.before, c.after, c.status...) }
			count := func() int { return len(w.configMaps()) }
			start := count()

			lose()
			out := w.requireOK(w.beginSession().Perform(ctx, []abi.Effect{*w.create(owned(""))}))
			generated := out[0].Name
			lose()
			w.requireOK(w.beginSession().Perform(ctx, []abi.Effect{*w.create(owned("named"))}))
			if n := count(); n != start+2 {
				t.Fatalf("%d objects instead of 2", n-start)
			}
			if want := 1 + c.before + c.after + len(c.status); w.proxy.requests() < 2 || w.proxy.requests() > want {
				t.Errorf("%d requests", w.proxy.requests())
			}

			o := w.cachedObject("v1/configmaps", "named")
			view := decodeProjected[*corev1.ConfigMap](w, o)
			view.Data["k"] = "2"
			lose()
			out = w.requireOK(w.beginSession(o).Perform(ctx, []abi.Effect{{Kind: abi.EffectUpdate, Resource: "v1/configmaps",
				Namespace: w.ns, Name: "named", Object: schematest.Marshal(t, view)}}))
			got, err := w.kube.CoreV1().ConfigMaps(w.ns).Get(ctx, "named", metav1.GetOptions{})
			if err != nil || got.Data["k"] != "2" || got.ResourceVersion != out[0].Object.ResourceVersion {
				t.Fatalf("%v %v %v", got, out, err)
			}

			lose()
			w.requireOK(w.beginSession(w.cachedObject("v1/configmaps", "named"),
				w.cachedObject("v1/configmaps", generated)).Perform(ctx, []abi.Effect{
				{Kind: abi.EffectDelete, Resource: "v1/configmaps", Namespace: w.ns, Name: "named"},
				{Kind: abi.EffectDelete, Resource: "v1/configmaps", Namespace: w.ns, Name: generated},
			}))
			if n := count(); n != start {
				t.Errorf("%d objects left", n-start)
			}
			// Every write told the server how long it may take.
			w.proxy.mu.Lock()
			defer w.proxy.mu.Unlock()
			for _, r := range w.proxy.seen {
				if r.URL.Query().Get("timeout") != "34s" {
					t.Errorf("%s %s without timeout", r.Method, r.URL)
				}
			}
		})
	}
}

// A create that is repeated is the same bytes each time; an object of another owner under the name isn't taken for
// ours.
func TestOnClusterRepeatIsIdentical(t *testing.T) {
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, nil)
	w.proxy.loseRequests(2, 1)
	w.requireOK(w.beginSession().Perform(t.Context(),
		[]abi.Effect{*w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}})}))
	w.proxy.mu.Lock()
	bodies := append([]string(nil), w.proxy.bodies...)
	w.proxy.mu.Unlock()
	if len(bodies) != 4 {
		t.Fatalf("%d requests", len(bodies))
	}

	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("%q isn't %q", b, bodies[0])
		}
	}

	// Somebody made the object before the lost request was repeated.
	if _, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(t.Context(), configMap("taken", "theirs"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	w.proxy.loseRequests(1, 0)
	yes := true
	mine := configMap("taken", "mine")
	mine.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "1-2-3",
		Controller: &yes}}
	out, err := w.beginSession().Perform(t.Context(), []abi.Effect{*w.create(mine)})
	if err != nil || out[0].Reason != "AlreadyExists" {
		t.Errorf("%+v %v", out, err)
	}
}

// A generated name that is taken is made anew; the write ends with its context; nothing is sent without the lease.
func TestOnClusterBounds(t *testing.T) {
	held := atomic.Bool{}
	held.Store(true)
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, func(o *Options) {
		o.Lease = func(context.Context) (time.Duration, error) {
			if !held.Load() {
				return 0, errors.New("the lease is another's")
			}
			return 7 * time.Second, nil
		}
	})

	w.proxy.loseRequests(1000, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for w.proxy.requests() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()

	s := w.beginSession()
	out, _ := s.Perform(ctx, []abi.Effect{*w.create(configMap("a", "1"))})
	if out[0].Code != abi.CodeFailed || out[0].Reason != "Canceled" || s.Writes() == 0 ||
		!strings.Contains(out[0].Message, "whether it was done is not known") {
		t.Errorf("%+v", out[0])
	}

	w.proxy.mu.Lock()
	if q := w.proxy.seen[0].URL.Query().Get("timeout"); q != "7s" {
		t.Errorf("timeout=%s", q)
	}

	w.proxy.mu.Unlock()
	w.proxy.loseRequests(0, 0)
	held.Store(false)
	out, _ = w.beginSession().Perform(t.Context(), []abi.Effect{*w.create(configMap("a", "1"))})
	if w.proxy.requests() != 0 || !strings.Contains(out[0].Message, "lease") {
		t.Errorf("%d requests without the lease: %+v", w.proxy.requests(), out)
	}

	held.Store(true)
	w.proxy.Server.Close()
	out, _ = w.beginSession().Perform(t.Context(), []abi.Effect{*w.create(configMap("a", "1"))})
	if out[0].Code != abi.CodeFailed || !strings.Contains(out[0].Message, "refused") {
		t.Errorf("no server: %+v", out)
	}
}

// An event that finds the lease lost is dropped, and holds up none that comes later.
func TestOnClusterEventsWithoutLease(t *testing.T) {
	held := atomic.Bool{}
	asked := make(chan bool, 10)
	w := newWorld(t, abi.Controller{EventSource: "test-component"}, func(o *Options) {
		o.Lease = func(context.Context) (time.Duration, error) {
			now := held.Load() // once: it changes as soon as it is known that the lease was asked for
			asked <- now
			if !now {
				return 0, errors.New("the lease is another's")
			}
			return 7 * time.Second, nil
		}
	})

	tell := func(name string) {
		w.performOK(abi.Effect{Kind: abi.EffectEvent, Resource: "v1/configmaps", Namespace: w.ns, Name: name,
			Event: &abi.EventData{Type: "Normal", Reason: "Tested", Message: "told"}})
	}

	tell("without")
	cluster.Eventually(t, time.Minute, "the lease is asked for", func() (bool, any) { return len(asked) == 1, len(asked) })
	<-asked
	held.Store(true)
	tell("with")
	cluster.Eventually(t, time.Minute, "the second event alone is there", func() (bool, any) {
		l, err := w.kube.CoreV1().Events(w.ns).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(l.Items) == 1 && l.Items[0].InvolvedObject.Name == "with", fmt.Sprint(l, err)
	})
	if len(asked) != 1 {
		t.Errorf("the lease was asked for %d times more, want once", len(asked))
	}
}

// parkKey parks the key and returns a channel that is closed when it is woken.
func (w *world) parkKey() chan struct{} {
	woken := make(chan struct{})
	w.writer.Park(abi.KeyRef{Namespace: w.ns, Name: "key"}, func() { close(woken) })
	return woken
}

func isOpen(c chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

// A key is ready when the store shows its writes: by version, by a UID's end, by another object after a conflict.
func TestOnClusterBarrier(t *testing.T) {
	w := newWorld(t, abi.Controller{Views: []abi.View{{Name: "maps", Resource: configMaps,
		Fields: []string{"metadata", "data"}}}, Writes: allowAll(configMaps)}, nil)
	ctx := t.Context()
	key := abi.KeyRef{Namespace: w.ns, Name: "key"}
	store := &testStore{}
	w.stores["v1/configmaps"] = store
	c, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(ctx, configMap("first", "1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old := w.cachedObject("v1/configmaps", "first")
	store.set(c.ResourceVersion, old)
	if !w.writer.Ready(key) {
		t.Fatal("a key that wrote nothing isn't ready")
	}

	// A write.
	out := w.requireOK(w.beginSession().Perform(ctx, []abi.Effect{*w.create(configMap("second", "1"))}))
	if w.writer.Ready(key) {
		t.Fatal("ready before the store has the create")
	}
	if other := (abi.KeyRef{Namespace: w.ns, Name: "other"}); !w.writer.Ready(other) {
		t.Error("another key waits, too")
	}
	woken := w.parkKey()
	w.writer.Progress(podsR)
	w.writer.Progress(configMaps)
	if !isOpen(woken) {
		t.Fatal("woken too early")
	}
	second := w.cachedObject("v1/configmaps", "second")
	store.set(out[0].Object.ResourceVersion, old, second)
	w.writer.Progress(configMaps)
	if isOpen(woken) || !w.writer.Ready(key) {
		t.Fatal("not woken when the store had the create")
	}
	if !w.writer.Own(cache.Event{New: second}) || w.writer.Own(cache.Event{New: old}) {
		t.Error("own writes aren't known, or foreign ones are")
	}

	// A delete whose answer has no version: by UID.
	w.requireOK(w.beginSession(second).Perform(ctx, []abi.Effect{{Kind: abi.EffectDelete, Resource: "v1/configmaps",
		Namespace: w.ns, Name: "second"}}))
	store.set("999999999", old, second)
	if w.writer.Ready(key) {
		t.Error("ready while the store has the deleted object")
	}
	woken = w.parkKey()
	next := *second
	next.UID = "another"
	store.set("999999999", old, &next)
	w.writer.Progress(configMaps)
	if isOpen(woken) {
		t.Error("not woken when another object took the name")
	}

	// A conflict: the store's object must become another one, but for a second at most.
	view := decodeProjected[*corev1.ConfigMap](w, old)
	view.Data["k"] = "2"
	if _, err := w.kube.CoreV1().ConfigMaps(w.ns).Update(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}, Data: map[string]string{"k": "3"}},
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	update := []abi.Effect{{Kind: abi.EffectUpdate, Resource: "v1/configmaps", Namespace: w.ns, Name: "first",
		Object: schematest.Marshal(t, view)}}
	store.set(c.ResourceVersion, old)
	outcomes, err := w.beginSession(old).Perform(ctx, update)
	if err != nil || outcomes[0].Reason != "Conflict" || w.writer.Ready(key) {
		t.Fatalf("%+v, ready %v", outcomes, w.writer.Ready(key))
	}
	woken = w.parkKey()
	store.set(c.ResourceVersion, w.cachedObject("v1/configmaps", "first"))
	w.writer.Progress(configMaps)
	if isOpen(woken) {
		t.Error("not woken when the conflicting version came")
	}
	store.set(c.ResourceVersion, old)
	if _, err := w.beginSession(old).Perform(ctx, update); err != nil || w.writer.Ready(key) {
		t.Fatal("ready after a second conflict")
	}
	start := time.Now()
	<-w.parkKey()
	if d := time.Since(start); d < 500*time.Millisecond || d > cluster.Patience {
		t.Errorf("waited %v for a cache that doesn't move", d)
	}

	// A store that goes back in time.
	w.requireOK(w.beginSession().Perform(ctx, []abi.Effect{*w.create(configMap("third", "1"))}))
	store.set("5", old)
	woken = w.parkKey()
	store.set("3", old)
	w.writer.Progress(configMaps)
	if isOpen(woken) {
		t.Error("still waiting for a version of a cluster that was restored")
	}

	// A resource that the controller doesn't read, or that nothing watches: nothing to wait for.
	w.stores["v1/pods"] = store
	w.writer.wait.Written(key, podsR, "999999999999")
	if !w.writer.Ready(key) {
		t.Error("waits for a resource that the controller doesn't read")
	}
	w.requireOK(w.beginSession().Perform(ctx, []abi.Effect{*w.create(configMap("fourth", "1"))}))
	delete(w.stores, "v1/configmaps")
	if !w.writer.Ready(key) {
		t.Error("waits for a resource that nothing watches")
	}
}

// The update that takes a deleting object's last finalizer is waited for by UID: its answer has the version from before
// the deletion.
func TestOnClusterLastFinalizer(t *testing.T) {
	w := newWorld(t, abi.Controller{Views: []abi.View{{Name: "maps", Resource: configMaps,
		Fields: []string{"metadata", "data"}}}, Writes: allowAll(configMaps)},
		func(o *Options) { o.LiveCheck = 50 * time.Millisecond })
	ctx := t.Context()
	key := abi.KeyRef{Namespace: w.ns, Name: "key"}
	held := configMap("held", "1")
	held.Finalizers = []string{"test/f"}
	if _, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(ctx, held, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	store := &testStore{}
	w.stores["v1/configmaps"] = store
	o := w.cachedObject("v1/configmaps", "held")
	store.set(o.ResourceVersion, o)

	// The delete answers with the object: its version is enough.
	s := w.beginSession(o)
	out := w.requireOK(s.Perform(ctx, []abi.Effect{{Kind: abi.EffectDelete, Resource: "v1/configmaps", Namespace: w.ns,
		Name: "held"}}))
	if w.writer.Ready(key) {
		t.Error("ready before the store shows the deletion")
	}
	o = w.cachedObject("v1/configmaps", "held")
	store.set(o.ResourceVersion, o)
	if !w.writer.Ready(key) {
		t.Errorf("not ready though the object is being deleted: %+v", out)
	}
	view := decodeProjected[*corev1.ConfigMap](w, o)
	view.Finalizers = nil
	w.requireOK(w.beginSession(o).Perform(ctx, []abi.Effect{{Kind: abi.EffectUpdate, Resource: "v1/configmaps",
		Namespace: w.ns, Name: "held", Object: schematest.Marshal(t, view)}}))
	if len(w.configMaps()) != 0 {
		t.Fatal("it still exists")
	}
	store.set("999999999", o)
	if w.writer.Ready(key) {
		t.Error("ready while the store has the removed object")
	}
	// The comparison with the server doesn't release what is truly gone.
	woken := w.parkKey()
	var shown atomic.Bool
	time.AfterFunc(200*time.Millisecond,
		func() { shown.Store(true); store.set("999999999"); w.writer.Progress(configMaps) })
	<-woken
	if !shown.Load() {
		t.Error("released before the store showed the removal")
	}
}

// What a delete leaves, for it has a finalizer, can be patched in the same sync: a job deletes its pods, notes them in
// its status and then lets them go.
func TestOnClusterPatchAfterDelete(t *testing.T) {
	w := newWorld(t, abi.Controller{Views: []abi.View{{Name: "maps", Resource: configMaps,
		Fields: []string{"metadata.finalizers"}}}, Writes: allowAll(configMaps)}, nil)
	ctx := t.Context()
	held := configMap("held", "1")
	held.Finalizers = []string{"test/f"}
	if _, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(ctx, held, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	o := w.cachedObject("v1/configmaps", "held")
	s := w.beginSession(o)
	remove := abi.Effect{Kind: abi.EffectDelete, Resource: "v1/configmaps", Namespace: w.ns, Name: "held",
		UID: string(o.UID), Version: o.ResourceVersion}
	patch := remove
	patch.Kind, patch.Patch, patch.Precondition = abi.EffectPatch, abi.StrategicPatch, abi.PreconditionUID
	patch.Object = []byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["test/f"]}}`)
	w.requireOK(s.Perform(ctx, []abi.Effect{remove}))
	w.requireOK(s.Perform(ctx, []abi.Effect{patch}))
	if len(w.configMaps()) != 0 {
		t.Error("it still exists")
	}

	// What is gone is not found, as the server would say: who tolerates that isn't told of an error.
	if out, _ := s.Perform(ctx, []abi.Effect{patch}); out[0].Reason != string(metav1.StatusReasonNotFound) {
		t.Errorf("a patch of what is gone: %+v", out[0])
	}
	patch.Tolerate = abi.TolerateNotFound
	w.requireOK(s.Perform(ctx, []abi.Effect{patch}))
}

// A wait that can't end is found out by asking the server.
func TestOnClusterLiveCheck(t *testing.T) {
	w := newWorld(t, abi.Controller{Views: []abi.View{{Name: "maps", Resource: configMaps,
		Fields: []string{"metadata", "data"}}}, Writes: allowAll(configMaps)},
		func(o *Options) { o.LiveCheck = 50 * time.Millisecond })
	key := abi.KeyRef{Namespace: w.ns, Name: "key"}
	store := &testStore{}
	w.stores["v1/configmaps"] = store
	store.set("1")
	w.writer.wait.Written(key, configMaps, "999999999999")
	<-w.parkKey()
	c, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(t.Context(), configMap("lives", "1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store.set("1", w.cachedObject("v1/configmaps", "lives"))
	w.writer.wait.Removed(key, barrier.Gone{Resource: configMaps, Namespace: w.ns, Name: "lives", UID: string(c.UID)})
	<-w.parkKey()
	if !w.writer.Ready(key) {
		t.Error("parked keys aren't ready when they are woken")
	}
}
