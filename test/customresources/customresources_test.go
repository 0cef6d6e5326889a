// Package customresources runs a controller of a custom resource, from its definition's first moment to its last.
package customresources

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/record/replay"
	"github.com/windlass-dev/windlass/sdk/plugintest"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/customresources/mirror"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
)

const (
	namespace  = "default"
	controller = "mirror-controller"
	finalizer  = "example.com/mirror"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	mirrors         = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "mirrors"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	events          = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// buildPlugin compiles a plugin of that name, and returns the folder that its module is in.
func buildPlugin(t *testing.T, name, plugin string) string {
	t.Helper()
	folder := t.TempDir()
	module.Build(t, filepath.Join(folder, name+".wasm"), plugin)
	return folder
}

type world struct {
	t      *testing.T
	client dynamic.Interface
	folder string // of the module
	m      *windlass.Manager
}

func newWorld(t *testing.T) *world {
	return beginWorld(t, "mirror", "test/customresources/mirror/module")
}

// beginWorld has a plugin of that name run, whose controller is called so, too.
func beginWorld(t *testing.T, name, plugin string) *world {
	folder := buildPlugin(t, name, plugin)
	c := cluster.Start(t, cluster.Options{})
	client, err := dynamic.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, client: client, folder: folder}
	controllers := []string{name + "-controller", "garbage-collector-controller"}
	w.m = windlass.Begin(t, c, windlass.Options{Controllers: controllers,
		Configure: func(k *config.Configuration) {
			k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
			k.PluginFolder = folder
		}})
	return w
}

func (w *world) must(o *unstructured.Unstructured, err error) *unstructured.Unstructured {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// defineMirrors makes the custom resource, and waits until it is served. Its status must say how many friends there
// are, even if there is none.
func (w *world) defineMirrors() {
	w.t.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	status := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true,
		"required": []any{"friends"}, "properties": map[string]any{"friends": map[string]any{"type": "integer"}}}
	w.must(w.client.Resource(definitions).Create(w.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "mirrors.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "mirrors", "singular": "mirror",
				"kind": "Mirror", "listKind": "Mirrors"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
					"properties": map[string]any{"spec": open, "status": status}}},
			}},
		},
	}}, metav1.CreateOptions{}))
	w.eventually("the resource is served", func() (bool, string) {
		_, err := w.client.Resource(mirrors).List(w.t.Context(), metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

func (w *world) eventually(what string, f func() (bool, string)) {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, what, f)
}

func (w *world) createMirror(name string, spec map[string]any) {
	w.t.Helper()
	w.must(w.client.Resource(mirrors).Namespace(namespace).Create(w.t.Context(),
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Mirror", "metadata": map[string]any{"name": name,
				"labels": map[string]any{"kept": "yes"}}, "spec": spec,
		}}, metav1.CreateOptions{}))
}

func (w *world) patchObject(r schema.GroupVersionResource, name string, patch any, subresources ...string) {
	w.t.Helper()
	b, err := json.Marshal(patch)
	if err != nil {
		w.t.Fatal(err)
	}
	w.must(w.client.Resource(r).Namespace(namespace).Patch(w.t.Context(), name, types.MergePatchType, b,
		metav1.PatchOptions{}, subresources...))
}

// awaitStatus waits until a Mirror's status has a value, and returns the Mirror.
func (w *world) awaitStatus(name, field string, want any) (o *unstructured.Unstructured) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s shows %s %v", name, field, want), func() (bool, string) {
		var err error
		if o, err = w.client.Resource(mirrors).Namespace(namespace).Get(w.t.Context(), name,
			metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		got, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", field)
		return got == want, fmt.Sprint(o.Object["status"])
	})
	return o
}

// awaitMessage waits until a config map has the message.
func (w *world) awaitMessage(name, message string) (o *unstructured.Unstructured) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("config map %s has %q", name, message), func() (bool, string) {
		var err error
		if o, err = w.client.Resource(configMaps).Namespace(namespace).Get(w.t.Context(), name,
			metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		got, _, _ := unstructured.NestedString(o.Object, "data", "message")
		return got == message, got
	})
	return o
}

