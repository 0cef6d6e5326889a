package views

import (
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// Snapshot is what a key's views hold. It is reused from key to key by one worker and not safe for concurrent use.
type Snapshot struct {
	x       evaluation
	data    []abi.ViewData
	objects [][]abi.ObjectData
	bytes   int
	asks    int
	asked   []*cache.Object
}

// Forget forgets what keys were delivered and asked for: each is to be synced anew. Those that are gone meanwhile
// aren't synced again.
func (p *Plan) Forget() {
	p.subs.dropAll()
	p.tallies.dropAll()
}

// Snapshot evaluates the plan's views for the key into the snapshot, whose buffers it reuses. What the key asked of
// lazy views before is forgotten.
func (p *Plan) Snapshot(w World, key abi.KeyRef, into *Snapshot) error {
	s := into
	w = p.coveredWorld(w)
	p.subs.dropKey(key)
	p.tallies.beginCount(p, key)
	s.x.beginKey(p, w, key)
	s.bytes, s.asks = 0, 0
	clear(s.asked)
	s.asked = s.asked[:0]

	if len(s.data) != len(p.views) {
		s.data = make([]abi.ViewData, len(p.views))
		s.objects = make([][]abi.ObjectData, len(p.views))
	}

	for i, v := range p.views {
		d := &s.data[i]
		*d = abi.ViewData{View: int32(i)}
		if v.Lazy {
			continue
		}
		d.StoreVersion = w.Store(v.Resource).Version()
		rows := s.x.viewRows(i)
		if s.x.young != nil {
			return s.x.young
		}
		d.Guarded, d.Unlisted = s.x.views[i].guarded, resourceTexts(s.x.views[i].unlisted)
		if v.Count > 0 {
			d.Count = min(int64(len(rows)), int64(v.Count))
			p.tallies.delivered(p, v, key, len(rows))
			continue
		}
		if v.First > 0 {
			d.Count = int64(len(rows))
		}
		var err error
		if s.objects[i], err = s.project(v, rows, s.objects[i][:0]); err != nil {
			return err
		}
		d.Objects = s.objects[i]
	}

	if !s.exists() {
		p.tallies.dropKey(key)
	}
	return nil
}

// firstBytes bounds the objects that a view with first delivers in one go, but for the first of them: an API server
// keeps objects of 1.5 MB.
const firstBytes = 8 << 20

// project appends the objects as the plugin sees them; of a view with first, those that fit.
func (s *Snapshot) project(v *view, rows []*cache.Object, dst []abi.ObjectData) ([]abi.ObjectData, error) {
	if v.Distinct {
		return s.projectDistinct(v, rows, dst)
	}
	size := 0
	if v.First > 0 {
		rows = rows[:min(len(rows), int(v.First))]
	}
	for i, o := range rows {
		raw, err := v.plan.hot.project(v.plan, o)
		if err != nil {
			return dst, fmt.Errorf("view %s: %s %s/%s: %w", v.Name, v.Resource, o.Namespace, o.Name, err)
		}
		if v.First > 0 && i > 0 && size+len(raw) > firstBytes {
			break
		}
		size += len(raw)
		data := abi.ObjectData{Data: raw, ResourceVersion: o.ResourceVersion}
		if v.plan.overAllResources() {
			data.Resource, data.Kind = o.Resource.ID(), o.Resource.Kind
		}
		dst = append(dst, data)
	}
	return dst, s.addBytes(v, len(rows), size)
}

// addBytes counts what a view delivers, and reports what is more than fits into a message.
func (s *Snapshot) addBytes(v *view, objects, size int) error {
	if s.bytes += size; s.bytes > abi.MessageMax {
		return fmt.Errorf("view %s holds %d objects of %d bytes, the snapshot %d bytes, the limit is %d: read fewer "+
			"fields, select fewer objects, or make the view lazy",
			v.Name, objects, size, s.bytes, abi.MessageMax)
	}
	return nil
}

// Key is the key that the snapshot is of.
func (s *Snapshot) Key() abi.KeyRef { return s.x.key }

// Views returns what each view holds, in the manifest's order. The slices are valid until the snapshot's next use.
func (s *Snapshot) Views() []abi.ViewData { return s.data }

// Request fills the request's views.
func (s *Snapshot) Request(dst *abi.SyncRequest) { dst.Views = append(dst.Views[:0], s.data...) }

// resourceTexts returns resources as messages have them; nil for none.
func resourceTexts(all []abi.Resource) (texts []string) {
	for _, r := range all {
		texts = append(texts, r.String())
	}
	return texts
}

// Lacks returns a resource that a view goes on without, because it can't be listed.
func (s *Snapshot) Lacks() (r abi.Resource, ok bool) {
	for i := range s.x.views {
		if unlisted := s.x.views[i].unlisted; len(unlisted) > 0 {
			return unlisted[0], true
		}
	}
	return abi.Resource{}, false
}

// Rows returns the objects of a view in the order of their names: the cache's, with its wider fields.
func (s *Snapshot) Rows(view int) []*cache.Object { return s.x.views[view].rows }

// KeyObject returns the UID of the key's object, and whether it is in the key view. A key that isn't an object has
// neither.
func (s *Snapshot) KeyObject() (uid string, exists bool) {
	p := s.x.plan
	if p == nil || !p.ObjectKeys() {
		return "", false
	}
	rows := s.x.views[p.key.View].rows
	if len(rows) == 0 {
		return "", false
	}
	return string(rows[0].UID), true
}

// exists reports whether the key's object does, taking keys that aren't objects as existing.
func (s *Snapshot) exists() bool {
	_, ok := s.KeyObject()
	return ok || !s.x.plan.ObjectKeys()
}

// Find returns the object as the snapshot has it, what lazy views delivered included; nil if no view holds it.
func (s *Snapshot) Find(r abi.Resource, namespace, name string) *cache.Object {
	for i, v := range s.x.plan.views {
		if !v.plan.readsResource(r) || v.Lazy || v.Count > 0 {
			continue
		}
		rows := s.x.views[i].rows
		named := &cache.Object{Namespace: namespace, Name: name}
		j, _ := slices.BinarySearchFunc(rows, named, compareNames)
		for ; j < len(rows) && compareNames(rows[j], named) == 0; j++ { // of several resources, perhaps
			if rows[j].Resource.Resource == r {
				return rows[j]
			}
		}
	}
	for _, o := range s.asked {
		if o.Name == name && o.Namespace == namespace && o.Resource.Resource == r {
			return o
		}
	}
	return nil
}

// In reports whether any object delivered is in the namespace.
func (s *Snapshot) In(namespace string) bool {
	in := func(o *cache.Object) bool { return o.Namespace == namespace }
	for i := range s.x.views {
		if slices.ContainsFunc(s.x.views[i].rows, in) {
			return true
		}
	}
	return slices.ContainsFunc(s.asked, in)
}

// Bytes is the size of all objects delivered.
func (s *Snapshot) Bytes() int { return s.bytes }

// Largest names the view that holds the most bytes.
func (s *Snapshot) Largest() string {
	name, most := "none", -1
	for i, d := range s.data {
		size := 0
		for _, o := range d.Objects {
			size += len(o.Data)
		}
		if size > most {
			name, most = fmt.Sprintf("%s (%d objects, %d bytes)", s.x.plan.views[i].Name, len(d.Objects), size), size
		}
	}
	return name
}
