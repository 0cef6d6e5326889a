package sdk

import (
	"time"
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// View is one declared read: objects of type T.
type View[T any, P resource.Pointer[T]] struct {
	s viewSpec
}

type viewSpec struct {
	view  abi.View
	where []Condition
	guard []Condition
	index int
}

// Key declares the view of the objects that keys name.
func Key[T any, P resource.Pointer[T]](r resource.Of[T]) *View[T, P] { return Select[T, P](r) }

// Select declares a view of the objects that satisfy all the conditions.
func Select[T any, P resource.Pointer[T]](r resource.Of[T], where ...Condition) *View[T, P] {
	return &View[T, P]{s: viewSpec{view: abi.View{Name: r.Name, Resource: r.ABI(),
		ClusterScoped: r.JSON != nil && !r.Namespaced}, where: where}}
}

func (v *View[T, P]) spec() *viewSpec { return &v.s }

// index is the place of a view among these, -1 where it isn't there.
func (l Views) index(s *viewSpec) int {
	if i := s.index; i < len(l) && l[i].spec() == s { // as the manifest has numbered them
		return i
	}
	for i, v := range l {
		if v.spec() == s {
			return i
		}
	}
	return -1
}

// Named names the view in errors and logs; by default its name is the resource's.
func (v *View[T, P]) Named(name string) *View[T, P] { v.s.view.Name = name; return v }

// Fields declares the paths that the controller reads; an undeclared field reads as unset.
func (v *View[T, P]) Fields(paths ...string) *View[T, P] {
	v.s.view.Fields = append(v.s.view.Fields, paths...)
	return v
}

// When guards the view: while the condition on earlier views doesn't hold, the view is empty and wakes nobody.
func (v *View[T, P]) When(guard ...Condition) *View[T, P] {
	v.s.guard = append(v.s.guard, guard...)
	return v
}

// ClusterScoped says that the view's resource is a custom one whose objects are in no namespace. Generated types say
// it by themselves, [resource.MetadataOf] can't.
func (v *View[T, P]) ClusterScoped() *View[T, P] { v.s.view.ClusterScoped = true; return v }

// Lazy delivers the view only when a sync asks for it with [View.Ask] or List; paths are as in [View.AskBy].
func (v *View[T, P]) Lazy(paths ...string) *View[T, P] {
	v.s.view.Lazy, v.s.view.AskBy = true, paths
	return v
}

// AskBy names paths by whose values a lazy view is asked often: an index is kept for each.
func (v *View[T, P]) AskBy(paths ...string) *View[T, P] {
	v.s.view.AskBy = append(v.s.view.AskBy, paths...)
	return v
}

// Counted delivers how many objects there are, up to max, in place of the objects.
func (v *View[T, P]) Counted(max int) *View[T, P] { v.s.view.Count = int32(max); return v }

// First delivers at most max objects, the first by namespace and name, and of large ones fewer, up to 8 MiB; Count
// tells how many there are. It is for work that is done in parts, where there may be more objects than the plugin's
// memory holds. Of a lazy view [View.AskFirst] tells how many there are.
func (v *View[T, P]) First(max int) *View[T, P] { v.s.view.First = int32(max); return v }

// Partial says that nothing is taken for gone because this view lacks it: the plugin asks the API server first. Such a
// view is delivered while caches are still being filled; a key with any other waits for the caches that it looks into.
func (v *View[T, P]) Partial() *View[T, P] { v.s.view.Partial = true; return v }

// Lenient says, of a view over all resources, that the plugin goes on without those that can't be listed: after half a
// minute the view is delivered with what the others have, and [View.Unlisted] names those.
func (v *View[T, P]) Lenient() *View[T, P] { v.s.view.Lenient = true; return v }

// Distinct delivers objects whose fields are equal once, without names; [View.AskDistinct] tells how many there are of
// each. It is for lazy views over many objects that are added up.
func (v *View[T, P]) Distinct() *View[T, P] { v.s.view.Distinct = true; return v }

// Quiet names paths whose changes wake no key; without paths, the whole view is quiet.
func (v *View[T, P]) Quiet(paths ...string) *View[T, P] {
	if len(paths) == 0 {
		paths = []string{"*"}
	}
	v.s.view.Quiet = append(v.s.view.Quiet, paths...)
	return v
}

// Unseen names paths that aren't delivered, and whose changes wake the key all the same.
func (v *View[T, P]) Unseen(paths ...string) *View[T, P] {
	v.s.view.Unseen = append(v.s.view.Unseen, paths...)
	return v
}

// QuietOn names kinds of events (abi.QuietAdd, …) that wake nobody.
func (v *View[T, P]) QuietOn(kinds ...string) *View[T, P] {
	v.s.view.QuietOn = append(v.s.view.QuietOn, kinds...)
	return v
}

// Batch delays the view's wake-ups, so that many become one. Where more follow closely when the delay is over, it goes
// on until they pause, but no more than a quarter longer.
func (v *View[T, P]) Batch(d time.Duration) *View[T, P] { v.s.view.Batch = int64(d); return v }

// Label declares a label of a metric whose value the host takes from the view's first object: what is at the path,
// which must be one of [View.Fields]. It is empty where there is no object, or nothing at the path. Controllers without
// this view can't add to the metric.
func (v *View[T, P]) Label(name, path string) abi.Label {
	return abi.Label{Name: name, View: v.s.view.Name, Paths: []string{path}}
}

// JoinedLabel is [View.Label] of two paths, with the separator between their values; where both are empty, so is the
// label.
func (v *View[T, P]) JoinedLabel(name, first, separator, second string) abi.Label {
	return abi.Label{Name: name, View: v.s.view.Name, Paths: []string{first, second}, Separator: separator}
}

// Get returns the view's first object: the key's own in a key view.
func (v *View[T, P]) Get(c *Call) (P, bool) {
	if l := v.List(c); len(l) > 0 {
		return l[0], true
	}
	return nil, false
}

// List returns the view's objects in the order of their names. They are shared by the whole sync: [Clone] before
// changing one.
func (v *View[T, P]) List(c *Call) []P {
	i := c.viewIndex(&v.s)
	if i < 0 {
		return nil
	}
	d := &c.decoded[i]
	if *d == nil {
		data := &c.request.Views[i]
		if v.s.view.Lazy {
			data = c.performAsk(&abi.Ask{View: int32(i)})
		}
		*d = v.decode(c, data)
	}
	return (*d).([]P)
}

// Ask delivers a lazy view, narrowed by names, values or a selector.
func (v *View[T, P]) Ask(c *Call, a abi.Ask) []P {
	i := c.viewIndex(&v.s)
	if i < 0 {
		return nil
	}
	a.View = int32(i)
	return v.decode(c, c.performAsk(&a))
}

// AskFirst is [View.Ask] of a view with [View.First]: all is how many objects there are, of which it may have delivered
// the first alone.
func (v *View[T, P]) AskFirst(c *Call, a abi.Ask) (first []P, all int) {
	i := c.viewIndex(&v.s)
	if i < 0 {
		return nil, 0
	}
	a.View = int32(i)
	data := c.performAsk(&a)
	return v.decode(c, data), int(data.Count)
}

// AskDistinct is [View.Ask] of a distinct view: counts has how many objects each of these stands for.
func (v *View[T, P]) AskDistinct(c *Call, a abi.Ask) (objects []P, counts []int) {
	i := c.viewIndex(&v.s)
	if i < 0 {
		return nil, nil
	}
	a.View = int32(i)
	data := c.performAsk(&a)
	for i := range data.Objects {
		counts = append(counts, int(data.Objects[i].Count))
	}
	return v.decode(c, data), counts
}

// AskCount asks only how many objects a lazy view has for a question. Of a view over all resources, the answer's
// Unserved says that there is no such resource, and Unlisted, of a lenient one, that its objects can't be listed.
func (v *View[T, P]) AskCount(c *Call, a abi.Ask) *abi.ViewData {
	i := c.viewIndex(&v.s)
	if i < 0 {
		return &abi.ViewData{}
	}
	a.View, a.Count = int32(i), true
	return c.performAsk(&a)
}

// Count returns the number of objects of a counted view, or of one that delivers the first ones alone.
func (v *View[T, P]) Count(c *Call) int { return int(c.viewData(&v.s).Count) }

// Guarded reports that the view's guard didn't hold, so that nothing was looked at.
func (v *View[T, P]) Guarded(c *Call) bool { return c.viewData(&v.s).Guarded }

// Unlisted returns, of a lenient view, the resources whose objects it may lack, because they can't be listed. The key
// is synced again when one of them can be.
func (v *View[T, P]) Unlisted(c *Call) []string { return c.viewData(&v.s).Unlisted }

// Version is the resource version up to which the view is known to be current.
func (v *View[T, P]) Version(c *Call) string { return c.viewData(&v.s).StoreVersion }

func (v *View[T, P]) decode(c *Call, data *abi.ViewData) []P {
	items := make([]T, len(data.Objects))
	list := make([]P, len(data.Objects))
	for i := range data.Objects {
		p := P(&items[i])
		if err := resource.Decode(data.Objects[i].Data, p); err != nil {
			c.recordError(errorString("view " + v.s.view.Name + ": " + err.Error()))
			return nil
		}
		p.GetObjectMeta().ResourceVersion = data.Objects[i].ResourceVersion
		if data.Objects[i].Resource != "" {
			if m, ok := any(p).(*resource.Metadata); ok {
				m.Resource, m.KindName = data.Objects[i].Resource, data.Objects[i].Kind
			}
		}
		list[i] = p
	}
	return list
}

// Clone returns a copy to change; the objects of a view are shared.
func Clone[T any, P resource.Pointer[T]](o P) P {
	c := new(T)
	wire.Clone(unsafe.Pointer(c), unsafe.Pointer(o), o.GetResource().Type)
	return P(c)
}

// Copy returns a copy whose own fields may be set; what pointers, lists and maps lead to is still shared.
func Copy[T any, P resource.Pointer[T]](o P) P {
	c := new(T)
	wire.Copy(unsafe.Pointer(c), unsafe.Pointer(o), o.GetResource().Type)
	return P(c)
}

func (s *viewSpec) manifest() abi.View {
	m := s.view
	if len(s.where) > 0 {
		w := All(s.where...).condition()
		m.Where = &w
	}
	if len(s.guard) > 0 {
		g := All(s.guard...).condition()
		m.Guard = &g
	}
	return m
}
