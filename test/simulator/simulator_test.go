// Package simulator compares the simulated cluster with the real API server: the same calls have the same outcomes.
package simulator

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/author/simulator"
	"github.com/windlass-dev/windlass/test/cluster"
)

const namespace = "compared"

var (
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods            = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	replicaSets     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	jobs            = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
)

// TestSameOutcomes makes the same calls to both.
func TestSameOutcomes(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 0})
	simulated, err := simulator.NewCluster(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(playScript(t, c.RESTConfig()), playScript(t, simulated.Config("test"))); d != "" {
		t.Errorf("the simulated cluster does otherwise than the API server (-real +simulated):\n%s", d)
	}
}

// script makes calls and takes down what comes of them.
type script struct {
	t      *testing.T
	client dynamic.Interface
	ctx    context.Context
	lines  []string
	known  map[string]string // UIDs and versions by the order in which they appear
}

// playScript makes the calls.
func playScript(t *testing.T, config *rest.Config) []string {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, client: client, ctx: t.Context(), known: map[string]string{}}
	s.create(namespaces, "", `{"metadata":{"name":"`+namespace+`"}}`)
	s.objects()
	s.create(serviceAccounts, namespace, `{"metadata":{"name":"default"}}`) // of pods
	s.generations()
	s.statuses()
	s.deletions()
	s.patches()
	s.watches()
	s.refusals()
	return s.lines
}

func (s *script) resourceIn(r schema.GroupVersionResource, ns string) dynamic.ResourceInterface {
	if ns == "" {
		return s.client.Resource(r)
	}
	return s.client.Resource(r).Namespace(ns)
}

var kinds = map[string]string{"configmaps": "ConfigMap", "pods": "Pod", "replicasets": "ReplicaSet",
	"deployments": "Deployment", "namespaces": "Namespace", "jobs": "Job", "serviceaccounts": "ServiceAccount"}

func (s *script) parseObject(r schema.GroupVersionResource, text string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(
		fmt.Sprintf(`{"apiVersion":%q,"kind":%q,%s`, r.GroupVersion(), kinds[r.Resource], text[1:]))); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// noteResult takes down how a call ended.
func (s *script) noteResult(what string, o *unstructured.Unstructured, err error) *unstructured.Unstructured {
	s.t.Helper()
	line := what + ": "
	if err != nil {
		line += string(apierrors.ReasonForError(err))
		if status, ok := err.(apierrors.APIStatus); ok {
			line += fmt.Sprintf(" %d", status.Status().Code)
			if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				line += " namespace terminating"
			}
		}
	} else if o != nil {
		line += s.describe(o)
	}
	s.lines = append(s.lines, line)
	return o
}

var random = regexp.MustCompile(`^(made-)[a-z0-9]{5}$`)

// describe returns what counts of an object.
func (s *script) describe(o *unstructured.Unstructured) string {
	replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	seen, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	labels := map[string]string{}
	for k, v := range o.GetLabels() {
		if k != corev1.LabelMetadataName { // the server labels namespaces
			labels[k] = strings.ReplaceAll(v, string(o.GetUID()), "its uid")
		}
	}
	grace := "none"
	if g := o.GetDeletionGracePeriodSeconds(); g != nil {
		grace = fmt.Sprint(*g)
	}
	return fmt.Sprintf("%s generation %d, replicas %d/%d, phase %q, labels %v, data %v, finalizers %v, deleting %t, grace %s, uid %s, version %s",
		random.ReplaceAllString(o.GetName(), "${1}*"), o.GetGeneration(), replicas, seen, phase, labels, data,
		o.GetFinalizers(), o.GetDeletionTimestamp() != nil, grace,
		s.numbered("uid", string(o.GetUID())), s.numbered("version", o.GetResourceVersion()))
}

// numbered names a value by when it was first seen: versions tell whether something was written.
func (s *script) numbered(kind, value string) string {
	if _, ok := s.known[kind+value]; !ok {
		s.known[kind+value] = fmt.Sprint(len(s.known) + 1)
	}
	return s.known[kind+value]
}

func (s *script) create(r schema.GroupVersionResource, ns, text string) *unstructured.Unstructured {
	s.t.Helper()
	o, err := s.resourceIn(r, ns).Create(s.ctx, s.parseObject(r, text), metav1.CreateOptions{})
	return s.noteResult("create "+r.Resource, o, err)
}

func (s *script) get(r schema.GroupVersionResource, ns, name string) *unstructured.Unstructured {
	s.t.Helper()
	o, err := s.resourceIn(r, ns).Get(s.ctx, name, metav1.GetOptions{})
	return s.noteResult("get "+r.Resource+" "+name, o, err)
}

func (s *script) update(o *unstructured.Unstructured, r schema.GroupVersionResource, what string,
	change func(o *unstructured.Unstructured), sub ...string) *unstructured.Unstructured {
	s.t.Helper()
	if o == nil {
		s.t.Fatalf("%s: there is no object: %q", what, s.lines)
	}
	o = o.DeepCopy()
	change(o)
	o, err := s.resourceIn(r, o.GetNamespace()).Update(s.ctx, o, metav1.UpdateOptions{}, sub...)
	return s.noteResult("update "+strings.Join(append([]string{r.Resource}, sub...), "/")+": "+what, o, err)
}

