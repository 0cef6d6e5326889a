package awkward

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// Namespace is where the known objects are that are in one; it begins the names of the other objects' namespaces, and
// of what is in none.
const Namespace = "awkward"

// Size says how much there is.
type Size struct {
	// Many is how many there are of what is known to be awkward, in a unit of its own: 1 takes seconds.
	Many int
	// Orphans are how many objects lose their owner.
	Orphans int
	// Rounds are how often each kind's fields are grown; each time but the first only some of them.
	Rounds int
	// Asks are how often the API server is asked what it admits, for each object.
	Asks int
	// Bytes are the most that an object with grown fields has.
	Bytes int
}

// Place is a cluster in which there are awkward objects.
type Place struct {
	cluster  *cluster.Cluster
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
	mapper   meta.RESTMapper
	// namespaces are those that it has made.
	namespaces []string
}

// NewPlace is of a cluster with a manager.
func NewPlace(c *cluster.Cluster) *Place {
	config := c.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
	client := kubernetes.NewForConfigOrDie(config)
	return &Place{cluster: c, client: client, dynamic: dynamic.NewForConfigOrDie(config),
		metadata: metadata.NewForConfigOrDie(config),
		mapper:   restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))}
}

// Objects makes the namespaces of the awkward objects of all built-in plugins, whose folder is given, and returns the
// objects: those that are known to be awkward, and each kind that a plugin's golden cases have, with its fields as
// large as the API server admits them. It fails the test where a plugin has none.
func (p *Place) Objects(t testing.TB, plugins string, size Size) (all []*unstructured.Unstructured) {
	t.Helper()
	p.namespace(t, Namespace)
	for _, texts := range objects(size.Many) {
		for _, text := range texts {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatalf("%v in %.300s", err, text)
			}
			if !p.place(o, Namespace, "") {
				t.Fatalf("no such kind: %.300s", text)
			}
			all = append(all, o)
		}
	}

	g := &grower{most: size.Bytes, asks: size.Asks, refused: map[string]bool{}}
	g.admits = func(o *unstructured.Unstructured) bool { return p.create(t, o, metav1.DryRunAll) == nil }
	seed := uint64(0)
	for _, plugin := range builtin.Plugins {
		kinds, found := bases(t, plugins, plugin.Folder), len(all)
		for round := range size.Rounds {
			g.percent = 100
			if round > 0 {
				g.percent = 50
			}
			seed++
			name := fmt.Sprintf("%s-%s-%d", Namespace, plugin.Folder, round)
			all = append(all, p.grown(t, g, kinds, name, seed)...)
		}
		if len(all) == found {
			t.Errorf("plugin %s: its golden cases have no object that the API server admits, larger too", plugin.Folder)
		}
	}
	return all
}

// grown returns an object of each kind, in a namespace that it makes or with a name that begins with it, whose fields
// are as large as the API server admits. Kinds are left out of which no object is admitted as it is: nobody has such a
// one, or what it names isn't there.
func (p *Place) grown(t testing.TB, g *grower, kinds [][]*unstructured.Unstructured, name string, seed uint64) (
	all []*unstructured.Unstructured) {
	t.Helper()
	p.namespace(t, name)
	for _, kind := range kinds {
		o := p.firstAdmitted(kind, name, g)
		if o == nil {
			continue
		}
		fields, err := g.grow(o, seed)
		if err != nil {
			t.Errorf("%s: %s %s: %v", name, o.GetKind(), o.GetName(), err)
		}
		if len(fields) > 0 {
			t.Logf("%s: %s: %s", name, o.GetKind(), strings.Join(fields, " "))
			all = append(all, o)
		}
	}
	return all
}

// firstAdmitted returns the first of the objects, in a namespace or with a name that begins with it, that the API
// server admits as it is; nil: none.
func (p *Place) firstAdmitted(all []*unstructured.Unstructured, name string, g *grower) *unstructured.Unstructured {
	for _, o := range all {
		o = o.DeepCopy()
		if p.place(o, name, name+"-") && g.admits(o) {
			return o
		}
	}
	return nil
}

// Create creates objects, in namespaces that it makes where they aren't there.
func (p *Place) Create(t testing.TB, all []*unstructured.Unstructured) {
	t.Helper()
	made := map[string]bool{}
	for _, o := range all {
		if name := o.GetNamespace(); name != "" && !made[name] {
			p.namespace(t, name)
			made[name] = true
		}
		if err := p.create(t, o); err != nil {
			t.Errorf("%s %s %s: %.500s", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
	}
}

// CreateNamespaces makes the namespaces that another place has made.
func (p *Place) CreateNamespaces(t testing.TB, of *Place) {
	t.Helper()
	for _, name := range of.namespaces {
		p.namespace(t, name)
	}
}

// namespace makes a namespace and waits for its account, without which admission refuses pods.
func (p *Place) namespace(t testing.TB, name string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	o.SetName(name)
	if err := p.create(t, o); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	windlass.Account(t, p.client, name)
	p.namespaces = append(p.namespaces, name)
}

// place puts an object into a namespace, or gives it a name of its own where it is in none. It reports whether there
// are objects of its kind.
func (p *Place) place(o *unstructured.Unstructured, namespace, prefix string) bool {
	m, err := p.mapping(o)
	switch {
	case err != nil:
		return false
	case m.Scope.Name() == meta.RESTScopeNameRoot:
		o.SetNamespace("")
		o.SetName(prefix + o.GetName())
	default:
		o.SetNamespace(namespace)
	}
	return true
}

func (p *Place) mapping(o *unstructured.Unstructured) (*meta.RESTMapping, error) {
	kind := o.GroupVersionKind()
	return p.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

func (p *Place) create(t testing.TB, o *unstructured.Unstructured, dry ...string) error {
	m, err := p.mapping(o)
	if err != nil {
		return err
	}
	var on dynamic.ResourceInterface = p.dynamic.Resource(m.Resource)
	if o.GetNamespace() != "" {
		on = p.dynamic.Resource(m.Resource).Namespace(o.GetNamespace())
	}
	_, err = on.Create(t.Context(), o, metav1.CreateOptions{DryRun: dry})
	return err
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// child begins the names of orphans.
const child = "child-"

// CreateOrphans makes an owner of so many objects, and deletes it with orphan.
func (p *Place) CreateOrphans(t testing.TB, n int) {
	t.Helper()
	p.namespace(t, Namespace)
	on := p.dynamic.Resource(configMaps).Namespace(Namespace)
	owner, err := on.Create(t.Context(), configMap("owner", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	const clients = 16
	for first := range clients {
		wg.Go(func() {
			for i := first; i < n; i += clients {
				o := configMap(fmt.Sprint(child, i), owner)
				if _, err := on.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
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
func (p *Place) Left(t testing.TB, orphans int) string {
	t.Helper()
	l, err := p.metadata.Resource(configMaps).Namespace(Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	owned, free := 0, 0
	for i := range l.Items {
		switch o := &l.Items[i]; {
		case len(o.GetOwnerReferences()) > 0 || o.GetName() == "owner":
			owned++
		case strings.HasPrefix(o.GetName(), child):
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
