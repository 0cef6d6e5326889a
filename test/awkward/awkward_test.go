package awkward

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// fuelMost is a tenth of what a sync may take (limits.fuel).
const fuelMost = 10_000_000_000

// sizes of what is tried: how often the API server is asked for each object, how large what is known to be awkward is,
// and how many dependents are orphaned.
type sizes struct{ asks, known, orphans int }

func sizesOf() sizes {
	if os.Getenv("FULL") != "" {
		return sizes{asks: 2000, known: 10_000, orphans: 40_000}
	}
	return sizes{asks: 24, known: 6_000, orphans: 1_100}
}

// No object that the API server admits stops a controller: none is quarantined, each goes on with ordinary objects
// beside the awkward ones, and no sync takes more than a tenth of its fuel.
func TestAwkwardObjects(t *testing.T) {
	size := sizesOf()
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	w := newWorld(t, c)
	m := windlass.Start(t, c, windlass.Options{})

	w.orphan(size.orphans)
	grown := w.createAwkward(size)
	if least := len(builtin.Plugins); grown < least {
		t.Errorf("only %d fields were grown: with %d plugins that can't be all", grown, least)
	}
	rest := func() map[string]state.ControllerStatus {
		t.Helper()
		var all map[string]state.ControllerStatus
		cluster.Eventually(t, cluster.Patience, "the controllers to rest", func() (bool, string) {
			all = map[string]state.ControllerStatus{}
			busy := ""
			for _, s := range m.Status(t).Controllers {
				all[s.Name] = s
				if s.State == "Quarantined" {
					t.Errorf("%s is quarantined: %s", s.Name, s.Message)
				} else if s.Queue+s.Syncing+s.Parked > 0 {
					busy += fmt.Sprintf("%s: %d in the queue, %d syncing, %d parked; ", s.Name, s.Queue, s.Syncing, s.Parked)
				}
			}
			return busy == "" || t.Failed(), busy
		})
		return all
	}
	before := rest()

	// Ordinary objects are synced, and well, whatever becomes of the others.
	synced := func(s state.ControllerStatus) int64 { return s.Syncs.Total - s.Syncs.Failed }
	w.createOrdinary()
	cluster.Eventually(t, cluster.Patience, "all controllers to sync ordinary objects", func() (bool, string) {
		var still []string
		for _, s := range m.Status(t).Controllers {
			if w.concerns(s.Plugin) && synced(s) <= synced(before[s.Name]) {
				still = append(still, s.Name)
			}
		}
		return len(still) == 0, "still not: " + strings.Join(still, ", ")
	})
	for _, s := range rest() {
		if s.Syncs.Fuel > fuelMost {
			t.Errorf("%s has taken %d units of fuel for %d syncs: some sync may have taken a tenth of its limit", s.Name,
				s.Syncs.Fuel, s.Syncs.Total)
		}
		for _, cause := range s.Causes {
			t.Logf("%s: %d failing: %+v", s.Name, s.Failing, cause)
		}
		if s.Oldest != nil && strings.HasPrefix(s.Oldest.Key, ordinary) {
			t.Errorf("%s fails an ordinary object: %+v", s.Name, s.Oldest)
		}
	}

	w.awaitCollected()
	w.awaitOrphans(size.orphans)
	w.awaitMirrored("many-0", size.known/4)
}

// ordinary and awkward begin the names of namespaces, and of what is in none.
const (
	ordinary = "ordinary-"
	awkward  = "awkward-"
)

type world struct {
	t       *testing.T
	client  dynamic.Interface
	mapper  meta.RESTMapper
	created map[string]bool // plugins of which there is an ordinary object that wakes it
}

func newWorld(t *testing.T, c *cluster.Cluster) *world {
	config := rest.CopyConfig(c.RESTConfig())
	config.QPS, config.Burst = -1, -1
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, client: dynamic.NewForConfigOrDie(config), created: map[string]bool{},
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
}

// on returns where an object is written.
func (w *world) on(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	m, err := w.mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		return w.client.Resource(m.Resource), nil
	}
	return w.client.Resource(m.Resource).Namespace(o.GetNamespace()), nil
}

// place puts an object into a plugin's namespace, or gives it a name of its own if it can be in none.
func (w *world) place(o *unstructured.Unstructured, prefix, plugin string) bool {
	m, err := w.mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	switch {
	case err != nil:
		return false
	case m.Scope.Name() == meta.RESTScopeNameRoot:
		o.SetNamespace("")
		o.SetName(prefix + plugin + "-" + o.GetName())
	default:
		o.SetNamespace(prefix + plugin)
	}
	return true
}

func (w *world) create(o *unstructured.Unstructured) error {
	on, err := w.on(o)
	if err == nil {
		_, err = on.Create(w.t.Context(), o, metav1.CreateOptions{})
	}
	return err
}

func (w *world) createNamespace(name string) {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	o.SetName(name)
	if err := w.create(o); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
}