func (s *script) remove(r schema.GroupVersionResource, name, what string, o metav1.DeleteOptions) {
	s.t.Helper()
	s.noteResult("delete "+r.Resource+" "+name+" "+what, nil, s.resourceIn(r, namespace).Delete(s.ctx, name, o))
}

func (s *script) objects() {
	a := s.create(configMaps, namespace, `{"metadata":{"name":"a"},"data":{"k":"1"}}`)
	s.create(configMaps, namespace, `{"metadata":{"name":"a"}}`)
	s.create(configMaps, namespace, `{"metadata":{"generateName":"made-"}}`)
	s.create(configMaps, "nowhere", `{"metadata":{"name":"a"}}`)
	s.create(configMaps, namespace, `{"metadata":{"name":"Not_A_Name"}}`)
	s.create(configMaps, namespace, `{"metadata":{"name":"a.b"},"data":{}}`)
	s.create(configMaps, namespace, `{"metadata":{"name":"labelled","labels":{"a":"not a value"}}}`)
	s.create(configMaps, namespace,
		`{"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a"}]}}`)
	s.create(configMaps, namespace, `{"metadata":{"name":"versioned","resourceVersion":"1"}}`)
	b := s.update(a, configMaps, "data", func(o *unstructured.Unstructured) { setField(o, "2", "data", "k") })
	s.update(a, configMaps, "an old version", func(o *unstructured.Unstructured) { setField(o, "3", "data", "k") })
	s.update(b, configMaps, "nothing", func(o *unstructured.Unstructured) {})
	s.update(b, configMaps, "another uid", func(o *unstructured.Unstructured) { o.SetUID("other") })
	s.update(b, configMaps, "without a version", func(o *unstructured.Unstructured) {
		o.SetResourceVersion("")
		setField(o, "4", "data", "k")
	})
	s.update(b, configMaps, "one that isn't there", func(o *unstructured.Unstructured) {
		o.SetName("absent")
		o.SetUID("")
	})
	s.get(configMaps, namespace, "a")
	s.get(configMaps, namespace, "absent")
}

func setField(o *unstructured.Unstructured, v any, path ...string) {
	if err := unstructured.SetNestedField(o.Object, v, path...); err != nil {
		panic(err) // of the test's own objects
	}
}

const podTemplate = `"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}`

func (s *script) generations() {
	rs := s.create(replicaSets, namespace, `{"metadata":{"name":"web"},"spec":{`+podTemplate+`},"status":{"replicas":7}}`)
	rs = s.update(rs, replicaSets, "replicas", func(o *unstructured.Unstructured) {
		setField(o, int64(3), "spec",
			"replicas")
	})
	rs = s.update(rs, replicaSets, "labels", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"a": "b"})
	})
	s.update(rs, replicaSets, "status by the way", func(o *unstructured.Unstructured) {
		setField(o, int64(9), "status", "replicas")
	})
	s.create(deployments, namespace, `{"metadata":{"name":"web","generation":5},"spec":{`+podTemplate+`}}`)
	s.create(jobs, namespace,
		`{"metadata":{"name":"work"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"w","image":"w:1"}]}}}}`)
	s.create(pods, namespace,
		`{"metadata":{"name":"pod"},"spec":{"containers":[{"name":"w","image":"w:1"}]},"status":{"phase":"Running"}}`)
}

func (s *script) statuses() {
	rs := s.get(replicaSets, namespace, "web")
	rs = s.update(rs, replicaSets, "status", func(o *unstructured.Unstructured) {
		setField(o, int64(2), "status", "replicas")
		setField(o, int64(8), "spec", "replicas")
	}, "status")
	s.update(rs, replicaSets, "the same status", func(o *unstructured.Unstructured) {}, "status")
	cm := s.get(configMaps, namespace, "a")
	s.update(cm, configMaps, "a status that isn't there", func(o *unstructured.Unstructured) {}, "status")
}

