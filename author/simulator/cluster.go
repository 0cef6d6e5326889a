package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// Object is an object in JSON's form, with whole numbers as int64.
type Object = unstructured.Unstructured

// Cluster is an API server in memory. Its clients ([Cluster.Config]) may be used concurrently.
//
// A simulation, which does one thing after the other, reads and changes the cluster directly, too, without the mutex.
type Cluster struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil: nobody waits for it

	kinds   map[abi.Resource]*kind
	objects map[abi.Resource]map[string]*Object // by namespace/name
	changes []change
	version int // of the last change
	uids    int
	now     time.Time
	applied map[string]map[string]any // what a field manager has applied last, by object and manager
	events  []Event

	// intercept is asked before each request that writes; it may answer it.
	intercept func(r *write) error
	// wrote is told of each request that was done; its error takes the answer's place.
	wrote func(r *write, o *Object) error
}

// change is one change of an object, as a watch tells it.
type change struct {
	kind     *kind
	version  int
	old, new *Object
}

// Event is what a controller has said about an object.
type Event struct{ Controller, Object, Type, Reason, Message string }

func (e Event) String() string {
	return fmt.Sprintf("event on %s: %s %s: %s", e.Object, e.Type, e.Reason, e.Message)
}

// NewCluster makes an empty cluster of the built-in resources at a time.
func NewCluster(now time.Time) (*Cluster, error) {
	c := &Cluster{kinds: map[abi.Resource]*kind{}, objects: map[abi.Resource]map[string]*Object{},
		now: now.UTC().Truncate(time.Second), applied: map[string]map[string]any{}, version: 1}
	for _, r := range schema.All() {
		k, err := builtinKind(r)
		if err != nil {
			return nil, err
		}
		c.kinds[r] = k
	}
	return c, nil
}

// Define adds the resources of a CustomResourceDefinition.
func (c *Cluster) Define(crd *Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := definitions(crd)
	for _, k := range all {
		c.kinds[k.Resource] = k
	}
	return err
}

// Now is the time in the cluster.
func (c *Cluster) Now() time.Time { return c.now }

func objectName(namespace, name string) string { return namespace + "/" + name }

func objectKey(o *Object) string { return objectName(o.GetNamespace(), o.GetName()) }

// describeObject names an object for people.
func describeObject(o *Object) string {
	return o.GetKind() + " " + strings.TrimPrefix(objectKey(o), "/")
}

func (c *Cluster) getObject(r abi.Resource, namespace, n string) *Object {
	return c.objects[r][objectName(namespace, n)]
}

// sortedObjects returns a resource's objects in the order of their names.
func (c *Cluster) sortedObjects(r abi.Resource) []*Object {
	of := c.objects[r]
	out := make([]*Object, 0, len(of))
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[k])
	}
	return out
}

// everything returns all objects, sorted by resource and name.
func (c *Cluster) everything() (out []*Object, kinds []*kind) {
	for _, r := range schema.Sorted(c.objects) {
		for _, o := range c.sortedObjects(r) {
			out, kinds = append(out, o), append(kinds, c.kinds[r])
		}
	}
	return out, kinds
}

// findByUID finds an object.
func (c *Cluster) findByUID(uid types.UID) (*Object, *kind) {
	for r, of := range c.objects {
		for _, o := range of {
			if o.GetUID() == uid {
				return o, c.kinds[r]
			}
		}
	}
	return nil, nil
}

// putObject stores an object under a new version; nil removes the old one.
func (c *Cluster) putObject(k *kind, old, o *Object) *Object {
	c.version++
	of := c.objects[k.Resource]
	if of == nil {
		of = map[string]*Object{}
		c.objects[k.Resource] = of
	}
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
	if o == nil {
		gone := old.DeepCopy()
		gone.SetResourceVersion(strconv.Itoa(c.version))
		delete(of, objectKey(old))
		c.changes = append(c.changes, change{k, c.version, old, nil})
		return gone
	}
	o.SetResourceVersion(strconv.Itoa(c.version))
	of[objectKey(o)] = o
	c.changes = append(c.changes, change{k, c.version, old, o})
	return o
}

func (c *Cluster) newUID() types.UID {
	c.uids++
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", c.uids))
}

func (c *Cluster) timestamp() metav1.Time { return metav1.NewTime(c.now) }

// namespace reports whether objects can be made in a namespace.
func (c *Cluster) namespace(n string) (exists, terminating bool) {
	o := c.getObject(namespaces, "", n)
	return o != nil, o != nil && o.GetDeletionTimestamp() != nil
}

var (
	namespaces = abi.Resource{Version: "v1", Name: "namespaces"}
	pods       = abi.Resource{Version: "v1", Name: "pods"}
)

// deepCopy copies a JSON value.
func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[k] = deepCopy(x)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, x := range v {
			l[i] = deepCopy(x)
		}
		return l
	}
	return v
}
