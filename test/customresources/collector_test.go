package customresources

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const collector = "garbage-collector-controller"

// collected is a cluster whose collector, ours or the native one, has to do with custom resources.
type collected struct {
	t      *testing.T
	native bool
	client dynamic.Interface
	laters int // how many definitions came later
}

// withEachCollector plays a test with either collector, each on a cluster of its own.
func withEachCollector(t *testing.T, play func(c *collected)) {
	t.Parallel() // the native one takes two minutes for one of them, waiting
	for _, who := range []string{"windlass", "native"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			x := cluster.Start(t, cluster.Options{})
			if who == "windlass" {
				windlass.Start(t, x, windlass.Options{Controllers: []string{collector}})
			} else {
				x.Native(t, []string{collector})
			}
			play(&collected{t: t, native: who == "native", client: dynamic.NewForConfigOrDie(x.RESTConfig())})
		})
	}
}

func (c *collected) must(o *unstructured.Unstructured, err error) *unstructured.Unstructured {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

var things = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}

// defineThings makes the definition of things, of which these versions are served.
func (c *collected) defineThings(served ...string) {
	c.t.Helper()
	c.must(c.client.Resource(definitions).Create(c.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "versions": versions(served...),
			"names": map[string]any{"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
		},
	}}, metav1.CreateOptions{}))
	c.eventually("things are served", func() (bool, string) {
		_, err := c.client.Resource(things).Namespace(namespace).List(c.t.Context(), metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// versions are v1, which is stored, and v2.
func versions(served ...string) (all []any) {
	for _, v := range []string{"v1", "v2"} {
		all = append(all, map[string]any{
			"name": v, "served": slices.Contains(served, v), "storage": v == "v1",
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
				"x-kubernetes-preserve-unknown-fields": true}},
		})
	}
	return all
}

func (c *collected) redefine(spec map[string]any) {
	c.t.Helper()
	b, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		c.t.Fatal(err)
	}
	c.must(c.client.Resource(definitions).Patch(c.t.Context(), "things.example.com", types.MergePatchType, b,
		metav1.PatchOptions{}))
}

func newObject(apiVersion, kind, name string, owner *unstructured.Unstructured) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetName(name)
	if owner != nil {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(),
			Name: owner.GetName(), UID: owner.GetUID()}})
	}
	return o
}

func (c *collected) createObject(r schema.GroupVersionResource,
	o *unstructured.Unstructured) *unstructured.Unstructured {
	c.t.Helper()
	return c.must(c.client.Resource(r).Namespace(namespace).Create(c.t.Context(), o, metav1.CreateOptions{}))
}

func (c *collected) deleteObject(r schema.GroupVersionResource, name string, policy metav1.DeletionPropagation) {
	c.t.Helper()
	if err := c.client.Resource(r).Namespace(namespace).Delete(c.t.Context(), name,
		metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *collected) awaitGone(r schema.GroupVersionResource, name string) {
	c.t.Helper()
	c.eventually(name+" is gone", func() (bool, string) {
		o, err := c.client.Resource(r).Namespace(namespace).Get(c.t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(o, err)
	})
}

func (c *collected) eventually(what string, condition func() (bool, string)) {
	c.t.Helper()
	cluster.Eventually(c.t, cluster.Patience, what, condition)
}

// createFamily makes a ConfigMap that owns a thing, which the collector knows.
func (c *collected) createFamily() {
	c.t.Helper()
	c.defineThings("v1")
	c.awaitCollection("first")
	owner := c.createObject(configMaps, newObject("v1", "ConfigMap", "owner", nil))
	c.createObject(things, newObject("example.com/v1", "Thing", "child", owner))
}

// checkChildKept waits until the owner is gone, and fails where the thing is as well, or still names it.
func (c *collected) checkChildKept() {
	c.t.Helper()
	c.awaitGone(configMaps, "owner")
	c.awaitCollection("second")
	child := c.must(c.client.Resource(things).Namespace(namespace).Get(c.t.Context(), "child", metav1.GetOptions{}))
	if len(child.GetOwnerReferences()) > 0 {
		c.t.Errorf("the child still has an owner: %v", child.GetOwnerReferences())
	}
}

// awaitCollection waits until the collector has seen all that there is by now: it has collected a thing's dependent, of
// the version that it watches.
func (c *collected) awaitCollection(name string) {
	c.t.Helper()
	nobody := newObject("v1", "ConfigMap", "nobody", nil)
	nobody.SetUID("nobody")
	c.createObject(things, newObject("example.com/v1", "Thing", name, nobody))
	c.awaitGone(things, name)
}

// The dependents of custom resources go when the definition does, and its objects with it.
func TestADefinitionGoesWithItsObjects(t *testing.T) {
	withEachCollector(t, func(c *collected) {
		const dependents = 100
		c.defineThings("v1")
		c.awaitCollection("first")
		owner := c.createObject(things, newObject("example.com/v1", "Thing", "owner", nil))
		for i := range dependents {
			c.createObject(configMaps, newObject("v1", "ConfigMap", fmt.Sprint("dependent-", i), owner))
		}
		if err := c.client.Resource(definitions).Delete(c.t.Context(), "things.example.com",
			metav1.DeleteOptions{}); err != nil {
			c.t.Fatal(err)
		}
		c.eventually("the dependents are gone", func() (bool, string) {
			l, err := c.client.Resource(configMaps).Namespace(namespace).List(c.t.Context(), metav1.ListOptions{})
			n := 0
			for i := range l.Items {
				if strings.HasPrefix(l.Items[i].GetName(), "dependent-") {
					n++
				}
			}
			return err == nil && n == 0, fmt.Sprint(n, err)
		})
		// One that comes when nobody knows the kind any longer: that its owner is gone is known all the same. The native
		// collector keeps it.
		if c.native {
			return
		}
		c.awaitRediscovery()
		c.createObject(configMaps, newObject("v1", "ConfigMap", "late", owner))
		c.awaitGone(configMaps, "late")
	})
}

// awaitRediscovery waits until the collector has looked for resources again: it has seen what was there when it has
// seen what came later.
func (c *collected) awaitRediscovery() {
	c.t.Helper()
	c.laters++
	plural, kind := fmt.Sprint("laters", c.laters), fmt.Sprint("Later", c.laters)
	c.must(c.client.Resource(definitions).Create(c.t.Context(), otherKind(plural, kind), metav1.CreateOptions{}))
	laters := schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: plural}
	nobody := newObject("v1", "ConfigMap", "nobody", nil)
	nobody.SetUID("nobody")
	c.eventually("a later thing is made", func() (bool, string) {
		_, err := c.client.Resource(laters).Namespace(namespace).Create(c.t.Context(),
			newObject("example.org/v1", kind, "later", nobody), metav1.CreateOptions{})
		return err == nil, fmt.Sprint(err)
	})
	c.awaitGone(laters, "later")
}

// otherKind is a definition of another group than that of things.
func otherKind(plural, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + ".example.org"},
		"spec": map[string]any{
			"group": "example.org", "scope": "Namespaced", "versions": versions("v1"),
			"names": map[string]any{"plural": plural, "singular": strings.ToLower(kind), "kind": kind,
				"listKind": kind + "List"},
		},
	}}
}

