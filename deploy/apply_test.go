package deploy

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/windlass-dev/windlass/test/cluster"
)

// helm applies objects as helm does, and takes note of what the API server warns of.
type helm struct {
	cluster *cluster.Cluster
	client  dynamic.Interface

	mu       sync.Mutex
	warnings []string
}

func newHelm(c *cluster.Cluster) *helm {
	h := &helm{cluster: c}
	config := c.RESTConfig()
	config.WarningHandler = h
	h.client = dynamic.NewForConfigOrDie(config)
	return h
}

func (h *helm) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warnings = append(h.warnings, text)
}

// resourceClient returns the client of an object's resource.
func (h *helm) resourceClient(o *unstructured.Unstructured) dynamic.ResourceInterface {
	gvr, _ := apimeta.UnsafeGuessKindToResource(o.GroupVersionKind())
	return h.client.Resource(gvr).Namespace(o.GetNamespace())
}

// applyObjects applies the objects with server-side apply, which refuses fields that aren't there. dryRun has the API
// server do all but store them.
func (h *helm) applyObjects(t *testing.T, objects []*unstructured.Unstructured, dryRun ...string) {
	t.Helper()
	for _, o := range objects {
		if _, err := h.resourceClient(o).Apply(t.Context(), o.GetName(), o,
			metav1.ApplyOptions{FieldManager: "helm", DryRun: dryRun}); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.warnings {
		t.Errorf("the API server warns: %s", w)
	}
	h.warnings = nil
}

// uninstall deletes the objects and waits until they are gone.
func (h *helm) uninstall(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	for _, o := range slices.Backward(objects) {
		if err := h.resourceClient(o).Delete(t.Context(), o.GetName(),
			metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range objects {
		cluster.Eventually(t, time.Minute, o.GetKind()+" "+o.GetName()+" to go", func() (bool, any) {
			_, err := h.resourceClient(o).Get(t.Context(), o.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err), err
		})
	}
}

// What the chart renders is taken by the API server to the letter, for each file of values, and so are the plain
// manifests and the static pod. All pods are allowed where Pod Security is "restricted", except for the static pod,
// which reads the node's files.
func TestAPIServerTakesIt(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	h := newHelm(c)
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "windlass-system", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
	}}}
	if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), restricted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	serviceAccount(t, c, restricted.Name, "windlass")
	serviceAccount(t, c, "kube-system", "default")
	h.applyObjects(t, documents(t, serviceMonitors))
	cluster.Eventually(t, time.Minute, "ServiceMonitors to be served", func() (bool, any) {
		_, err := c.Client().Discovery().ServerResourcesForGroupVersion(monitoring)
		return err == nil, err
	})

	for name, values := range examples(t) {
		out := release{name: "windlass", namespace: restricted.Name, values: values, apis: []string{monitoring}}.mustRender(t)
		h.applyObjects(t, out.objects, metav1.DryRunAll)
		deployment := out.get(t, "Deployment", "windlass")
		template, _, _ := unstructured.NestedMap(deployment.Object, "spec", "template")
		pod := &unstructured.Unstructured{Object: template}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetName("windlass")
		pod.SetNamespace(restricted.Name)
		h.applyObjects(t, []*unstructured.Unstructured{pod}, metav1.DryRunAll)
		if t.Failed() {
			t.Fatalf("with the values of %s:\n%s", name, strings.Join(out.text, "---\n"))
		}
		if !strings.Contains(out.notes, "rollout status deployment/windlass") {
			t.Errorf("%s: the notes don't say what to do next:\n%s", name, out.notes)
		}
	}
	h.applyObjects(t, documents(t, readFile(t, "manifests/windlass.yaml")), metav1.DryRunAll)
	h.applyObjects(t, documents(t, readFile(t, "static-pod.yaml")), metav1.DryRunAll)
}

// Without the Prometheus operator there is no ServiceMonitor, whatever the values say.
func TestServiceMonitorNeedsItsKind(t *testing.T) {
	r := release{name: "windlass", namespace: "monitored",
		values: image + "serviceMonitor: {enabled: true, labels: {team: a}}\n"}
	for _, o := range r.mustRender(t).objects {
		if o.GetKind() == "ServiceMonitor" {
			t.Error("a ServiceMonitor is rendered for a cluster that has no such kind")
		}
	}
	r.apis = []string{monitoring}
	m := r.mustRender(t).get(t, "ServiceMonitor", "windlass")
	if m.GetLabels()["team"] != "a" {
		t.Errorf("its labels are %v", m.GetLabels())
	}
}

// serviceMonitors is the kind, as far as the chart uses it
// (github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1).
const serviceMonitors = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, listKind: ServiceMonitorList, plural: servicemonitors, singular: servicemonitor}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [endpoints, selector]
            properties:
              jobLabel: {type: string}
              namespaceSelector: {type: object, properties: {any: {type: boolean}, matchNames: {type: array, items: {type: string}}}}
              selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}}}
              endpoints:
                type: array
                items:
                  type: object
                  properties:
                    port: {type: string}
                    scheme: {type: string, enum: [http, https]}
                    interval: {type: string, pattern: "^(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?$"}
                    bearerTokenFile: {type: string}
                    tlsConfig: {type: object, properties: {insecureSkipVerify: {type: boolean}, serverName: {type: string}, caFile: {type: string}}}
`
