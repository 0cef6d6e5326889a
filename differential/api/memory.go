package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// memory is the etcd of a cluster: objects in their internal form under etcd's keys. An object in it is never changed,
// only replaced, so that a copy of the map is a copy of the cluster. It is not safe for concurrent use.
type memory struct {
	objects map[string]runtime.Object
	version uint64
	changes []change
	// made counts the objects that were made under a key, and the names that were made up with a beginning.
	made map[string]int
	// born are the versions at which the objects came.
	born map[string]uint64
}

// change is what one write has done: old or new is nil where the object came or went.
type change struct {
	version  uint64
	key      string
	old, new runtime.Object
}

func newMemory() *memory {
	return &memory{objects: map[string]runtime.Object{}, version: 1, made: map[string]int{}, born: map[string]uint64{}}
}

// clone returns the memory as it is, without its past.
func (m *memory) clone() *memory {
	return &memory{objects: maps.Clone(m.objects), version: m.version, made: maps.Clone(m.made), born: maps.Clone(m.born)}
}

// put stores an object under a new version and records the change; nil removes it.
func (m *memory) put(key string, o runtime.Object) error {
	m.version++
	old := m.objects[key]
	if o == nil {
		delete(m.objects, key)
		m.changes = append(m.changes, change{m.version, key, old, nil})
		return nil
	}
	if err := versioner.UpdateObject(o, m.version); err != nil {
		return err
	}
	if m.objects[key] = o; old == nil {
		m.born[key] = m.version
	}
	m.changes = append(m.changes, change{m.version, key, old, o})
	return nil
}

// mark is a moment in a memory's life.
type mark struct {
	version uint64
	changes int
}

func (m *memory) mark() mark { return mark{m.version, len(m.changes)} }

func (m *memory) changedSince(t mark) bool { return m.version != t.version }

// undo takes back what has changed since a moment.
func (m *memory) undo(t mark) {
	for i := len(m.changes) - 1; i >= t.changes; i-- {
		if c := m.changes[i]; c.old == nil {
			delete(m.objects, c.key)
		} else {
			m.objects[c.key] = c.old
		}
	}
	m.version, m.changes = t.version, m.changes[:t.changes]
}