func (w *world) awaitGone(r schema.GroupVersionResource, name string) {
	w.t.Helper()
	w.eventually(name+" is gone", func() (bool, string) {
		_, err := w.client.Resource(r).Namespace(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

func (w *world) syncCount() float64 {
	return w.m.Count(w.t, "windlass_syncs_total", "controller", controller)
}

// controllerState returns what the manager says of the controller.
func (w *world) controllerState() string {
	w.t.Helper()
	for _, c := range w.m.Status(w.t).Controllers {
		if c.Name == controller {
			return c.State + ": " + c.Message
		}
	}
	return "nothing"
}

func TestGolden(t *testing.T) { plugintest.Golden(t, mirror.Plugin, "testdata") }

func TestACustomResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.eventually("the controller waits for its resource, and says so", func() (bool, string) {
		said := w.controllerState()
		return strings.HasPrefix(said, "Starting: ") && strings.Contains(said,
			"example.com/v1/mirrors can't be read: the server could not find the requested resource"), said
	})
	w.m.AwaitReady(t) // the process doesn't wait for what somebody may never define
	w.defineMirrors()
	w.m.AwaitReady(t)

	w.createMirror("a", map[string]any{"message": "hello", "other": map[string]any{"ratio": 1.5,
		"list": []any{"x", int64(1) << 60}}, "selector": map[string]any{"matchLabels": map[string]any{"friend": "yes"}}})
	o := w.awaitStatus("a", "copied", "hello")
	t.Run("a required zero is written", func(t *testing.T) {
		if n, found, _ := unstructured.NestedInt64(o.Object, "status", "friends"); n != 0 || !found {
			t.Error(o.Object["status"])
		}
	})
	child := w.awaitMessage("a", "hello")
	t.Run("what the plugin doesn't know stays", func(t *testing.T) {
		other, _, _ := unstructured.NestedMap(o.Object, "spec", "other")
		if got := fmt.Sprint(other); got != "map[list:[x 1152921504606846976] ratio:1.5]" || o.GetLabels()["kept"] != "yes" {
			t.Errorf("%s, %v", got, o.GetLabels())
		}
		if !slices.Equal(o.GetFinalizers(), []string{finalizer}) {
			t.Error(o.GetFinalizers())
		}
		w.patchObject(mirrors, "a", map[string]any{"status": map[string]any{"note": "by hand"}}, "status")
		w.patchObject(mirrors, "a", map[string]any{"spec": map[string]any{"message": "hi"}})
		o := w.awaitStatus("a", "copied", "hi")
		if got, _, _ := unstructured.NestedString(o.Object, "status", "note"); got != "by hand" {
			t.Errorf("the status was replaced: %v", o.Object["status"])
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		if len(conditions) != 1 || conditions[0].(map[string]any)["type"] != "Ready" {
			t.Error(conditions)
		}
	})
	t.Run("owner and event name the kind", func(t *testing.T) {
		if ref := metav1.GetControllerOf(child); ref == nil || ref.Kind != "Mirror" || ref.APIVersion != "example.com/v1" ||
			ref.UID != o.GetUID() {
			t.Error(ref)
		}
		w.eventually("an event", func() (bool, string) {
			l, err := w.client.Resource(events).Namespace(namespace).List(ctx,
				metav1.ListOptions{FieldSelector: "involvedObject.kind=Mirror,reason=Copied"})
			return err == nil && len(l.Items) > 0, fmt.Sprint(err)
		})
	})
	t.Run("children wake", func(t *testing.T) {
		w.patchObject(configMaps, "a", map[string]any{"data": map[string]any{"message": "wrong"}})
		w.awaitMessage("a", "hi")
		if err := w.client.Resource(configMaps).Namespace(namespace).Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.awaitMessage("a", "hi")
	})
	t.Run("a selector in the body selects", func(t *testing.T) {
		for _, label := range []string{"yes", "no"} {
			w.must(w.client.Resource(configMaps).Namespace(namespace).Create(ctx,
				&unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "friend-" + label,
						"labels": map[string]any{"friend": label}},
				}}, metav1.CreateOptions{}))
		}
		w.awaitStatus("a", "friends", int64(1))
		w.patchObject(mirrors, "a",
			map[string]any{"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"friend": "maybe"}}}})
		w.patchObject(configMaps, "friend-no",
			map[string]any{"metadata": map[string]any{"labels": map[string]any{"friend": "maybe"}}})
		w.patchObject(configMaps, "friend-yes",
			map[string]any{"metadata": map[string]any{"labels": map[string]any{"friend": "maybe"}}})
		w.awaitStatus("a", "friends", int64(2))
	})
	t.Run("what isn't read wakes nobody", func(t *testing.T) {
		w.waitForRest()
		before := w.syncCount()
		for i := range 20 {
			w.patchObject(mirrors, "a", map[string]any{"metadata": map[string]any{"labels": map[string]any{"n": fmt.Sprint(i)}}})
		}
		// The manager has heard of them when it has heard of what came after.
		w.createMirror("after", map[string]any{"message": "x"})
		w.awaitStatus("after", "copied", "x")
		w.waitForRest()
		o := w.awaitStatus("a", "copied", "hi")
		if o.GetLabels()["n"] != "19" {
			t.Fatal(o.GetLabels())
		}
		if n := w.syncCount() - before; n > ofNew {
			t.Errorf("%v syncs, of which at most %d are those of the new Mirror", n, ofNew)
		}
	})
	t.Run("a deleted Mirror's finalizer goes", func(t *testing.T) {
		if err := w.client.Resource(mirrors).Namespace(namespace).Delete(ctx, "after", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.awaitGone(mirrors, "after")
		w.awaitGone(configMaps, "after") // by the garbage collector, which knows the kind
	})
	t.Run("what was recorded is the same again", func(t *testing.T) { w.replayRecording() })
	t.Run("the version isn't served for a while", func(t *testing.T) {
		w.setServed(false)
		w.eventually("the manager says that it can't read it", func() (bool, string) {
			said := w.controllerState()
			return strings.Contains(said, "example.com/v1/mirrors can't be read"), said
		})
		if code, body := w.m.Do(t, "GET", "/healthz?verbose"); code != 200 {
			t.Errorf("%d %s", code, body)
		}
		w.setServed(true)
		w.patchObject(mirrors, "a", map[string]any{"spec": map[string]any{"message": "served"}})
		w.awaitMessage("a", "served")
	})
	t.Run("the definition goes and comes again", func(t *testing.T) {
		if err := w.client.Resource(definitions).Delete(ctx, "mirrors.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.eventually("the definition is gone", func() (bool, string) {
			_, err := w.client.Resource(definitions).Get(ctx, "mirrors.example.com", metav1.GetOptions{})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
		w.awaitGone(configMaps, "a")
		if code, body := w.m.Do(t, "GET", "/healthz?verbose"); code != 200 {
			t.Errorf("%d %s", code, body)
		}
		w.defineMirrors()
		w.createMirror("again", map[string]any{"message": "back"})
		w.awaitStatus("again", "copied", "back")
		w.awaitMessage("again", "back")
	})
}

// ofNew is the most syncs that a new Mirror takes: its own appearance, and the echo of each of the writes, with some
// that find the cache behind.
const ofNew = 10

// setServed has the API server serve the resource, or not.
func (w *world) setServed(served bool) {
	w.t.Helper()
	b := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/versions/0/served","value":%v}]`, served)
	w.must(w.client.Resource(definitions).Patch(w.t.Context(), "mirrors.example.com", types.JSONPatchType, b,
		metav1.PatchOptions{}))
	w.eventually(fmt.Sprintf("served: %v", served), func() (bool, string) {
		_, err := w.client.Resource(mirrors).List(w.t.Context(), metav1.ListOptions{})
		return (err == nil) == served, fmt.Sprint(err)
	})
}

// replayRecording runs again what was recorded of the controller.
func (w *world) replayRecording() {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), controller+record.Extension)
	if err := record.WriteFile(path, w.m.Get(w.t, "/debug/recordings/"+controller)); err != nil {
		w.t.Fatal(err)
	}
	f, err := record.Open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	module, err := plugins.File(filepath.Join(w.folder, "mirror.wasm"))
	if err != nil {
		w.t.Fatal(err)
	}
	same := 0
	if err := replay.Run(w.t.Context(), f, replay.Options{Plugin: module}, func(r replay.Result) {
		if r.Verdict != replay.Same {
			w.t.Errorf("sync %d of %s (%s) is %s: %s\n%s", r.Number, r.Key, r.Ended, r.Verdict, r.Why, r.Diff)
		}
		same++
	}); err != nil || same < 5 {
		w.t.Errorf("%d syncs: %v", same, err)
	}
	w.checkRecordedCase(f)
}

// checkRecordedCase makes a golden case of a Mirror's last sync, as windlass get sync -o golden does: the Mirror is in
// it as people write it, whose kind is known.
func (w *world) checkRecordedCase(f *record.File) {
	w.t.Helper()
	for i := len(f.Syncs) - 1; i >= 0; i-- {
		if f.Syncs[i].Key.String() != namespace+"/a" {
			continue
		}
		c, left, err := golden.Recorded(f, &f.Syncs[i])
		if err != nil || strings.Contains(strings.Join(left, "\n"), "kind") || c.Gone {
			w.t.Fatalf("a case of the last sync: %v, without %q, gone: %v", err, left, c.Gone)
		}
		for _, o := range c.Objects {
			var m unstructured.Unstructured
			if err := json.Unmarshal(o.Raw, &m.Object); err != nil {
				w.t.Fatal(err)
			}
			message, _, _ := unstructured.NestedString(m.Object, "spec", "message")
			if m.GetKind() == "Mirror" && m.GetAPIVersion() == "example.com/v1" && message == "hi" {
				return
			}
		}
		w.t.Fatalf("the Mirror isn't among the case's objects: %s", c.Objects)
	}
	w.t.Fatal("no sync of the Mirror was recorded")
}

// waitForRest waits until nobody syncs any more.
func (w *world) waitForRest() {
	w.t.Helper()
	last, since := w.syncCount(), time.Now()
	w.eventually("nobody syncs", func() (bool, string) {
		if now := w.syncCount(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 1500*time.Millisecond, fmt.Sprint(last)
	})
}
