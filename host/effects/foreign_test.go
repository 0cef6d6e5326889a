package effects

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/discovery"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/test/cluster"
)

// widgets is a resource that a test defines.
type widgets struct {
	*world
	abi.Resource
}

// defineWidgets makes a custom resource in a group of its own, with status and scale.
func (w *world) defineWidgets() widgets {
	w.t.Helper()
	r := abi.Resource{Group: w.ns + ".example.com", Version: "v1", Name: "widgets"}
	w.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"widgets.%[1]s"},"spec":{"group":"%[1]s","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}}]}}`, r.Group))
	x := widgets{w, r}
	cluster.Eventually(w.t, time.Minute, "the custom resource is served", func() (bool, any) {
		err := w.kube.Discovery().RESTClient().Get().AbsPath(x.path()).Do(w.t.Context()).Error()
		return err == nil, err
	})
	return x
}

func (w *world) post(path, body string) {
	w.t.Helper()
	if err := w.kube.Discovery().RESTClient().Post().AbsPath(path).SetHeader("Content-Type",
		"application/json").Body([]byte(body)).Do(w.t.Context()).Error(); err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
}

func (x widgets) path(name ...string) string {
	return strings.Join(append([]string{"/apis", x.Group, x.Version, "namespaces", x.ns, x.Name}, name...), "/")
}

