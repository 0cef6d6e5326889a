package cache

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/windlass-dev/windlass/host/schema"
)

// digest stands for text in a map, which so takes less memory and holds on to none that belongs to an object. Its 128
// bits depend on seeds that nobody knows: no two texts have the same one.
type digest [16]byte

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// digestOf returns the digest of a name in a namespace, or of an index's value.
func digestOf(namespace, name string) (d digest) {
	var h maphash.Hash
	for i, seed := range seeds {
		h.SetSeed(seed)
		_, _ = h.WriteString(namespace) // doesn't fail
		_ = h.WriteByte(0)
		_, _ = h.WriteString(name)
		binary.NativeEndian.PutUint64(d[8*i:], h.Sum64())
	}
	return d
}

// Value is a value that objects have in indexes.
type Value struct{ digest digest }

// ValueOf makes a value of its text.
func ValueOf(text string) Value { return Value{digestOf("", text)} }

func objectDigest(o *Object) digest { return digestOf(o.Namespace, o.Name) }

// Indexer gives the values by which an index finds an object.
type Indexer struct {
	// Reads are the paths that Values reads, beside the object's name and namespace: an update that changes nothing there
	// leaves the index alone. Nil is the whole object.
	Reads []string
	// Values must give the same for the same bytes.
	Values func(*Object) []string
}

// indexers are those of a resource. They are never changed.
type indexers struct {
	byName map[string]Indexer
	leaves *schema.Leaves // of all that they read
}

// withNew returns the indexers with those more whose names are new; nil has none.
func (x *indexers) withNew(m *schema.Message, more map[string]Indexer) (*indexers, error) {
	all := map[string]Indexer{}
	maps.Copy(all, more)
	if x != nil {
		maps.Copy(all, x.byName)
	}
	var paths []string
	for _, f := range all {
		paths = append(paths, f.Reads...)
	}
	slices.Sort(paths)
	leaves, err := m.Leaves(slices.Compact(paths))
	return &indexers{all, leaves}, err
}

// index finds the places of objects by the values of one indexer.
type index struct {
	Indexer
	reads  schema.Bits // of the contents' leaves
	places map[digest]places
}

// places are those of the objects with one value. Many values have one object; of others the places are sorted.
type places struct {
	many *[]uint32
	one  uint32 // if many is nil
}

func (x *index) add(o *Object, place uint32) {
	for _, v := range x.Values(o) {
		x.addPlace(v, place)
	}
}

func (x *index) remove(o *Object, place uint32) {
	for _, v := range x.Values(o) {
		x.removePlace(v, place)
	}
}

// replaceValues puts an object's new values in place of the old ones.
func (x *index) replaceValues(old, o *Object, place uint32) {
	before, after := x.Values(old), x.Values(o)
	if slices.Equal(before, after) {
		return
	}
	for _, v := range before {
		x.removePlace(v, place)
	}
	for _, v := range after {
		x.addPlace(v, place)
	}
}

func (x *index) addPlace(value string, place uint32) {
	key := digestOf("", value)
	p, ok := x.places[key]
	switch {
	case !ok:
		x.places[key] = places{one: place}
	case p.many != nil:
		if i, ok := slices.BinarySearch(*p.many, place); !ok {
			*p.many = slices.Insert(*p.many, i, place)
		}
	case p.one != place:
		x.places[key] = places{many: &[]uint32{min(p.one, place), max(p.one, place)}}
	}
}

func (x *index) removePlace(value string, place uint32) {
	key := digestOf("", value)
	p, ok := x.places[key]
	switch {
	case !ok:
	case p.many != nil:
		if i, ok := slices.BinarySearch(*p.many, place); ok {
			*p.many = slices.Delete(*p.many, i, i+1)
		}
		if len(*p.many) == 1 {
			x.places[key] = places{one: (*p.many)[0]}
		}
	case p.one == place:
		delete(x.places, key)
	}
}
