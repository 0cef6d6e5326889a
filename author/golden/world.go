package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// world holds the objects of a case the way the host's caches do: wire bytes behind client-go's indexers.
type world struct {
	needs  []views.Need
	cut    bool
	stores map[abi.Resource]*store // of what the plan's views are on; of any, those of the case's objects
	kinds  kindMap
}

type store struct {
	*views.Indexed
	resource *schema.Resource
	mask     *schema.Mask
}

func (w *world) Store(r abi.Resource) views.Store { return views.StoreOf(w.stores, r) }

// newWorld makes the stores that a plan needs, those of all resources as objects come; with cut, objects are projected
// to what the plan asks to keep. Objects are of built-in kinds and of the custom ones.
func newWorld(plan *views.Plan, cut bool, custom []abi.APIResource) (*world, error) {
	w := &world{needs: plan.Needs(), cut: cut, stores: map[abi.Resource]*store{}}
	var err error
	if w.kinds, err = kindsOf(custom); err != nil {
		return nil, err
	}
	for _, n := range w.needs {
		if n.Resource == schema.Any {
			continue
		}
		res, err := schema.Named(n.Resource)
		if err == nil {
			_, err = w.storeFor(res)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// kindMap has resources by apiVersion and kind.
type kindMap map[string]*schema.Resource

// kindsOf are the built-in kinds and the custom ones.
func kindsOf(custom []abi.APIResource) (kindMap, error) {
	all := kindMap{}
	for _, r := range schema.All() {
		res, err := schema.For(r)
		if err != nil {
			return nil, err
		}
		all[res.APIVersion()+" "+res.Kind] = res
	}

	for _, r := range custom {
		id, ok := abi.ParseResource(r.Resource)
		if !ok {
			continue // a case of what no object can be of
		}
		if _, err := schema.For(id); err != nil {
			res := schema.Custom(id, r.Kind, r.Namespaced)
			all[res.APIVersion()+" "+res.Kind] = res
		}
	}
	return all, nil
}

// storeFor finds or makes the store of a resource; it is nil if no view is on it.
func (w *world) storeFor(res *schema.Resource) (*store, error) {
	if s := w.stores[res.Resource]; s != nil {
		return s, nil
	}

	indexers := map[string]cache.Indexer{}
	var fields []string
	for _, n := range w.needs {
		if n.Resource != res.Resource && n.Resource != schema.Any {
			continue
		}
		fields = append(fields, n.Fields...)
		maps.Copy(indexers, n.Indexers)
	}
	if fields == nil {
		return nil, nil
	}

	indexed, err := views.NewIndexed(indexers)
	if err != nil {
		return nil, err
	}
	indexed.Current = "1000"
	s := &store{Indexed: indexed, resource: res}
	if w.cut {
		if s.mask, err = res.Message.Mask(append([]string{"metadata.name", "metadata.namespace", "metadata.uid",
			"metadata.resourceVersion"}, fields...)...); err != nil {
			return nil, err
		}
	}
	w.stores[res.Resource] = s
	return s, nil
}

// readCached reads one object of a case into the form of the caches.
func (w *world) readCached(raw []byte, n int) (*cache.Object, error) {
	res, o, err := w.kinds.readObject(raw, n)
	if err != nil {
		return nil, err
	}
	return encodeObject(res, o)
}

// storeObject brings an object into the form of the caches and puts it into its store.
func (w *world) storeObject(o runtime.Object) (*cache.Object, error) {
	version, kind := o.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	c, err := encodeObject(w.kinds[version+" "+kind], o)
	if err != nil {
		return nil, err
	}
	return c, w.addObject(c)
}

// readObject reads one object; uid and resourceVersion have defaults.
func (k kindMap) readObject(raw []byte, n int) (*schema.Resource, runtime.Object, error) {
	j, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return nil, nil, err
	}

	var kind metav1.TypeMeta
	if err := json.Unmarshal(j, &kind); err != nil {
		return nil, nil, err
	}

	res, ok := k[kind.APIVersion+" "+kind.Kind]
	if !ok {
		return nil, nil, fmt.Errorf("%s %s is neither built in nor defined: give its CustomResourceDefinition in crd/*.yaml beside the cases' folder, or name it in discovery", kind.APIVersion, kind.Kind)
	}

	var o runtime.Object
	if res.Custom {
		o, err = unstructuredOf(j)
	} else {
		o, _, err = scheme.Codecs.UniversalDeserializer().Decode(j, nil, nil)
	}

	if err != nil {
		return nil, nil, err
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return nil, nil, err
	}
	if m.GetUID() == "" {
		m.SetUID(types.UID("uid-" + strings.ToLower(kind.Kind) + "-" + m.GetName()))
	}

	if m.GetResourceVersion() == "" {
		m.SetResourceVersion(strconv.Itoa(n + 1))
	}
	return res, o, nil
}

func unstructuredOf(j []byte) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	return u, u.UnmarshalJSON(j)
}

// encodeObject brings an object into the form of the caches.
func encodeObject(res *schema.Resource, o runtime.Object) (*cache.Object, error) {
	b, err := marshal(o)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return nil, err
	}
	return &cache.Object{Resource: res, Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(),
		ResourceVersion: m.GetResourceVersion(), Raw: b}, nil
}

func marshal(o runtime.Object) ([]byte, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o.(interface{ Marshal() ([]byte, error) }).Marshal()
	}
	j, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b, _, _, err := schema.FromJSON(nil, j, nil)
	return b, err
}

func (w *world) addObject(o *cache.Object) error {
	s, err := w.storeFor(o.Resource)
	if err != nil || s == nil {
		return err // nil: nobody looks at it
	}
	if s.mask != nil {
		cut, err := s.mask.Project(nil, o.Raw)
		if err != nil {
			return err
		}
		o.Raw = cut
	}
	return s.Add(o)
}
