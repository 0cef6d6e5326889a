package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// Server has the registry of a kube-apiserver. Many clusters share it, one after the other.
type Server struct {
	lock      sync.Mutex
	resources map[schema.GroupVersionResource]*resource
	ordered   []schema.GroupVersionResource // those that keep objects
	prefixes  map[string]*resource          // by the beginning of their objects' keys
	admission *admission
	cluster   *Cluster // whose request is being served
}

// NewServer returns a server without clusters.
func NewServer() (*Server, error) {
	s := &Server{resources: map[schema.GroupVersionResource]*resource{}, prefixes: map[string]*resource{}}
	all, err := registry(options{s})
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		s.resources[r.gvr] = r
		s.prefixes[prefix(r.gvr.GroupResource())] = r
		if r.keepsObjects() {
			s.ordered = append(s.ordered, r.gvr)
		}
	}
	slices.SortFunc(s.ordered, func(a, b schema.GroupVersionResource) int {
		return strings.Compare(a.String(), b.String())
	})
	s.admission, err = newAdmission()
	return s, err
}

func prefix(r schema.GroupResource) string { return "/" + r.Group + "/" + r.Resource }

// options give the registry its storage.
type options struct{ server *Server }

func (o options) GetRESTOptions(r schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig: &storagebackend.ConfigForResource{
			GroupResource: r,
			// A dry run's answer is made of what it would have stored.
			Config: storagebackend.Config{
				Codec: legacyscheme.Codecs.LegacyCodec(legacyscheme.Scheme.PrioritizedVersionsAllGroups()...),
			},
		},
		ResourcePrefix:          prefix(r),
		EnableGarbageCollection: true,
		DeleteCollectionWorkers: 1,
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error),
			func() runtime.Object,
			func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface,
			factory.DestroyFunc, error) {
			return store{o.server}, func() {}, nil
		},
	}, nil
}

// Cluster is one cluster's objects. It may be cloned, and be written to by clients ([Cluster.Config]) or directly.
type Cluster struct {
	server *Server
	memory *memory
	// Requests are those that clients have made since it was last emptied.
	Requests []*Request
	// Fault is asked before each write of a client; its error is the answer.
	Fault func(*Request) error
	// Aggregated is what other API servers serve; nil: there are none.
	Aggregated *Aggregated
	// Forgiving has a client that updates an object twice in one sync meet no conflict with itself.
	Forgiving bool
	// ByAge has List return objects whose names were made up in the order in which they were made: a controller that goes
	// its own way makes up other names.
	ByAge bool
	// Latency, where set, is what becomes of requests on their way.
	Latency Latency
}

// NewCluster returns a cluster in which nothing is.
func (s *Server) NewCluster() *Cluster { return &Cluster{server: s, memory: newMemory()} }

// Clone returns a cluster with the same objects.
func (c *Cluster) Clone() *Cluster {
	return &Cluster{server: c.server, memory: c.memory.clone(), Aggregated: c.Aggregated, ByAge: c.ByAge}
}

// Past has the cluster's next version be one that another hasn't had either.
func (c *Cluster) Past(other *Cluster) {
	c.memory.version = max(c.memory.version, other.memory.version)
}

// Change is one change of an object, as a watch shows it: old or new is nil where it came or went.
type Change struct {
	Resource schema.GroupVersionResource
	Version  uint64
	Old, New runtime.Object // in the resource's version
}

// Changes returns what has changed since it was last called, in order.
func (c *Cluster) Changes() ([]Change, error) {
	c.server.lock.Lock()
	defer c.server.lock.Unlock()
	var all []Change
	for _, x := range c.memory.changes {
		r := c.server.resourceOf(x.key)
		if r == nil {
			return nil, fmt.Errorf("change of %s: no resource has such a key", x)
		}
		old, err := r.external(x.old)
		if err != nil {
			return nil, err
		}
		now, err := r.external(x.new)
		if err != nil {
			return nil, err
		}
		all = append(all, Change{r.gvr, x.version, old, now})
	}
	c.memory.changes = nil
	return all, nil
}

func (s *Server) resourceOf(key string) *resource {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) < 4 {
		return nil
	}
	return s.prefixes["/"+parts[1]+"/"+parts[2]]
}

