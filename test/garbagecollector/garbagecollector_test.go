package garbagecollector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

var controllers = []string{"garbage-collector-controller"}

const account = "system:serviceaccount:kube-system:generic-garbage-collector"

// Whoever collects the garbage, the same objects go, the same stay, with the same owners and finalizers.
func TestAgreesWithNative(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Audit: true})
	newWorld(t, c, "definitions").define(t.Context())

	ours := newWorld(t, c, "windlass")
	m := windlass.Start(t, c, windlass.Options{Controllers: controllers})
	got := live(ours)
	windlass.ExpectRoles(t, c)
	m.Stop(t)

	theirs := newWorld(t, c, "native")
	stop := c.Native(t, controllers)
	want := live(theirs)
	stop()
	for i := range want {
		if d := gocmp.Diff(want[i], got[i]); d != "" {
			t.Errorf("after act %d other objects are there than with the native manager (-native +windlass):\n%s", i, d)
		}
	}
	if reason := invalid(ours); reason != invalid(theirs) {
		t.Errorf("the event on an owner in another namespace is %q, the native manager's %q", reason, invalid(theirs))
	}
}

// live has things happen in a world and gives what there is after each act.
func live(w *world) (acts []map[string]string) {
	all := []schema.GroupVersionResource{configMaps, roles, widgets}
	done := func() { acts = append(acts, w.look(all...)) }
	stays := w.config("stays")

	w.t.Log("in the background")
	owner := w.config("owner")
	for i := range 3 {
		child := w.config(fmt.Sprint("child-", i), ref(owner, true))
		w.create(widgets, fmt.Sprint("grandchild-", i), ref(child, false))
	}
	w.delete(configMaps, "owner", metav1.DeletePropagationBackground)
	w.become("all descendants go", all, "ConfigMap stays")
	done()

	w.t.Log("custom resources own, too")
	owner = w.create(widgets, "owner")
	w.config("child", ref(owner, false))
	w.delete(widgets, "owner", metav1.DeletePropagationBackground)
	w.become("its child goes", all, "ConfigMap stays")

	w.t.Log("in the foreground")
	owner = w.config("owner")
	w.create(widgets, "blocks", ref(owner, true))
	w.config("leaf", ref(owner, false))
	middle := w.config("middle", ref(owner, true))
	w.config("below", ref(middle, true))
	w.finalize(widgets, "blocks", "example.com/wait")
	w.delete(configMaps, "owner", metav1.DeletePropagationForeground)
	w.become("the owner waits for the one that blocks", all, "ConfigMap stays", "ConfigMap owner", "Widget blocks")
	done()
	w.finalize(widgets, "blocks")
	w.become("then it goes", all, "ConfigMap stays")

	w.t.Log("orphans")
	owner = w.config("owner")
	other := w.config("other")
	w.config("child-1", ref(owner, true))
	w.config("child-2", ref(other, true), ref(owner, true))
	w.create(widgets, "child-3", ref(owner, true))
	w.delete(configMaps, "owner", metav1.DeletePropagationOrphan)
	w.become("they stay", all, "ConfigMap stays", "ConfigMap other", "ConfigMap child-1", "ConfigMap child-2", "Widget child-3")
	done()
	w.delete(configMaps, "child-1", metav1.DeletePropagationBackground)
	w.delete(widgets, "child-3", metav1.DeletePropagationBackground)

	w.t.Log("one owner of two is gone")
	w.config("two", ref(other, false), ref(stays, false))
	w.create(widgets, "two", ref(other, false), ref(stays, false))
	w.delete(configMaps, "other", metav1.DeletePropagationBackground)
	w.become("who has another one stays", all, "ConfigMap stays", "ConfigMap two", "Widget two")
	windlass.Eventually(w.t, time.Minute, "the reference goes", func() (bool, string) {
		s := fmt.Sprint(w.look(all...))
		return !strings.Contains(s, "other"), s
	})
	done()
	w.delete(configMaps, "two", metav1.DeletePropagationBackground)
	w.delete(widgets, "two", metav1.DeletePropagationBackground)

	w.t.Log("references that lead nowhere")
	w.config("absent", with(ref(stays, true), "uid", "00000000-0000-4000-8000-000000000000"))
	w.config("b/elsewhere", ref(stays, true))
	w.config("misnamed", with(ref(stays, true), "name", "nobody"))
	w.config("unkind", with(ref(stays, true), "kind", "Nothing"))
	w.create(roles, "small", ref(stays, true)) // cluster-scoped, its owner isn't: nothing can be told
	big := w.create(roles, "big")
	w.config("of-big", ref(big, true))
	w.become("what certainly has no owner goes", all, "ConfigMap stays", "ConfigMap unkind", "ClusterRole small", "ClusterRole big", "ConfigMap of-big")
	done()
	w.delete(roles, "big", metav1.DeletePropagationBackground)
	w.become("the cluster-scoped owner's child goes", all, "ConfigMap stays", "ConfigMap unkind", "ClusterRole small")
	w.delete(roles, "small", metav1.DeletePropagationBackground)
	w.delete(configMaps, "unkind", metav1.DeletePropagationBackground)

	w.t.Log("two that own each other")
	one := w.config("one")
	two := w.config("two", ref(one, true))
	in, _ := w.where(configMaps, "one")
	w.must(in.Patch(w.t.Context(), "one", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"two","uid":%q,"blockOwnerDeletion":true}]}}`, two.GetUID()), metav1.PatchOptions{}))
	w.delete(configMaps, "one", metav1.DeletePropagationForeground)
	w.become("both go", all, "ConfigMap stays")
	done()
	return acts
}

// invalid gives the events on the child of an owner in another namespace.
func invalid(w *world) string {
	l, err := w.client.Resource(events).Namespace(w.namespace+"-b").List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, e := range l.Items {
		source, _ := e.Object["source"].(map[string]any)
		message, _ := e.Object["message"].(string)
		message, _, _ = strings.Cut(message, "uid:")
		all = append(all, fmt.Sprint(e.Object["type"], " ", e.Object["reason"], " ", source["component"], " ", strings.ReplaceAll(message, w.namespace, "")))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}

// A resource that appears while the collector runs is watched, one whose list fails blocks nobody, one that vanishes is forgotten.
func TestResourcesComeAndGo(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Audit: true})
	w := newWorld(t, c, "x")
	m := windlass.Start(t, c, windlass.Options{Controllers: controllers})
	all := []schema.GroupVersionResource{configMaps, widgets}
	w.define(t.Context())
	owner := w.config("owner")
	w.create(widgets, "child", ref(owner, false))
	w.delete(configMaps, "owner", metav1.DeletePropagationBackground)
	w.become("the custom resource goes with its owner", all)

	t.Log("the custom resource can't be listed any more")
	w.create(widgets, "stuck")
	m.Stop(t)
	w.must(w.client.Resource(crds).Patch(t.Context(), "widgets.example.com", types.MergePatchType, webhook(t), metav1.PatchOptions{}))
	windlass.Eventually(t, time.Minute, "the list fails", func() (bool, string) {
		_, err := w.client.Resource(widgets.GroupResource().WithVersion("v2")).Namespace("x").List(t.Context(), metav1.ListOptions{})
		return err != nil && strings.Contains(err.Error(), "conversion webhook"), fmt.Sprint(err)
	})
	m = windlass.Start(t, c, windlass.Options{Controllers: controllers})
	owner = w.config("owner")
	w.config("child", ref(owner, true))
	w.delete(configMaps, "owner", metav1.DeletePropagationForeground)
	w.become("the others are collected all the same", []schema.GroupVersionResource{configMaps})
	if n := m.Count(t, "garbagecollector_controller_resources_sync_error_total"); n != 1 {
		t.Errorf("%v resources could not be synced, expected one", n)
	}

	t.Log("the definition goes")
	w.must(w.client.Resource(crds).Patch(t.Context(), "widgets.example.com", types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`), metav1.PatchOptions{}))
	watched := func(want float64) func() (bool, string) {
		return func() (bool, string) {
			n := m.Count(t, "windlass_cache_synced", "resource", "example.com/v2/widgets")
			return n == want, fmt.Sprint(n)
		}
	}
	windlass.Eventually(t, time.Minute, "the custom resource can be listed again", watched(1))
	if err := w.client.Resource(crds).Delete(t.Context(), "widgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	windlass.Eventually(t, time.Minute, "it isn't watched any more", watched(0))
	windlass.ExpectRoles(t, c)
	m.Stop(t)
}

// webhook makes objects of the old version unreadable: nobody answers the conversion.
func webhook(t *testing.T) []byte {
	v1, v2 := version("v1", false), version("v2", true)
	b, err := json.Marshal(map[string]any{"spec": map[string]any{
		"versions":   []any{v1, v2},
		"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/convert"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
