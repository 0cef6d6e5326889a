package effects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

// An event is an echo only if nobody but this controller can have changed anything between what it tells of: an echo
// wakes no key, so what another has written must never be taken for one.
func TestOnClusterEchoes(t *testing.T) {
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, nil)
	maps := w.kube.CoreV1().ConfigMaps(w.ns)
	foreign := func(name, value string) {
		patch := []byte(`{"data":{"foreign":"` + value + `"}}`)
		if _, err := maps.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	patch := func(name string) abi.Effect {
		return abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch, Resource: "v1/configmaps", Namespace: w.ns,
			Name: name, Object: []byte(`{"data":{"k":"2"}}`)}
	}
	update := func(o *cache.Object) abi.Effect {
		view := decodeProjected[*corev1.ConfigMap](w, o)
		view.Data["k"] = "2"
		return abi.Effect{Kind: abi.EffectUpdate, Resource: "v1/configmaps", Namespace: w.ns, Name: o.Name,
			Object: schematest.Marshal(t, view)}
	}

	seen := func(name string) *cache.Object {
		if _, err := maps.Create(t.Context(), configMap(name, "1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return w.cachedObject("v1/configmaps", name)
	}
	expect := func(what string, old, now *cache.Object, want bool) {
		t.Helper()
		if got := w.writer.Own(cache.Event{Old: old, New: now}); got != want {
			t.Errorf("%s: an echo: %v", what, got)
		}
	}
	perform := func(e abi.Effect, cached ...*cache.Object) {
		t.Helper()
		w.requireOK(w.beginSession(cached...).Perform(t.Context(), []abi.Effect{e}))
	}

	perform(*w.create(configMap("new", "1")))
	made := w.cachedObject("v1/configmaps", "new")
	expect("a create", nil, made, true)
	perform(update(made), made)
	updated := w.cachedObject("v1/configmaps", "new")
	expect("an update", made, updated, true)
	expect("a list that shows create and update at once", nil, updated, false)
	foreign("new", "1")
	expect("another's update", updated, w.cachedObject("v1/configmaps", "new"), false)

	// What demands no version may meet another's change, or change nothing and be answered with another's version.
	old := seen("patched")
	foreign("patched", "1")
	between := w.cachedObject("v1/configmaps", "patched")
	perform(patch("patched"), old)
	patched := w.cachedObject("v1/configmaps", "patched")
	expect("a list that shows another's update and a patch at once", old, patched, false)
	foreign("patched", "2")
	last := w.cachedObject("v1/configmaps", "patched")
	perform(patch("patched"), between)
	expect("another's update, before a patch that changed nothing", patched, last, false)

	// Another changes the object while the answer is on its way; the write is found done in what that has left.
	old = seen("lost")
	w.proxy.loseRequests(0, 1)
	w.proxy.lost = func() { foreign("lost", "1") }
	perform(update(old), old)
	found := w.cachedObject("v1/configmaps", "lost")
	if n := w.proxy.requests(); n < 2 {
		t.Fatalf("%d requests: no answer was lost", n)
	}
	expect("another's update, after a lost answer", old, found, false)
	owned := configMap("", "1")
	owned.GenerateName, owned.OwnerReferences = "owned-", []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap",
		Name: "lost", UID: found.UID, Controller: new(true)}}
	w.proxy.loseRequests(0, 1)
	name := ""
	w.proxy.lost = func() {
		l, err := maps.List(t.Context(), metav1.ListOptions{})
		for i := range l.Items {
			if len(l.Items[i].OwnerReferences) > 0 {
				name = l.Items[i].Name
			}
		}
		if foreign(name, "1"); err != nil {
			t.Error(err)
		}
	}
	perform(*w.create(owned))
	expect("another's update, after a create's lost answer", nil, w.cachedObject("v1/configmaps", name), false)
}
