package awkward

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/windlass-dev/windlass/plugins/builtin"
)

// Namespace is where the objects are that are in one.
const Namespace = "awkward"

// Create creates the objects of all built-in plugins; the namespace must be there. size is about 1 in a test that takes
// seconds.
func Create(t testing.TB, client dynamic.Interface, size int) {
	t.Helper()
	all := objects(size)
	for _, p := range builtin.Plugins {
		if len(all[p.Folder]) == 0 {
			t.Errorf("plugin %s has no awkward objects: give it some", p.Folder)
		}
		for _, text := range all[p.Folder] {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatalf("%v in %.300s", err, text)
			}
			if _, err := resourceOf(client, o).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
				t.Errorf("%s: %s %s: %.500s", p.Folder, o.GetKind(), o.GetName(), err)
			}
		}
	}
}

// inNoNamespace are kinds whose objects are in none.
var inNoNamespace = map[string]bool{"Namespace": true, "ClusterRole": true, "CertificateSigningRequest": true,
	"PersistentVolume": true, "VolumeAttributesClass": true, "ServiceCIDR": true}

func resourceOf(client dynamic.Interface, o *unstructured.Unstructured) dynamic.ResourceInterface {
	r, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if inNoNamespace[o.GetKind()] {
		return client.Resource(r)
	}
	return client.Resource(r).Namespace(Namespace)
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// CreateOrphans makes an owner of so many objects, and deletes it with orphan.
func CreateOrphans(t testing.TB, client dynamic.Interface, n int) {
	t.Helper()
	on := client.Resource(configMaps).Namespace(Namespace)
	owner, err := on.Create(t.Context(), configMap("owner", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	const clients = 16
	for first := range clients {
		wg.Go(func() {
			for i := first; i < n; i += clients {
				child := configMap(fmt.Sprint("child-", i), owner)
				if _, err := on.Create(t.Context(), child, metav1.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()

	policy := metav1.DeletePropagationOrphan
	if err := on.Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}

func configMap(name string, owner *unstructured.Unstructured) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name}}}
	if owner != nil {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(),
			UID: owner.GetUID()}})
	}
	return o
}

// Left says what the garbage collector has yet to do: owners of odd names aren't there, and the orphans lose theirs; ""
// when it is done. It fails the test where orphans are gone.
func Left(ctx context.Context, t testing.TB, client dynamic.Interface, orphans int) string {
	t.Helper()
	l, err := client.Resource(configMaps).Namespace(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	owned, free := 0, 0
	for i := range l.Items {
		switch o := &l.Items[i]; {
		case len(o.GetOwnerReferences()) > 0 || o.GetName() == "owner":
			owned++
		case strings.HasPrefix(o.GetName(), "child-"):
			free++
		}
	}

	if owned > 0 {
		return fmt.Sprint(owned, " objects with owners")
	}
	if free != orphans {
		t.Errorf("%d of %d orphans are left", free, orphans)
	}
	return ""
}