// external returns an object in its resource's version; nothing of nothing.
func (r *resource) external(o runtime.Object) (runtime.Object, error) {
	if o == nil {
		return nil, nil
	}
	return legacyscheme.Scheme.ConvertToVersion(o, r.gvr.GroupVersion())
}

// List returns a resource's objects in its version, in the order of their keys.
func (c *Cluster) List(gvr schema.GroupVersionResource) ([]runtime.Object, error) {
	c.server.lock.Lock()
	defer c.server.lock.Unlock()
	r, ok := c.server.resources[gvr]
	if !ok {
		return nil, fmt.Errorf("the cluster in memory doesn't serve %s", gvr)
	}
	var all []runtime.Object
	keys := c.memory.under(prefix(gvr.GroupResource()) + "/")
	if c.ByAge {
		c.memory.sortByAge(keys)
	}
	for _, key := range keys {
		o, err := r.external(c.memory.objects[key])
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// Stored is an object of a cluster, in its resource's version.
type Stored struct {
	Resource schema.GroupVersionResource
	Object   runtime.Object
}

// Unlike returns of each of two clusters the objects that the other doesn't have, or otherwise than in its version, in
// the order of their keys.
func Unlike(a, b *Cluster) (unlike [2][]Stored, err error) {
	a.server.lock.Lock()
	defer a.server.lock.Unlock()
	for _, key := range union(a.memory.under("/"), b.memory.under("/")) {
		pair := [2]runtime.Object{a.memory.objects[key], b.memory.objects[key]}
		if same(pair[0], pair[1]) {
			continue
		}
		r := a.server.resourceOf(key)
		if r == nil {
			return unlike, fmt.Errorf("%s: no resource has such a key", key)
		}
		for i, o := range pair {
			if o == nil {
				continue
			}
			if o, err = r.external(o); err != nil {
				return unlike, err
			}
			unlike[i] = append(unlike[i], Stored{r.gvr, o})
		}
	}
	return unlike, nil
}

func union(a, b []string) []string {
	all := append(a, b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// same reports whether two objects differ in nothing but their versions.
func same(a, b runtime.Object) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	a, b = a.DeepCopyObject(), b.DeepCopyObject()
	for _, o := range []runtime.Object{a, b} {
		o.(metav1.Object).SetResourceVersion("")
	}
	return equality.Semantic.DeepEqual(a, b)
}

// Resources returns all resources that are served and of which there are objects, in order: a review is only answered.
// It isn't to be changed.
func (s *Server) Resources() []schema.GroupVersionResource { return s.ordered }

// resourceFor returns the resource of an object's kind.
func (s *Server) resourceFor(o runtime.Object) (*resource, error) {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(o)
	if err != nil {
		return nil, err
	}
	for _, r := range s.resources {
		if r.gvr.GroupVersion().WithKind(r.kind) == kinds[0] {
			return r, nil
		}
	}
	return nil, fmt.Errorf("the cluster in memory doesn't serve %s", kinds[0])
}

// internal returns an object in the registry's form, with its defaults.
func internal(o runtime.Object) (runtime.Object, error) {
	o = o.DeepCopyObject()
	legacyscheme.Scheme.Default(o)
	return legacyscheme.Scheme.UnsafeConvertToVersion(o, runtime.InternalGroupVersioner)
}

func (r *resource) context(namespace, subresource string) context.Context {
	ctx := genericrequest.WithRequestInfo(context.Background(), &genericrequest.RequestInfo{
		IsResourceRequest: true, APIGroup: r.gvr.Group, APIVersion: r.gvr.Version, Resource: r.gvr.Resource,
		Namespace:   namespace,
		Subresource: subresource,
	})
	return genericrequest.WithNamespace(ctx, namespace)
}

// Add puts an object into the cluster as it is, status, times and UID included, if a server would have admitted it: the
// error is what the server says against it. What isn't set gets its default.
func (c *Cluster) Add(o runtime.Object) error {
	c.server.lock.Lock()
	defer c.server.lock.Unlock()
	c.server.cluster = c
	r, err := c.server.resourceFor(o)
	if err != nil {
		return err
	}
	wanted, err := internal(o)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(wanted)
	if err != nil {
		return err
	}

	before := c.memory.mark()
	made, err := c.create(r, m.GetNamespace(), wanted.DeepCopyObject(), &metav1.CreateOptions{})
	if err != nil {
		return err
	}
	now, err := meta.Accessor(made)
	if err != nil {
		return err
	}
	key := c.key(r, now)
	stored := c.memory.objects[key].DeepCopyObject()
	overlay(stored, wanted)
	s, _ := meta.Accessor(stored)
	keepMeta(s, m)
	if err := c.memory.put(key, stored); err != nil {
		return err
	}
	// it comes as it is
	c.memory.changes = append(c.memory.changes[:before.changes], change{c.memory.version, key, nil, stored})
	return nil
}

// keepMeta takes over what only the server sets.
func keepMeta(into, from metav1.Object) {
	if uid := from.GetUID(); uid != "" {
		into.SetUID(uid)
	}
	if t := from.GetCreationTimestamp(); !t.IsZero() {
		into.SetCreationTimestamp(t)
	}
	if g := from.GetGeneration(); g != 0 {
		into.SetGeneration(g)
	}
	into.SetDeletionTimestamp(from.GetDeletionTimestamp())
	into.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
}

func (c *Cluster) key(r *resource, m metav1.Object) string {
	key := prefix(r.gvr.GroupResource()) + "/"
	if r.namespaced {
		key += m.GetNamespace() + "/"
	}
	return key + m.GetName()
}

// Change replaces an object by what f makes of it, whatever it changes, as the sum of others' writes; f gets it in its
// resource's version.
func (c *Cluster) Change(gvr schema.GroupVersionResource, namespace, name string, f func(runtime.Object)) error {
	c.server.lock.Lock()
	defer c.server.lock.Unlock()
	r, old, key, err := c.find(gvr, namespace, name)
	if err != nil {
		return err
	}
	o, err := r.external(old)
	if err != nil {
		return err
	}
	f(o)
	stored, err := internal(o)
	if err != nil || equality.Semantic.DeepEqual(stored, old) {
		return err // a write that changes nothing is no event
	}
	return c.memory.put(key, stored)
}

// Remove removes an object at once.
func (c *Cluster) Remove(gvr schema.GroupVersionResource, namespace, name string) error {
	c.server.lock.Lock()
	defer c.server.lock.Unlock()
	_, _, key, err := c.find(gvr, namespace, name)
	if err != nil {
		return err
	}
	return c.memory.put(key, nil)
}

// Delete deletes an object as a user does.
func (c *Cluster) Delete(gvr schema.GroupVersionResource, namespace, name string, o *metav1.DeleteOptions) error {
	c.server.lock.Lock()
	defer c.server.lock.Unlock()
	c.server.cluster = c
	r, _, _, err := c.find(gvr, namespace, name)
	if err != nil {
		return err
	}
	_, _, err = r.storage.(rest.GracefulDeleter).Delete(r.context(namespace, ""), name, rest.ValidateAllObjectFunc, o)
	return err
}

func (c *Cluster) find(gvr schema.GroupVersionResource, namespace, name string) (*resource, runtime.Object, string,
	error) {
	r, ok := c.server.resources[gvr]
	if !ok {
		return nil, nil, "", fmt.Errorf("the cluster in memory doesn't serve %s", gvr)
	}
	key := c.key(r, &metav1.ObjectMeta{Namespace: namespace, Name: name})
	o := c.memory.objects[key]
	if o == nil {
		return nil, nil, "", fmt.Errorf("there is no %s %s", gvr.Resource,
			types.NamespacedName{Namespace: namespace, Name: name})
	}
	return r, o, key, nil
}

// Kinds returns the kinds of all resources that a server has.
var Kinds = sync.OnceValue(func() (all []schema.GroupVersionKind) {
	s, err := NewServer()
	if err != nil {
		panic(err) // there is nothing that it depends on
	}
	for _, r := range s.resources {
		all = append(all, r.gvr.GroupVersion().WithKind(r.kind))
	}
	return all
})

// Resources returns all resources that the cluster serves.
func (c *Cluster) Resources() []schema.GroupVersionResource { return c.server.Resources() }

// External returns an object of the registry in a version.
func External(o runtime.Object, gv schema.GroupVersion) (runtime.Object, error) {
	return legacyscheme.Scheme.ConvertToVersion(o, gv)
}