func (x widgets) createWidget(name, metadata string) {
	x.t.Helper()
	x.post(x.path(), fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Widget","metadata":{"name":"%s"%s},"spec":{"replicas":1,"color":"red"}}`, x.Group, name, metadata))
}

// widgetJSON returns a widget as the server has it, "" for none.
func (x widgets) widgetJSON(name string) string {
	x.t.Helper()
	b, err := x.kube.Discovery().RESTClient().Get().AbsPath(x.path(name)).Do(x.t.Context()).Raw()
	if err != nil {
		return ""
	}
	return string(b)
}

func (x widgets) effectOn(name string, e abi.Effect) abi.Effect {
	e.Resource, e.Namespace, e.Name = x.Resource.String(), x.ns, name
	return e
}

// metadataEffectOn is effectOn, of the metadata alone.
func (x widgets) metadataEffectOn(name string, e abi.Effect) abi.Effect {
	e.Metadata = true
	return x.effectOn(name, e)
}

// performOne does an effect in a session of its own.
func (w *world) performOne(e abi.Effect) abi.Outcome {
	w.t.Helper()
	s := w.beginSession()
	defer s.End()
	out, err := s.Perform(w.t.Context(), []abi.Effect{e})
	if err != nil {
		w.t.Fatal(err)
	}
	return out[0]
}

func (w *world) performOK(e abi.Effect) abi.Outcome {
	w.t.Helper()
	o := w.performOne(e)
	if o.Code != abi.CodeOK {
		w.t.Fatalf("%+v", o)
	}
	return o
}

func (w *world) requireFailure(e abi.Effect, reason string) {
	w.t.Helper()
	if o := w.performOne(e); o.Code != abi.CodeFailed || o.Reason != reason {
		w.t.Errorf("%s of %s: %+v, not the reason %s", verbs[e.Kind], e.Resource, o, reason)
	}
}

// collector is a controller that sees and changes the metadata of everything.
func collector() abi.Controller {
	return abi.Controller{
		Views: []abi.View{{Name: "all", Resource: schema.Any,
			Fields: []string{"metadata.labels", "metadata.finalizers", "metadata.ownerReferences",
				"metadata.deletionTimestamp"}}},
		Writes: []abi.Write{
			{Resource: schema.Any, Verbs: []string{"get", "list", "patch", "delete", "deletecollection", "create", "update"}},
			{Resource: schema.Any, Subresource: "scale", Verbs: []string{"get", "update"}},
		},
	}
}

func discovering(o *Options) {
	d, err := discovery.New(control.cluster.RESTConfig())
	if err != nil {
		panic(err)
	}
	o.Discovery = d
}

// Objects of a custom resource are got, listed, patched and deleted by their metadata.
func TestOnClusterCustomResource(t *testing.T) {
	w := newWorld(t, collector(), discovering)
	x := w.defineWidgets()
	ctx := t.Context()
	x.createWidget("a", `,"labels":{"l":"1"},"annotations":{"note":"n"}`)

	o := w.performOK(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectGet}))
	a := partial(t, o.Object.Data)
	if a.Name != "a" || a.Labels["l"] != "1" || string(a.UID) != o.UID || a.UID == "" ||
		a.ResourceVersion != o.Object.ResourceVersion || len(a.Annotations)+len(a.ManagedFields) > 0 {
		t.Errorf("got %+v", a)
	}
	w.requireFailure(x.metadataEffectOn("none", abi.Effect{Kind: abi.EffectGet}), "NotFound")
	w.requireFailure(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectGet, UID: "another"}), "NotFound")
	w.performOK(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectGet, UID: o.UID}))

	w.requireFailure(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectPatch, Patch: abi.StrategicPatch,
		Object: []byte(`{"metadata":{"labels":{"l":"2"}}}`)}), "UnsupportedMediaType")
	o = w.performOK(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch,
		Version: o.Object.ResourceVersion, Precondition: abi.PreconditionVersion,
		Object: []byte(`{"metadata":{"labels":{"l":"2"},"finalizers":["test.example.com/f"]}}`)}))
	if p := partial(t, o.Object.Data); p.Labels["l"] != "2" || len(p.Finalizers) != 1 ||
		p.ResourceVersion == a.ResourceVersion {
		t.Errorf("patched: %+v", p)
	}
	w.requireFailure(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch,
		Version: a.ResourceVersion, Precondition: abi.PreconditionVersion,
		Object: []byte(`{"metadata":{"labels":{"l":"3"}}}`)}), "Conflict")
	if j := x.widgetJSON("a"); !strings.Contains(j, `"color":"red"`) || !strings.Contains(j, `"l":"2"`) {
		t.Errorf("after the patch: %s", j)
	}
	// Patches of one sync follow one another.
	s := w.beginSession()
	w.requireOK(s.Perform(ctx, []abi.Effect{
		x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectGet}),
		x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch,
			Precondition: abi.PreconditionVersion, Object: []byte(`{"metadata":{"labels":{"m":"1"}}}`)}),
		x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectPatch, Patch: abi.JSONPatch, Precondition: abi.PreconditionVersion,
			Object: []byte(`[{"op":"add","path":"/metadata/labels/n","value":"1"}]`)}),
	}))
	s.End()
	if j := x.widgetJSON("a"); !strings.Contains(j, `"m":"1"`) || !strings.Contains(j, `"n":"1"`) {
		t.Errorf("after two patches: %s", j)
	}

	w.requireFailure(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectDelete, UID: "another"}), "Conflict")
	w.performOK(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectDelete, UID: o.UID, DryRun: true}))
	if x.widgetJSON("a") == "" || strings.Contains(x.widgetJSON("a"), "deletionTimestamp") {
		t.Fatal("a dry run deleted it")
	}
	o = w.performOK(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectDelete, UID: o.UID,
		Propagation: abi.PropagationForeground}))
	if d := partial(t, o.Object.Data); d.DeletionTimestamp == nil || len(d.Finalizers) != 2 {
		t.Errorf("deleted in the foreground: %+v", d)
	}
	w.performOK(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch, UID: o.UID,
		Precondition: abi.PreconditionUID, Object: []byte(`{"metadata":{"finalizers":null}}`)}))
	if j := x.widgetJSON("a"); j != "" {
		t.Errorf("after its last finalizer: %s", j)
	}
	w.requireFailure(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectDelete, UID: o.UID}), "NotFound")
	w.performOK(x.metadataEffectOn("a", abi.Effect{Kind: abi.EffectDelete, UID: o.UID, Tolerate: abi.TolerateNotFound}))
}