// While a resource isn't served, its objects count as they were known: an owner that lets them go waits for them.
func TestNothingIsServed(t *testing.T) {
	withEachCollector(t, func(c *collected) {
		c.createFamily()
		c.redefine(map[string]any{"versions": versions()})
		c.eventually("things aren't served", func() (bool, string) {
			_, err := c.client.Resource(things).Namespace(namespace).List(c.t.Context(), metav1.ListOptions{})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
		c.awaitRediscovery()
		c.deleteObject(configMaps, "owner", metav1.DeletePropagationOrphan)
		c.awaitRediscovery()
		c.redefine(map[string]any{"versions": versions("v1")})
		c.checkChildKept()
	})
}

// What an APIService served counts as it was known while another one is in its place that nobody answers for, and goes
// on when it is made anew.
func TestAnAPIServiceIsMadeAnew(t *testing.T) {
	withEachCollector(t, func(c *collected) {
		c.createFamily()
		const name = "v1.example.com"
		apiServices := c.client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1",
			Resource: "apiservices"})
		nobody := []byte(`{"metadata": {"labels": {"kube-aggregator.kubernetes.io/automanaged": null}}, "spec": {"service": {"namespace": "default", "name": "nobody"}, "insecureSkipTLSVerify": true}}`)
		c.must(apiServices.Patch(c.t.Context(), name, types.MergePatchType, nobody, metav1.PatchOptions{}))
		c.eventually("things aren't served", func() (bool, string) {
			_, err := c.client.Resource(things).Namespace(namespace).List(c.t.Context(), metav1.ListOptions{})
			return apierrors.IsServiceUnavailable(err), fmt.Sprint(err)
		})
		c.awaitRediscovery()
		c.deleteObject(configMaps, "owner", metav1.DeletePropagationOrphan)
		c.awaitRediscovery()
		if err := apiServices.Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			c.t.Fatal(err)
		}
		c.eventually("things are served again", func() (bool, string) {
			_, err := c.client.Resource(things).Namespace(namespace).List(c.t.Context(), metav1.ListOptions{})
			return err == nil, fmt.Sprint(err)
		})
		c.checkChildKept()
	})
}

// Where another version is preferred that can't be listed, what was known of the one before counts: an owner's
// dependents are let go as it asks, none is taken for absent.
func TestAnotherVersionCantBeListed(t *testing.T) {
	withEachCollector(t, func(c *collected) {
		c.createFamily()
		c.redefine(map[string]any{"versions": versions("v1", "v2"),
			"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/nobody"},
			}}})
		v2 := things
		v2.Version = "v2"
		c.eventually("v2 is served and can't be converted to", func() (bool, string) {
			_, err := c.client.Resource(v2).Namespace(namespace).List(c.t.Context(), metav1.ListOptions{})
			return err != nil && strings.Contains(err.Error(), "conversion webhook"), fmt.Sprint(err)
		})
		c.awaitRediscovery()
		c.deleteObject(configMaps, "owner", metav1.DeletePropagationOrphan)
		c.redefine(map[string]any{"conversion": map[string]any{"strategy": "None", "webhook": nil}})
		c.checkChildKept()
	})
}