// under returns the keys that begin so, sorted.
func (m *memory) under(prefix string) []string {
	var keys []string
	for key := range m.objects {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// sortByAge sorts keys by the names that were given, and those whose names were made up from one by their age.
func (m *memory) sortByAge(keys []string) {
	given := func(key string) string {
		o, err := meta.Accessor(m.objects[key])
		if err != nil || !generated(o) {
			return key
		}
		return strings.TrimSuffix(key, o.GetName()) + o.GetGenerateName()
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(strings.Compare(given(a), given(b)), cmp.Compare(m.born[a], m.born[b]))
	})
}

var versioner = storage.APIObjectVersioner{}

// store is the storage of the registry's resources, over the memory of the cluster that the server serves just now.
type store struct{ server *Server }

var _ storage.Interface = store{}

func (s store) memory() *memory { return s.server.cluster.memory }

func (s store) Versioner() storage.Versioner { return versioner }

func set(into, o runtime.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
}

// withUID returns an object with another UID than the registry has made for it, also where the registry has written
// that into labels and a selector, as it does to a Job.
func withUID(o runtime.Object, uid types.UID) (runtime.Object, error) {
	m, err := meta.Accessor(o)
	if err != nil {
		return o, nil
	}
	was := []byte(m.GetUID())
	m.SetUID(uid)
	if len(was) == 0 {
		return o, nil
	}
	text, err := runtime.Encode(storedAs, o)
	if err != nil || !bytes.Contains(text, was) {
		return o, err
	}
	return runtime.Decode(storedAs, bytes.ReplaceAll(text, was, []byte(uid)))
}

// storedAs is the form in which the registry would store objects.
var storedAs = legacyscheme.Codecs.LegacyCodec(legacyscheme.Scheme.PrioritizedVersionsAllGroups()...)

func (s store) Create(_ context.Context, key string, obj, out runtime.Object, _ uint64) error {
	m := s.memory()
	if m.objects[key] != nil {
		return storage.NewKeyExistsError(key, 0)
	}
	obj = obj.DeepCopyObject()
	// a world has the same each time
	uid := fmt.Sprintf("%08x-0000-4000-9000-%012x", crc32.ChecksumIEEE([]byte(key)), m.made[key])
	obj, err := withUID(obj, types.UID(uid))
	if err != nil {
		return err
	}
	m.made[key]++
	if err := m.put(key, obj); err != nil {
		return err
	}
	if out != nil {
		set(out, m.objects[key])
	}
	return nil
}

func (s store) Delete(ctx context.Context, key string, out runtime.Object, p *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	m := s.memory()
	o := m.objects[key]
	if o == nil {
		return storage.NewKeyNotFoundError(key, 0)
	}
	if err := p.Check(key, o); err != nil {
		return err
	}
	if err := validate(ctx, o); err != nil {
		return err
	}

	gone := o.DeepCopyObject()
	if err := m.put(key, nil); err != nil {
		return err
	}
	if err := versioner.UpdateObject(gone, m.version); err != nil {
		return err
	}
	set(out, gone)
	return nil
}

func (s store) Get(_ context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	o := s.memory().objects[key]
	switch {
	case o != nil:
		set(out, o)
		return nil
	case opts.IgnoreNotFound:
		return runtime.SetZeroValue(out)
	}
	return storage.NewKeyNotFoundError(key, 0)
}

func (s store) GetList(_ context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	m := s.memory()
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}

	v, err := conversion.EnforcePtr(items)
	if err != nil {
		return err
	}

	keys := []string{key}
	switch {
	case opts.Recursive:
		keys = m.under(strings.TrimSuffix(key, "/") + "/")
	case m.objects[key] == nil:
		keys = nil
	}

	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for _, k := range keys {
		o := m.objects[k]
		if ok, err := opts.Predicate.Matches(o); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		v.Set(reflect.Append(v, reflect.ValueOf(o.DeepCopyObject()).Elem()))
	}
	return versioner.UpdateList(list, m.version, "", nil)
}

func (s store) GuaranteedUpdate(_ context.Context, key string, out runtime.Object, ignoreNotFound bool,
	p *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object) error {
	m := s.memory()
	old := m.objects[key]
	var in runtime.Object
	switch {
	case old != nil:
		in = old.DeepCopyObject()
	case ignoreNotFound:
		in = reflect.New(reflect.TypeOf(out).Elem()).Interface().(runtime.Object)
	default:
		return storage.NewKeyNotFoundError(key, 0)
	}
	if err := p.Check(key, in); err != nil {
		return err
	}
	version, err := versioner.ObjectResourceVersion(in)
	if err != nil {
		return err
	}
	o, _, err := update(in, storage.ResponseMeta{ResourceVersion: version})
	if err != nil {
		return err
	}

	// A write that changes nothing is none, as in etcd's store.
	if err := versioner.UpdateObject(o, version); err != nil {
		return err
	}
	if old != nil && equality.Semantic.DeepEqual(o, old) {
		set(out, old)
		return nil
	}
	if err := m.put(key, o.DeepCopyObject()); err != nil {
		return err
	}
	set(out, m.objects[key])
	return nil
}

var errNotServed = errors.New("the cluster in memory doesn't serve this")

func (s store) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	return nil, errNotServed
}

func (s store) Stats(context.Context) (storage.Stats, error) { return storage.Stats{}, errNotServed }

func (s store) ReadinessCheck() error { return nil }

func (s store) RequestWatchProgress(context.Context) error { return nil }

func (s store) GetCurrentResourceVersion(context.Context) (uint64, error) {
	return s.memory().version, nil
}

func (s store) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

func (s store) CompactRevision() int64 { return 0 }

// String names a change in an error.
func (c change) String() string { return fmt.Sprintf("%d %s", c.version, c.key) }