// Lists go on until the last page, collections are deleted by label.
func TestOnClusterCustomCollections(t *testing.T) {
	w := newWorld(t, collector(), discovering)
	x := w.defineWidgets()
	var wait sync.WaitGroup
	names := make(chan int)
	for range 8 {
		wait.Go(func() {
			for i := range names {
				x.createWidget(fmt.Sprintf("w-%d", i), fmt.Sprintf(`,"labels":{"odd":"%d"}`, i%2))
			}
		})
	}

	for i := range apiserver.PageSize + 3 {
		names <- i
	}
	close(names)
	wait.Wait()
	w.proxy.loseRequests(0, 0)
	list := x.metadataEffectOn("", abi.Effect{Kind: abi.EffectList})
	l := w.performOK(list).View
	if l.Count != apiserver.PageSize+3 || l.StoreVersion == "" || w.proxy.requests() != 2 {
		t.Errorf("%d objects, version %q, in %d requests", l.Count, l.StoreVersion, w.proxy.requests())
	}

	seen := map[string]bool{}
	for _, o := range l.Objects {
		m := partial(t, o.Data)
		seen[m.Name] = m.Labels["odd"] != "" && m.ResourceVersion == o.ResourceVersion && len(m.ManagedFields) == 0
	}
	if len(seen) != apiserver.PageSize+3 || !seen["w-0"] || !seen["w-502"] {
		t.Errorf("%d names", len(seen))
	}

	everywhere := list
	everywhere.Namespace = ""
	if l := w.performOK(everywhere).View; l.Count != apiserver.PageSize+3 {
		t.Errorf("in all namespaces: %d", l.Count)
	}

	odd := marshalSelector(t, "odd", "1")
	list.Ask = &abi.Ask{Selector: odd}
	o := w.performOK(x.metadataEffectOn("", abi.Effect{Kind: abi.EffectDeleteCollection, Ask: &abi.Ask{Selector: odd}}))
	if o.Object.ResourceVersion == "" {
		t.Errorf("the answer to a deletecollection: %+v", o)
	}

	if l := w.performOK(list).View; l.Count != 0 {
		t.Errorf("%d objects are left", l.Count)
	}
	w.performOK(x.metadataEffectOn("", abi.Effect{Kind: abi.EffectDeleteCollection}))
	if l := w.performOK(everywhere).View; l.Count != 0 {
		t.Errorf("%d objects are left", l.Count)
	}

	nowhere := x.metadataEffectOn("", abi.Effect{Kind: abi.EffectDeleteCollection})
	nowhere.Namespace = ""
	x.createWidget("stays", "")
	w.requireFailure(nowhere, "NotFound")
	if x.widgetJSON("stays") == "" {
		t.Error("a deletecollection without a namespace deleted something")
	}
}