func (s *script) deletions() {
	f := s.create(configMaps, namespace, `{"metadata":{"name":"f","finalizers":["example.com/mine"]}}`)
	uid := types.UID("other")
	s.remove(configMaps, "f", "another uid", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	version := "1"
	s.remove(configMaps, "f", "another version",
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	uid = f.GetUID()
	s.remove(configMaps, "f", "its uid", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	f = s.get(configMaps, namespace, "f")
	s.remove(configMaps, "f", "again", metav1.DeleteOptions{})
	s.update(f, configMaps, "another finalizer", func(o *unstructured.Unstructured) {
		o.SetFinalizers([]string{"example.com/mine", "example.com/new"})
	})
	s.create(configMaps, namespace, `{"metadata":{"name":"f"}}`)
	f = s.get(configMaps, namespace, "f")
	s.update(f, configMaps, "no finalizer", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	s.get(configMaps, namespace, "f")
	s.remove(configMaps, "f", "gone", metav1.DeleteOptions{})

	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		metav1.DeletePropagationBackground} {
		s.create(configMaps, namespace, `{"metadata":{"name":"p"}}`)
		s.remove(configMaps, "p", string(policy), metav1.DeleteOptions{PropagationPolicy: &policy})
		p, err := s.resourceIn(configMaps, namespace).Get(s.ctx, "p", metav1.GetOptions{})
		s.noteResult("get p", p, err)
		if err == nil {
			s.update(p, configMaps, "no finalizer", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
		}
	}

	s.remove(replicaSets, "web", "with a generation", metav1.DeleteOptions{})
	s.get(replicaSets, namespace, "web")
	s.remove(pods, "pod", "that runs nowhere", metav1.DeleteOptions{})
	s.get(pods, namespace, "pod")
}

func (s *script) patches() {
	for _, p := range []struct {
		t    types.PatchType
		body string
	}{
		{types.MergePatchType, `{"data":{"k":null,"l":"1"},"metadata":{"labels":{"x":"y"}}}`},
		{types.MergePatchType, `{"metadata":{"resourceVersion":"1"}}`},
		{types.MergePatchType, `{"metadata":{"uid":"other"}}`},
		{types.JSONPatchType, `[{"op":"test","path":"/data/l","value":"1"},{"op":"add","path":"/data/m","value":"2"}]`},
		{types.JSONPatchType, `[{"op":"test","path":"/data/l","value":"other"}]`},
		{types.StrategicMergePatchType, `{"metadata":{"finalizers":["example.com/one"]}}`},
		{types.StrategicMergePatchType, `{"metadata":{"finalizers":["example.com/two"]}}`},
		{types.StrategicMergePatchType,
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/one","example.com/two"]}}`},
		{types.MergePatchType, `{}`},
	} {
		o, err := s.resourceIn(configMaps, namespace).Patch(s.ctx, "a", p.t, []byte(p.body), metav1.PatchOptions{})
		s.noteResult("patch "+string(p.t)+" "+p.body, o, err)
	}

	apply := func(text string) {
		o, err := s.resourceIn(configMaps, namespace).Apply(s.ctx, "applied", s.parseObject(configMaps, text),
			metav1.ApplyOptions{FieldManager: "me", Force: true})
		s.noteResult("apply "+text, o, err)
	}

	apply(`{"metadata":{"name":"applied","uid":"gone"},"data":{"a":"1"}}`)
	apply(`{"metadata":{"name":"applied"},"data":{"a":"1","b":"1"}}`)
	apply(`{"metadata":{"name":"applied","uid":"other"},"data":{"a":"3"}}`)
	apply(`{"metadata":{"name":"applied"},"data":{"a":"2"}}`)
	apply(`{"metadata":{"name":"applied"},"data":{"a":"2"}}`)
}

// watches has objects come and go by a selector, and lists by a stream.
func (s *script) watches() {
	seen := s.create(configMaps, namespace, `{"metadata":{"name":"seen","labels":{"on":"1"}}}`)
	unseen := s.create(configMaps, namespace, `{"metadata":{"name":"unseen"}}`)
	next := s.watch("what is selected",
		metav1.ListOptions{LabelSelector: "on=1", ResourceVersion: seen.GetResourceVersion()})
	unseen = s.update(unseen, configMaps, "select it", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"on": "1"})
	})
	next()
	s.update(unseen, configMaps, "data", func(o *unstructured.Unstructured) { setField(o, "1", "data", "k") })
	next()
	s.update(seen, configMaps, "select it no more", func(o *unstructured.Unstructured) { o.SetLabels(nil) })
	next()
	s.remove(configMaps, "unseen", "while it is watched", metav1.DeleteOptions{})
	next()

	initial := true
	next = s.watch("all that there is, and its end", metav1.ListOptions{FieldSelector: "metadata.name=seen",
		SendInitialEvents: &initial, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks: true})
	next()
	next()
	next = s.watch("all that there is", metav1.ListOptions{FieldSelector: "metadata.name=seen"})
	next()
}

// watch begins a watch that lasts as long as the test, and returns what takes down its next event.
func (s *script) watch(what string, o metav1.ListOptions) (next func()) {
	s.t.Helper()
	w, err := s.resourceIn(configMaps, namespace).Watch(s.ctx, o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(w.Stop)
	return func() {
		s.t.Helper()
		select {
		case e := <-w.ResultChan():
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				s.t.Fatalf("watch %s: %+v", what, e)
			}
			line := fmt.Sprintf("watch %s: %s", what, e.Type)
			if e.Type == watch.Bookmark {
				s.lines = append(s.lines, fmt.Sprint(line, " ", o.GetKind(), " ", o.GetAnnotations()))
				return
			}
			s.noteResult(line, o, nil)
		case <-time.After(cluster.Patience):
			s.t.Fatalf("watch %s: nothing has come", what)
		}
	}
}

func (s *script) refusals() {
	s.noteResult("delete the namespace", nil, s.resourceIn(namespaces, "").Delete(s.ctx, namespace,
		metav1.DeleteOptions{}))
	s.get(namespaces, "", namespace)
	s.create(configMaps, namespace, `{"metadata":{"name":"late"}}`)
}
