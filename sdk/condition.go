package sdk

import "github.com/windlass-dev/windlass/abi"

// Condition is a test on the objects of a view.
type Condition struct {
	c    abi.Condition
	view AnyView // of a join; its index is known when the manifest is built
	subs []Condition
}

func (c Condition) condition() abi.Condition {
	m := c.c
	if c.view != nil {
		m.View = int32(c.view.spec().index)
	}
	for _, s := range c.subs {
		x := s.condition()
		switch {
		case m.Each:
			m.Where = &x
		case m.Op == "any":
			m.Any = append(m.Any, x)
		default:
			m.All = append(m.All, x)
		}
	}
	if m.Op == "any" || m.Op == "all" {
		m.Op = ""
	}
	return m
}

// undeclaredView returns a view that the condition names and that isn't among those, nil: none.
func (c Condition) undeclaredView(views Views) *viewSpec {
	if c.view != nil && views.index(c.view.spec()) < 0 {
		return c.view.spec()
	}
	for _, s := range c.subs {
		if v := s.undeclaredView(views); v != nil {
			return v
		}
	}
	return nil
}

// All holds where every condition does.
func All(cs ...Condition) Condition {
	if len(cs) == 1 {
		return cs[0]
	}
	return Condition{c: abi.Condition{Op: "all"}, subs: cs}
}

// Any holds where one of the conditions does.
func Any(cs ...Condition) Condition { return Condition{c: abi.Condition{Op: "any"}, subs: cs} }

// Not is the negation of a test.
func Not(c Condition) Condition { c.c.Not = !c.c.Not; return c }

// In holds where a value at the path is one of the constants.
func In(path string, values ...string) Condition {
	return Condition{c: abi.Condition{Op: abi.OpIn, Path: path, Values: values}}
}

// Exists holds where there is a value at the path.
func Exists(path string) Condition {
	return Condition{c: abi.Condition{Op: abi.OpExists, Path: path}}
}

// Join holds where a value at the path equals one at viewPath in an object of an earlier view.
func Join(path string, view AnyView, viewPath string) Condition {
	return Condition{c: abi.Condition{Op: abi.OpJoin, Path: path, ViewPath: viewPath}, view: view}
}

// KeyNamespace holds for objects in the key's namespace.
func KeyNamespace() Condition {
	return Condition{c: abi.Condition{Op: abi.OpJoin, Path: "metadata.namespace", View: abi.FromKey,
		ViewPath: "namespace"}}
}

// KeyName holds where the path's value is the key's name, whether or not the key's object exists.
func KeyName(path string) Condition {
	return Condition{c: abi.Condition{Op: abi.OpJoin, Path: path, View: abi.FromKey, ViewPath: "name"}}
}

// KeyValue holds where the path's value is the key's, in a controller that is [KeyedBy] a path.
func KeyValue(path string) Condition {
	return Condition{c: abi.Condition{Op: abi.OpJoin, Path: path, View: abi.FromKey, ViewPath: "value"}}
}

// ControlledBy holds for objects whose controlling owner is in the view.
func ControlledBy(view AnyView) Condition { return Join("controller.uid", view, "metadata.uid") }

// Orphan holds for objects without a controlling owner.
func Orphan() Condition { return Not(Exists("controller.uid")) }

// SelectedBy holds for objects whose labels match the selector at the path in an object of the view.
func SelectedBy(view AnyView, path string) Condition {
	return Condition{c: abi.Condition{Op: abi.OpSelected, Path: "metadata.labels", ViewPath: path}, view: view}
}

// Each holds where one element of the list at the path satisfies all the conditions, whose paths start at the element.
func Each(list string, where ...Condition) Condition {
	return Condition{c: abi.Condition{Each: true, Path: list}, subs: []Condition{All(where...)}}
}

// On tests an object of an earlier view, in a guard.
func On(view AnyView, c Condition) Condition { c.view = view; return c }