// admits asks the API server by a dry run.
func (w *world) admits(ctx context.Context, o *unstructured.Unstructured) bool {
	on, err := w.on(o)
	if err == nil {
		_, err = on.Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	return err == nil
}

// createAwkward creates what is known to be awkward, and each plugin's objects with grown fields. It returns how many
// fields are grown.
func (w *world) createAwkward(size sizes) (grown int) {
	t := w.t
	all := known(size.known)
	var mu sync.Mutex
	var wg sync.WaitGroup

	for seed, p := range builtin.Plugins {
		w.createNamespace(awkward + p.Folder)
		for _, text := range all[p.Folder] {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatalf("%v in %.300s", err, text)
			}
			w.place(o, awkward, p.Folder)
			if err := w.create(o); err != nil {
				t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}

		wg.Go(func() {
			for _, o := range bases(t, p.Folder) {
				if o.GetKind() == "Namespace" || o.GetKind() == "Node" || !w.place(o, awkward, p.Folder) ||
					!w.admits(t.Context(), o) {
					continue
				}
				fields, err := grow(t.Context(), o, uint64(seed), size.asks, w.admits)
				if err == nil {
					err = w.create(o)
				}
				if err != nil {
					t.Errorf("%s: %s %s: %v", p.Folder, o.GetKind(), o.GetName(), err)
				}
				mu.Lock()
				grown += len(fields)
				mu.Unlock()
				t.Logf("%s: %s: %v", p.Folder, o.GetKind(), fields)
			}
		})
	}
	wg.Wait()
	return grown
}

// createOrdinary creates each plugin's objects as they are.
func (w *world) createOrdinary() {
	for _, p := range builtin.Plugins {
		w.createNamespace(ordinary + p.Folder)
		keys := keyResources(p)
		for _, o := range bases(w.t, p.Folder) {
			if o.GetKind() == "Namespace" || o.GetKind() == "Node" || !w.place(o, ordinary, p.Folder) {
				continue
			}
			if err := w.create(o); err == nil && slices.Contains(keys, resourceOf(w.mapper, o)) {
				w.created[p.Native.Name] = true
			}
		}
	}
}

// keyResources are those whose objects are the keys of all of a plugin's controllers.
func keyResources(p builtin.Plugin) (all []string) {
	for _, c := range p.Controllers() {
		if !c.Manifest.Key.Single {
			all = append(all, c.Manifest.Views[c.Manifest.Key.View].Resource.String())
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(all)))) != 1 {
		return nil
	}
	return all
}

func resourceOf(mapper meta.RESTMapper, o *unstructured.Unstructured) string {
	m, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(m.Resource.Group+"/"+m.Resource.Version+"/"+m.Resource.Resource, "/")
}

// concerns reports whether an ordinary object is a key of the plugin's.
func (w *world) concerns(plugin string) bool { return w.created[plugin] }

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// awaitCollected waits until the objects are gone whose owners are named by what names nothing.
func (w *world) awaitCollected() {
	w.t.Helper()
	cluster.Eventually(w.t, cluster.Patience, "objects with owners of odd names to be collected", func() (bool, any) {
		l, err := w.client.Resource(configMaps).Namespace(awkward+"garbagecollector").List(w.t.Context(),
			metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		var left []string
		for i := range l.Items {
			if strings.HasPrefix(l.Items[i].GetName(), "odd-") {
				left = append(left, l.Items[i].GetName())
			}
		}
		return len(left) == 0, left
	})
}

const orphaned = "orphaned"

// orphan makes an owner with so many dependents, and deletes it with orphan.
func (w *world) orphan(n int) {
	t := w.t
	w.createNamespace(orphaned)
	on := w.client.Resource(configMaps).Namespace(orphaned)
	owner := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "owner"}}}
	owner, err := on.Create(t.Context(), owner, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	for first := range 16 {
		wg.Go(func() {
			for i := first; i < n; i += 16 {
				child := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
				child.SetName(fmt.Sprint("child-", i))
				child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner",
					UID: owner.GetUID()}})
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

// awaitOrphans waits until the owner is gone, and looks whether all its dependents are left without it.
func (w *world) awaitOrphans(n int) {
	w.t.Helper()
	on := w.client.Resource(configMaps).Namespace(orphaned)
	cluster.Eventually(w.t, time.Duration(n)*100*time.Millisecond+cluster.Patience, "the owner to go",
		func() (bool, any) {
			_, err := on.Get(w.t.Context(), "owner", metav1.GetOptions{})
			return apierrors.IsNotFound(err), err
		})
	l, err := on.List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	left := 0
	for i := range l.Items {
		if strings.HasPrefix(l.Items[i].GetName(), "child-") && len(l.Items[i].GetOwnerReferences()) == 0 {
			left++
		}
	}
	if left != n {
		w.t.Errorf("%d of %d dependents are left without an owner", left, n)
	}
}

// awaitMirrored waits until Endpoints of many subsets have as many slices.
func (w *world) awaitMirrored(name string, want int) {
	w.t.Helper()
	slices := schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	cluster.Eventually(w.t, cluster.Patience, "slices of many subsets", func() (bool, string) {
		l, err := w.client.Resource(slices).Namespace(awkward+"endpointslicemirroring").List(w.t.Context(),
			metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name})
		if err != nil {
			return false, err.Error()
		}
		return len(l.Items) == want, fmt.Sprintf("%d of %d", len(l.Items), want)
	})
}
