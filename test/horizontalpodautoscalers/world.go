// Package horizontalpodautoscalers checks on a real cluster that Windlass scales as the native kube-controller-manager does.
package horizontalpodautoscalers

import (
	"bytes"
	_ "embed"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const namespace = "default"

// targets are what is scaled, and its pods: nobody makes pods here but the test, so that what the metrics say stays as it is. autoscalers are what scales it.
var (
	//go:embed targets.yaml
	targets string
	//go:embed autoscalers.yaml
	autoscalers string
)

type world struct {
	config *rest.Config
	client kubernetes.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newWorld(t *testing.T, c *cluster.Cluster) world {
	t.Helper()
	w := world{config: c.RESTConfig()}
	w.client = kubernetes.NewForConfigOrDie(w.config)
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(w.client.Discovery()))
	w.apply(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
	return w
}

// each does something for each object of a text.
func (w world) each(t *testing.T, text string, do func(dynamic.ResourceInterface, *unstructured.Unstructured)) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096)
	for {
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		o := &unstructured.Unstructured{}
		must(t, o.UnmarshalJSON(raw.Raw))
		kind := o.GroupVersionKind()
		var m *meta.RESTMapping
		windlass.Eventually(t, time.Minute, "the kind "+kind.String(), func() (bool, string) {
			if m, err = w.mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
				w.mapper.Reset()
				return false, err.Error()
			}
			return true, ""
		})
		resource := dynamic.ResourceInterface(dynamic.NewForConfigOrDie(w.config).Resource(m.Resource))
		if m.Scope.Name() == meta.RESTScopeNameNamespace {
			resource = dynamic.NewForConfigOrDie(w.config).Resource(m.Resource).Namespace(namespace)
		}
		do(resource, o)
	}
}

// apply creates the objects of a text, each with its status.
func (w world) apply(t *testing.T, text string) {
	t.Helper()
	w.each(t, text, func(r dynamic.ResourceInterface, o *unstructured.Unstructured) {
		status := o.Object["status"]
		var live *unstructured.Unstructured
		windlass.Eventually(t, time.Minute, o.GetKind()+" "+o.GetName(), func() (bool, string) {
			var err error
			if live, err = r.Create(t.Context(), o, metav1.CreateOptions{}); apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
				return false, err.Error() // admission doesn't know the service account yet, or the definition isn't served yet
			}
			must(t, err)
			return true, ""
		})
		if status != nil {
			live.Object["status"] = status
			_, err := r.UpdateStatus(t.Context(), live, metav1.UpdateOptions{})
			must(t, err)
		}
	})
}

// wipe deletes the objects of a text.
func (w world) wipe(t *testing.T, text string) {
	t.Helper()
	w.each(t, text, func(r dynamic.ResourceInterface, o *unstructured.Unstructured) {
		must(t, r.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
	})
}

// reset gives the targets the replicas again that they began with.
func (w world) reset(t *testing.T) {
	t.Helper()
	w.each(t, targets, func(r dynamic.ResourceInterface, o *unstructured.Unstructured) {
		replicas, ok, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if !ok {
			return
		}
		live, err := r.Get(t.Context(), o.GetName(), metav1.GetOptions{})
		must(t, err)
		must(t, unstructured.SetNestedField(live.Object, replicas, "spec", "replicas"))
		_, err = r.Update(t.Context(), live, metav1.UpdateOptions{})
		must(t, err)
	})
}

// look is what the autoscalers say, what of replicas the targets have, and which events there were, by name and without times.
func (w world) look(t *testing.T) map[string]any {
	t.Helper()
	seen := map[string]any{}
	w.each(t, targets, func(r dynamic.ResourceInterface, o *unstructured.Unstructured) {
		if live, err := r.Get(t.Context(), o.GetName(), metav1.GetOptions{}); err == nil {
			if replicas, ok, _ := unstructured.NestedInt64(live.Object, "spec", "replicas"); ok {
				seen[o.GetKind()+" "+o.GetName()] = replicas
			}
		}
	})
	list, err := w.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, h := range list.Items {
		if h.Status.LastScaleTime != nil {
			h.Status.LastScaleTime = &metav1.Time{}
		}
		for i := range h.Status.Conditions {
			c := &h.Status.Conditions[i]
			if c.LastTransitionTime.IsZero() {
				t.Errorf("%s: condition %s has no time", h.Name, c.Type)
			}
			c.LastTransitionTime = metav1.Time{}
			if c.Reason == "AmbiguousSelector" { // upstream names any two, in any order
				c.Message, _, _ = strings.Cut(c.Message, " (e.g.")
			}
		}
		if strings.HasPrefix(h.Name, "rival") { // the first to be synced sees no other, so that it once knew how many replicas there should be
			h.Status.DesiredReplicas = 0
			h.Status.Conditions = slices.DeleteFunc(h.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
				return c.Type == autoscalingv2.ScalingLimited
			})
		}
		seen["HorizontalPodAutoscaler "+h.Name] = h.Status
	}
	return seen
}

// events are what was told of each autoscaler since a time.
func (w world) events(t *testing.T, since time.Time) map[string]map[string]bool {
	t.Helper()
	list, err := w.client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=HorizontalPodAutoscaler"})
	must(t, err)
	told := map[string]map[string]bool{}
	for _, e := range list.Items {
		if e.LastTimestamp.Time.Before(since.Truncate(time.Second)) || strings.HasPrefix(e.InvolvedObject.Name, "rival") {
			continue // which of the rivals is the first to be synced is a matter of chance
		}
		if told[e.InvolvedObject.Name] == nil {
			told[e.InvolvedObject.Name] = map[string]bool{}
		}
		told[e.InvolvedObject.Name][e.Source.Component+" "+e.Type+" "+e.Reason+": "+e.Message] = true
	}
	return told
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
