package effects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
)

// A write that could be done twice, or over what another has changed since, isn't sent again when its answer is lost:
// its sync ends, and the key looks again.
func TestOnClusterWhatIsNotSentAgain(t *testing.T) {
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, nil)
	maps := w.kube.CoreV1().ConfigMaps(w.ns)
	create := func(name string) *corev1.ConfigMap {
		o := configMap(name, "1")
		o.Finalizers = []string{"example.com/first"}
		o, err := maps.Create(t.Context(), o, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	get := func(name string) *corev1.ConfigMap {
		o, err := maps.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	perform := func(e abi.Effect, between func()) {
		t.Helper()
		w.proxy.loseRequests(0, 1)
		w.proxy.lost = between
		w.requireFailure(e, "Unavailable")
		if n := w.proxy.requests(); n != 1 {
			t.Errorf("%d requests", n)
		}
		w.writer.unsettled.clear() // what isn't known of one holds up the next
	}
	of := func(kind abi.EffectKind, name, body string) abi.Effect {
		return abi.Effect{Kind: kind, Resource: "v1/configmaps", Namespace: w.ns, Name: name, Object: []byte(body)}
	}

	for name, uid := range map[string]bool{"added": false, "added-by-uid": true} {
		o := create(name)
		e := of(abi.EffectPatch, name, `[{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/second"}]`)
		if e.Patch = abi.JSONPatch; uid {
			e.Precondition, e.UID = abi.PreconditionUID, string(o.UID)
		}
		perform(e, func() {})
		if all := get(name).Finalizers; len(all) != 2 {
			t.Errorf("%s: it was done twice: %v", name, all)
		}
	}

	create("changed")
	e := of(abi.EffectPatch, "changed", `{"data": {"k": "2"}}`)
	e.Patch = abi.MergePatch
	perform(e, func() {
		change := []byte(`{"data": {"k": "another's"}}`)
		if _, err := maps.Patch(t.Context(), "changed", types.MergePatchType, change, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	if k := get("changed").Data["k"]; k != "another's" {
		t.Errorf("another's change was changed back to %s", k)
	}

	perform(of(abi.EffectDeleteCollection, "", ""), func() { create("later") })
	if o := get("later"); o.DeletionTimestamp != nil {
		t.Error("what was made after a collection was deleted is deleted, too")
	}
}
