package cache

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/host/schema"
)

// Want is what a reader wants of a resource.
type Want struct {
	// Mask is what to keep of each object; nil is the whole object without managedFields.
	Mask *schema.Mask
	// Filter tells which objects to keep; nil keeps all.
	Filter *Filter
	// Indexers tell by what to find objects. Of an object that this reader doesn't keep, they may see less than the mask.
	Indexers map[string]Indexer
	// Current is called whenever the store has become current for the reader, see [Reader.Current]; nil: nobody has to
	// know. The first time late says whether others had begun to read the resource before: then handlers were told of
	// objects and changes of which the store didn't have yet what the reader reads, and won't be told again.
	Current func(late bool)
}

// Filter tells which objects a reader wants at all.
type Filter struct {
	// Name tells filters apart: two have the same exactly if they keep the same objects.
	Name string
	// Reads is what Keep reads of an object. It is kept of all objects, other readers' too, so that a reader can tell from
	// any stored object whether it is one of its own.
	Reads *schema.Mask
	// Keep is called with an object's names and bytes, which it must not hold on to.
	Keep func(*Object) bool
}

// selection is what the readers of a resource together want kept. It is never changed.
type selection struct {
	every  *schema.Mask // wanted of all objects, nil if no reader wants all
	reads  *schema.Mask // what the filters read, nil without any
	groups []group      // sorted by the filters' names
}

// group is the readers with the same filter.
type group struct {
	filter *Filter
	mask   *schema.Mask
}

func (s *selection) findGroup(f *Filter) (int, bool) {
	return slices.BinarySearchFunc(s.groups, f, func(g group, f *Filter) int {
		return strings.Compare(g.filter.Name, f.Name)
	})
}

// withReader returns the selection with one more reader; a nil selection has none.
func (s *selection) withReader(mask *schema.Mask, f *Filter) *selection {
	var next selection
	if s != nil {
		next = *s
	}
	if f == nil {
		next.every = mask.Union(next.every)
		all := next.every.Union(next.reads)
		// no need to ask them any more
		next.groups = slices.DeleteFunc(slices.Clone(next.groups), func(g group) bool { return all.Covers(g.mask) })
		return &next
	}
	next.reads = f.Reads.Union(next.reads)
	next.groups = slices.Clone(next.groups)
	if i, ok := next.findGroup(f); ok {
		next.groups[i].mask = next.groups[i].mask.Union(mask)
	} else {
		next.groups = slices.Insert(next.groups, i, group{f, mask})
	}
	return &next
}

// coversReader reports whether a reader finds everything it wants already.
func (s *selection) coversReader(mask *schema.Mask, f *Filter) bool {
	if s == nil {
		return false
	}
	always := s.every
	if f != nil {
		if i, ok := s.findGroup(f); ok {
			return s.groups[i].mask.Union(s.reads).Union(s.every).Covers(mask)
		}
		if always != nil {
			always = always.Union(s.reads)
			mask = mask.Union(f.Reads)
		}
	}
	return always != nil && always.Covers(mask)
}

// dropsObjects reports whether there are objects that nobody keeps.
func (s *selection) dropsObjects() bool { return s.every == nil }

// chosenMask returns what to keep of the objects that the groups marked in chosen keep, nil if that is nothing.
func (s *selection) chosenMask(chosen []byte) *schema.Mask {
	m := s.every
	for i, g := range s.groups {
		if chosen[i] != 0 {
			m = g.mask.Union(m)
		}
	}
	if m == nil {
		return nil
	}
	return m.Union(s.reads)
}

// widestMask returns what is wanted of any object.
func (s *selection) widestMask() *schema.Mask {
	all := s.every
	if s.reads != nil {
		all = s.reads.Union(all)
	}
	for _, g := range s.groups {
		all = g.mask.Union(all)
	}
	return all
}

// metadataOnly reports that nothing but metadata is wanted of any object.
func (s *selection) metadataOnly() bool {
	all := s.widestMask()
	metadata, err := all.Message().Mask("metadata", "metadata.managedFields")
	return err == nil && metadata.Covers(all)
}
