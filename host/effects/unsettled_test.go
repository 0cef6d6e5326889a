package effects

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/test/cluster"
)

var secrets = abi.Resource{Version: "v1", Name: "secrets"}

// unsettledWorld is a world whose syncs send nothing again, with a cache of config maps that shows nothing yet.
func unsettledWorld(t *testing.T) (*world, *testStore) {
	w := newWorld(t, abi.Controller{Views: []abi.View{{Name: "maps", Resource: configMaps,
		Fields: []string{"metadata", "data"}}}, Writes: append(allowAll(configMaps), allowAll(secrets)...)},
		func(o *Options) { o.Again, o.Timeout = time.Nanosecond, 5*time.Second })
	store := &testStore{}
	w.stores["v1/configmaps"] = store
	store.set("1")
	return w, store
}

func ownedMap(prefix, value string) *corev1.ConfigMap {
	c := configMap("", value)
	yes := true
	c.GenerateName = prefix
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner",
		UID: "11111111-1111-1111-1111-000000000001", Controller: &yes}}
	return c
}

// perform does one effect in a sync of its own, and returns the outcome's reason.
func (w *world) perform(e abi.Effect) string {
	w.t.Helper()
	w.writer.Settle(abi.KeyRef{Namespace: w.ns, Name: "key"})
	outcomes, err := w.beginSession().Perform(w.t.Context(), []abi.Effect{e})
	if err != nil {
		w.t.Fatal(err)
	}
	return outcomes[0].Reason
}

// A create whose answers are lost ends its sync, and the next sync's create takes the name that may exist: however
// often that happens, and whichever version of the plugin does it, there is one object. Refusals settle nothing.
func TestOnClusterUnsettledCreate(t *testing.T) {
	w, store := unsettledWorld(t)
	key := abi.KeyRef{Namespace: w.ns, Name: "key"}
	create := *w.create(ownedMap("made-", "1"))

	w.proxy.loseRequests(0, 1)
	if reason := w.perform(create); reason != "Unavailable" {
		t.Fatalf("a lost answer: %q", reason)
	}
	if n := w.proxy.requests(); n != 1 {
		t.Errorf("%d requests though nothing is to be sent again", n)
	}
	if got := w.writer.Unsettled(key); len(got) != 1 || len(w.configMaps()) != 1 {
		t.Fatalf("unsettled: %q, of %d objects", got, len(w.configMaps()))
	}

	// Another name isn't chosen, fixed or made here; what is of another resource goes on.
	if reason := w.perform(abi.Effect{Kind: abi.EffectCreate, Resource: "v1/secrets", Namespace: w.ns,
		Object: schematest.Marshal(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}})}); reason != "" {
		t.Errorf("another resource: %q", reason)
	}
	if n := w.proxy.requests(); n != 2 { // nor is what this sync didn't ask for
		t.Errorf("%d requests, want the lost create and the other resource's", n)
	}
	if reason := w.perform(*w.create(ownedMap("other-", "1"))); reason != "Unsettled" {
		t.Errorf("another name: %q", reason)
	}
	if reason := w.perform(*w.create(configMap("fixed", "1"))); reason != "Unsettled" {
		t.Errorf("a fixed name: %q", reason)
	}

	// The next version repeats it, and is refused before the name that exists is found; then it isn't.
	next, err := New(func() Options { o := w.writer.Options; o.After = w.writer; return o }())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Close)
	next.Lead()
	w.writer = next
	w.proxy.loseRequests(0, 0, 400)
	if reason := w.perform(create); reason != string(metav1.StatusReasonBadRequest) {
		t.Errorf("refused: %q", reason)
	}
	next.Anew()
	if got := next.Unsettled(key); len(got) != 1 {
		t.Fatalf("a refusal or another term has settled it: %q", got)
	}
	if reason := w.perform(create); reason != "" {
		t.Errorf("repeated: %q", reason)
	}
	if got := next.Unsettled(key); len(got) != 0 || len(w.configMaps()) != 1 {
		t.Errorf("still unsettled: %q, of %d objects", got, len(w.configMaps()))
	}

	// The cache shows one that was lost: the next one is another.
	w.proxy.loseRequests(0, 1)
	if reason := w.perform(create); reason != "Unavailable" {
		t.Fatalf("a lost answer: %q", reason)
	}
	for _, c := range w.configMaps() {
		o := w.cachedObject("v1/configmaps", c.Name)
		store.set(o.ResourceVersion, o)
		w.writer.Settle(key)
	}
	if got := next.Unsettled(key); len(got) != 0 {
		t.Errorf("the cache shows it: %q", got)
	}
	if reason := w.perform(create); reason != "" || len(w.configMaps()) != 3 {
		t.Errorf("one more: %q, of %d objects", reason, len(w.configMaps()))
	}
}

// What is made of something else isn't taken for what an earlier sync has made under the name.
func TestOnClusterUnsettledCreateOfAnother(t *testing.T) {
	w, _ := unsettledWorld(t)
	w.proxy.loseRequests(0, 1)
	w.perform(*w.create(ownedMap("made-", "node a")))
	if reason := w.perform(*w.create(ownedMap("made-", "node b"))); reason != string(metav1.StatusReasonAlreadyExists) {
		t.Errorf("of another node: %q", reason)
	}
	if n := len(w.configMaps()); n != 1 {
		t.Errorf("%d objects", n)
	}
}

// While it isn't known whether an object was deleted, no other is; a read after the request's time settles it, though
// nobody asks.
func TestOnClusterUnsettledDelete(t *testing.T) {
	w, store := unsettledWorld(t)
	key := abi.KeyRef{Namespace: w.ns, Name: "key"}
	for _, name := range []string{"a", "b"} {
		if reason := w.perform(*w.create(configMap(name, "1"))); reason != "" {
			t.Fatal(reason)
		}
	}
	a, b := w.cachedObject("v1/configmaps", "a"), w.cachedObject("v1/configmaps", "b")
	store.set(b.ResourceVersion, a, b)
	remove := func(name string) string {
		w.writer.Settle(key)
		outcomes, err := w.beginSession(a, b).Perform(t.Context(), []abi.Effect{{Kind: abi.EffectDelete,
			Resource: "v1/configmaps", Namespace: w.ns, Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		return outcomes[0].Reason
	}

	w.proxy.loseRequests(1, 0)
	if reason := remove("a"); reason != "Unavailable" {
		t.Fatalf("a lost request: %q", reason)
	}
	if reason := remove("b"); reason != "Unsettled" || len(w.configMaps()) != 2 {
		t.Errorf("another victim: %q", reason)
	}
	cluster.Eventually(t, time.Minute, "a read settles it", func() (bool, any) {
		got := w.writer.Unsettled(key)
		return len(got) == 0, got
	})
	if reason := remove("b"); reason != "" {
		t.Errorf("afterwards: %q", reason)
	}

	store.set(b.ResourceVersion, a)
	w.proxy.loseRequests(0, 1)
	remove("a")
	if got := w.writer.Unsettled(key); len(got) != 1 {
		t.Errorf("unsettled: %q", got)
	}
	if reason := remove("a"); reason != "" || len(w.configMaps()) != 0 || len(w.writer.Unsettled(key)) != 0 {
		t.Errorf("the same victim: %q %v", reason, fmt.Sprint(w.writer.Unsettled(key)))
	}
}
