package speed

import (
	"fmt"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// world holds objects as the cache does: projected wire bytes behind indexes. It stands still while syncs are measured.
type world map[abi.Resource]*store

type store struct {
	resource *schema.Resource
	mask     *schema.Mask
	indexers map[string]cache.Indexer
	objects  map[types.NamespacedName]*cache.Object
	all      []*cache.Object
	indexes  map[string]map[string][]*cache.Object
	version  int
}

func newWorld(t testing.TB, plan *views.Plan) world {
	t.Helper()
	w := world{}
	for _, n := range plan.Needs() {
		r, err := schema.For(n.Resource)
		if err != nil {
			t.Fatal(err)
		}
		mask, err := n.Mask(r)
		if err != nil {
			t.Fatal(err)
		}
		w[n.Resource] = &store{resource: r, mask: mask, indexers: n.Indexers,
			objects: map[types.NamespacedName]*cache.Object{}}
	}
	return w
}

// Store makes the world a views.World.
func (w world) Store(r abi.Resource) views.Store {
	if s, ok := w[r]; ok {
		return s
	}
	return nil
}

// putObject adds an object or replaces it. What nobody looks at is left out.
func (w world) putObject(t testing.TB, r abi.Resource, o runtime.Object) {
	t.Helper()
	s, ok := w[r]
	if !ok {
		return
	}

	s.version++
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}

	m.SetResourceVersion(strconv.Itoa(s.version))
	if m.GetName() == "" {
		m.SetName(m.GetGenerateName() + strconv.Itoa(s.version))
	}
	if m.GetUID() == "" {
		m.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", s.version)))
	}
	whole, err := o.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		t.Fatal(err)
	}

	raw, err := s.mask.Project(nil, whole)
	if err != nil {
		t.Fatal(err)
	}

	s.objects[types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}] = &cache.Object{
		Resource: s.resource, Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(),
		ResourceVersion: m.GetResourceVersion(), Raw: raw,
	}
	s.indexes = nil
}

// applyEffects does what a sync asked for, and reports whether there was anything.
func (w world) applyEffects(t testing.TB, effects []abi.Effect) bool {
	t.Helper()
	changed := false
	for _, e := range effects {
		switch e.Kind {
		case abi.EffectCreate, abi.EffectUpdate:
			for r, s := range w {
				if r.String() != e.Resource {
					continue
				}
				o := s.resource.New()
				if err := o.(interface{ Unmarshal([]byte) error }).Unmarshal(e.Object); err != nil {
					t.Fatal(err)
				}
				o.(metav1.ObjectMetaAccessor).GetObjectMeta().SetNamespace(e.Namespace)
				w.putObject(t, r, o)
			}
		case abi.EffectGroup:
			w.applyEffects(t, e.Members)
		case abi.EffectEvent:
		default:
			t.Fatalf("an effect of kind %v on %s: not what a settled world leads to", e.Kind, e.Resource)
		}
		changed = true
	}
	return changed
}

func (s *store) Get(namespace, name string) *cache.Object {
	return s.objects[types.NamespacedName{Namespace: namespace, Name: name}]
}

func (s *store) List() []*cache.Object {
	s.buildIndexes()
	return s.all
}

func (s *store) ByIndex(index, value string) []*cache.Object {
	s.buildIndexes()
	return s.indexes[index][value]
}

func (s *store) Version() string { return strconv.Itoa(s.version) }

func (s *store) buildIndexes() {
	if s.indexes != nil {
		return
	}
	s.all, s.indexes = nil, map[string]map[string][]*cache.Object{}
	for _, o := range s.objects {
		s.all = append(s.all, o)
		for name, x := range s.indexers {
			if s.indexes[name] == nil {
				s.indexes[name] = map[string][]*cache.Object{}
			}
			for _, value := range x.Values(o) {
				s.indexes[name][value] = append(s.indexes[name][value], o)
			}
		}
	}
}