func marshalSelector(t *testing.T, label, value string) []byte {
	t.Helper()
	b, err := (&metav1.LabelSelector{MatchLabels: map[string]string{label: value}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a server can't do comes back with its reason.
func TestOnClusterUnsupported(t *testing.T) {
	w := newWorld(t, collector(), discovering)
	w.post("/apis/apiregistration.k8s.io/v1/apiservices", fmt.Sprintf(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.broken-%[1]s.example.com"},
"spec":{"group":"broken-%[1]s.example.com","version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"nowhere"}}}`, w.ns))
	t.Cleanup(func() {
		w.kube.Discovery().RESTClient().Delete().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/v1.broken-" + w.ns +
			".example.com").Do(context.Background())
	})
	for _, c := range []struct{ resource, reason string }{
		{"v1/componentstatuses", "MethodNotAllowed"},
		{"authorization.k8s.io/v1/selfsubjectaccessreviews", "MethodNotAllowed"},
		{"none.example.com/v1/things", "NotFound"},
		{"apps/v1/things", "NotFound"},
	} {
		w.requireFailure(abi.Effect{Kind: abi.EffectDeleteCollection, Resource: c.resource, Metadata: true}, c.reason)
	}

	w.requireFailure(abi.Effect{Kind: abi.EffectList, Resource: "authorization.k8s.io/v1/selfsubjectaccessreviews"},
		"MethodNotAllowed")
	// A server that is down holds nobody up.
	broken := abi.Effect{Resource: "broken-" + w.ns + ".example.com/v1/things", Namespace: w.ns, Name: "x"}
	cluster.Eventually(t, time.Minute, "the aggregator knows of the service", func() (bool, any) {
		broken.Kind = abi.EffectGet
		o := w.performOne(broken)
		return o.Reason == "ServiceUnavailable", o
	})

	broken.UID = "u"
	for _, kind := range []abi.EffectKind{abi.EffectList, abi.EffectDelete, abi.EffectDeleteCollection} {
		broken.Kind = kind
		w.requireFailure(broken, "ServiceUnavailable")
	}
}

// A scale is got and updated whatever the resource.
func TestOnClusterCustomScale(t *testing.T) {
	w := newWorld(t, collector(), discovering)
	x := w.defineWidgets()
	x.createWidget("a", "")
	s := w.beginSession()
	at := x.effectOn("a", abi.Effect{Kind: abi.EffectGet, Subresource: "scale"})
	var scale autoscalingv1.Scale
	if err := scale.Unmarshal(w.requireOK(s.Perform(t.Context(), []abi.Effect{at}))[0].Object.Data); err != nil ||
		scale.Spec.Replicas != 1 || scale.Name != "a" {
		t.Fatalf("%+v %v", scale, err)
	}

	scale.Spec.Replicas = 7
	at.Kind, at.Object = abi.EffectUpdate, schematest.Marshal(t, &scale)
	w.requireOK(s.Perform(t.Context(), []abi.Effect{at}))
	if j := x.widgetJSON("a"); !strings.Contains(j, `"replicas":7`) || !strings.Contains(j, `"color":"red"`) {
		t.Errorf("scaled: %s", j)
	}

	// Somebody else scales it: an update of the old scale conflicts.
	x.post(x.path(), fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"replicas":1}}`,
		x.Group))
	s = w.beginSession()
	at = x.effectOn("b", abi.Effect{Kind: abi.EffectGet, Subresource: "scale"})
	w.requireOK(s.Perform(t.Context(), []abi.Effect{at}))
	w.performOK(x.effectOn("b", abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch,
		Object: []byte(`{"spec":{"replicas":3}}`)}))
	scale.Name = "b"
	at.Kind, at.Object = abi.EffectUpdate, schematest.Marshal(t, &scale)
	if out, err := s.Perform(t.Context(), []abi.Effect{at}); err != nil || out[0].Reason != "Conflict" {
		t.Errorf("%+v %v", out, err)
	}
}

// A key waits for what it wrote to any resource that a view over all resources shows.
func TestOnClusterCustomBarriers(t *testing.T) {
	w := newWorld(t, collector(), discovering)
	x := w.defineWidgets()
	x.createWidget("a", "")
	store := &testStore{}
	store.set("1")
	w.stores[x.Resource.String()] = store
	key := abi.KeyRef{Namespace: w.ns, Name: "key"}
	o := w.performOK(x.effectOn("a", abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch,
		Object: []byte(`{"metadata":{"labels":{"l":"1"}}}`)}))
	object := &cache.Object{Resource: schema.Partial(x.Resource, "Widget", true), Namespace: w.ns, Name: "a",
		UID: types.UID(o.UID), ResourceVersion: o.Object.ResourceVersion, Raw: o.Object.Data}
	if w.writer.Ready(key) {
		t.Error("ready before the cache shows the patch")
	}

	woken := make(chan struct{})
	w.writer.Park(key, func() { close(woken) })
	store.set(o.Object.ResourceVersion, object)
	w.writer.Progress(x.Resource)
	<-woken
	w.performOK(x.effectOn("a", abi.Effect{Kind: abi.EffectDelete, UID: o.UID}))
	if w.writer.Ready(key) {
		t.Error("ready before the cache shows the deletion")
	}

	store.set(o.Object.ResourceVersion)
	w.writer.Progress(x.Resource)
	if !w.writer.Ready(key) {
		t.Error("not ready")
	}

	// What nothing watches isn't waited for.
	x.createWidget("b", "")
	delete(w.stores, x.Resource.String())
	got := w.performOK(x.effectOn("b", abi.Effect{Kind: abi.EffectGet}))
	w.performOK(x.effectOn("b", abi.Effect{Kind: abi.EffectDelete, UID: got.UID}))
	if !w.writer.Ready(key) {
		t.Error("waits for a resource without a store")
	}
}

// An object whose deletion was seen is not asked for.
func TestOnClusterGone(t *testing.T) {
	w := newWorld(t, collector(), func(o *Options) {
		discovering(o)
		o.Gone = func(uid string) bool { return uid == "dead" }
	})
	w.proxy.loseRequests(0, 0)
	get := abi.Effect{Kind: abi.EffectGet, Resource: "v1/namespaces", Name: w.ns, UID: "dead", Metadata: true}
	w.requireFailure(get, "NotFound")
	if w.proxy.requests() != 0 {
		t.Error("it was asked for")
	}
	get.UID = "unknown"
	w.requireFailure(get, "NotFound")
	if w.proxy.requests() != 1 {
		t.Errorf("%d requests", w.proxy.requests())
	}
	get.UID = ""
	w.performOK(get)
}

// Kinds are found, and everything is listed.
func TestOnClusterDiscoverEffect(t *testing.T) {
	w := newWorld(t, collector(), discovering)
	x := w.defineWidgets()
	discover := func(apiVersion, kind string) abi.Effect {
		return abi.Effect{Kind: abi.EffectDiscover, Discover: &abi.Discover{APIVersion: apiVersion, Kind: kind}}
	}
	o := w.performOK(discover(x.Group+"/v1", "Widget"))
	if r := o.Discovery.Resources; len(r) != 1 || r[0].Resource != x.Resource.String() || !r[0].Namespaced ||
		r[0].Kind != "Widget" {
		t.Errorf("%+v", r)
	}
	w.requireFailure(discover(x.Group+"/v1", "Gadget"), "NoKindMatch")
	w.requireFailure(discover("not/a/version", "Widget"), "NoKindMatch")
	w.requireFailure(discover("", "Widget"), "NoKindMatch")
	found := map[string]bool{}
	for _, r := range w.performOK(discover("", "")).Discovery.Resources {
		found[r.Resource] = true
	}
	if !found[x.Resource.String()] || !found["v1/pods"] || !found["apps/v1/deployments"] {
		t.Errorf("%v", found)
	}
}

// An event about a custom resource's object names its kind.
func TestOnClusterCustomEvent(t *testing.T) {
	c := collector()
	c.EventSource = "test-component"
	w := newWorld(t, c, discovering)
	x := w.defineWidgets()
	w.performOK(x.effectOn("a", abi.Effect{Kind: abi.EffectEvent, Event: &abi.EventData{Type: "Normal", Reason: "Tested",
		Message: "told"}}))
	cluster.Eventually(t, time.Minute, "the event is there", func() (bool, any) {
		l, err := w.kube.CoreV1().Events(w.ns).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(l.Items) == 1 && l.Items[0].InvolvedObject == corev1.ObjectReference{APIVersion: x.Group +
			"/v1", Kind: "Widget", Namespace: w.ns, Name: "a"}, fmt.Sprint(l, err)
	})
}

// A write whose answer is lost again and again is given up where another server may be what fails; before that it is
// sent again.
func TestOnClusterForeignLosses(t *testing.T) {
	w := newWorld(t, collector(), discovering)
	x := w.defineWidgets()
	remove := func(name string) abi.Effect {
		x.createWidget(name, "")
		return x.effectOn(name, abi.Effect{Kind: abi.EffectDelete, UID: w.performOne(x.effectOn(name,
			abi.Effect{Kind: abi.EffectGet})).UID})
	}
	first, second := remove("a"), remove("b")
	w.proxy.loseRequests(0, 2)
	w.performOK(first)
	if n := w.proxy.requests(); n != 3 || x.widgetJSON("a") != "" {
		t.Errorf("%d requests, %s", n, x.widgetJSON("a"))
	}
	w.proxy.loseRequests(0, 100)
	w.requireFailure(second, "Unavailable")
	if n := w.proxy.requests(); n != foreignLosses+1 {
		t.Errorf("%d requests", n)
	}
	get := x.effectOn("a", abi.Effect{Kind: abi.EffectGet})
	w.proxy.loseRequests(0, 100)
	w.requireFailure(get, "Unavailable")
	// The transport itself sends a GET again on a connection that was used before.
	if n := w.proxy.requests(); n > 2 {
		t.Errorf("a get: %d requests", n)
	}
}
