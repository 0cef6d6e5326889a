package views

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema"
)

// Plan is the compiled form of a controller's views. It is safe for concurrent use.
type Plan struct {
	controller string
	views      []*view
	key        abi.Key
	resources  []*resourcePlan
	// Warnings names what is allowed but costly, such as a loud view that wakes every key.
	Warnings []string

	grant   *grant.Grant
	scratch sync.Pool // *scratch
	subs    subscriptions
	tallies tallies
	counts  int // how many views' tallies are taken

	currency atomic.Pointer[Currency] // nil: all stores are current
}

// resourcePlan is what all views of a controller on one resource share.
type resourcePlan struct {
	resource *schema.Resource
	views    []*view
	mask     *schema.Mask
	filter   *cache.Filter // what any of the views can hold
	narrow   bool          // the grant covers some of the objects only
	leaves   *schema.Leaves
	paths    []string // of leaves
	all      schema.Bits
	tests    []tests // per view, of its paths
	hot      projections
}

type view struct {
	*abi.View
	index    int
	plan     *resourcePlan
	guard    guard
	clauses  []*clause
	quietAll bool
	quietOn  kinds
	loose    bool // the walk back may find too many keys
	// it may hold objects for keys that nothing names, absent ones among them, which no walk back ends at
	open  bool
	feeds bool         // a view that matters depends on this one
	loud  []string     // paths whose change is loud
	used  []string     // paths that later views or guards read
	fed   []string     // those of them whose change is loud, because such a view is joined with them
	gates []*conj      // what guards of such views ask of this view's objects
	gated []string     // the paths of gates
	read  []string     // paths that this view's own conditions read
	asks  []source     // by which a lazy view may be asked with an index
	own   *schema.Mask // of a distinct view: what it delivers
}

// tests are a view's paths as bits of leaves.
type tests struct{ loud, fed, gated, read schema.Bits }

// Compile checks the views of a controller, and that there are the resources that it writes; its errors name
// controller, view, path.
func Compile(c *abi.Controller) (*Plan, error) {
	p := &Plan{controller: c.Name, key: c.Key}
	p.scratch.New = func() any { return new(scratch) }
	fail := func(i int, err error) error {
		return fmt.Errorf("controller %s: view %s: %w", c.Name, viewName(c, i), err)
	}
	if !c.Key.Single && (c.Key.View < 0 || int(c.Key.View) >= len(c.Views)) {
		return nil, fmt.Errorf("controller %s: key: there is no view %d, there are %d", c.Name, c.Key.View, len(c.Views))
	}

	for i := range c.Views {
		v := &view{View: &c.Views[i], index: i}
		var err error
		if v.plan, err = p.resource(v.Resource, v.ClusterScoped); err != nil {
			return nil, fail(i, err)
		}
		v.plan.views = append(v.plan.views, v)
		p.views = append(p.views, v)
		if v.Count > 0 && v.Count < uncapped {
			p.counts++
		}
	}

	if !c.Key.Single {
		if k := p.views[c.Key.View]; k.Lazy || k.Count > 0 || k.Guard != nil {
			return nil, fail(int(c.Key.View), fmt.Errorf("the key view can't be lazy, counted or guarded"))
		}
		if err := checkKeyPath(c.Views[c.Key.View].Resource, c.Key.Path); err != nil {
			return nil, fail(int(c.Key.View), err)
		}
	}

	for i, w := range c.Writes {
		if w.Resource == schema.Any || !w.Changes() && w.Resource.Name == signers {
			continue
		}
		if _, err := schema.Named(w.Resource); err != nil {
			return nil, fmt.Errorf("controller %s: writes[%d]: %w", c.Name, i, err)
		}
	}

	for i, v := range p.views {
		if err := p.compileView(v); err != nil {
			return nil, fail(i, err)
		}
	}

	if err := p.compileEventTests(); err != nil {
		return nil, fmt.Errorf("controller %s: %w", c.Name, err)
	}
	return p, nil
}

// checkKeyPath reports why values at a path can't be keys: the names of keys are logged, and shown by the manager. What
// may be secret is a Secret's content, and copies of it in annotations, those of all resources among them.
func checkKeyPath(r abi.Resource, path string) error {
	if path == "" || r != schema.Any && r != (abi.Resource{Version: "v1", Name: "secrets"}) {
		return nil
	}
	if isWithinPath(path, "metadata") && !isWithinPath(path, "metadata.annotations") ||
		path == "type" {
		return nil
	}
	return fmt.Errorf("key: path %q of %s may lead to secrets, and keys are logged: name one in metadata, but for annotations",
		path, r)
}

// signers are what approve, attest and sign are verbs of; there are no objects of it.
const signers = "signers"

func viewName(c *abi.Controller, i int) string {
	return fmt.Sprintf("%d (%s, %s)", i, c.Views[i].Name, c.Views[i].Resource)
}

// Controller is the controller's name.
func (p *Plan) Controller() string { return p.controller }

func (p *Plan) resource(r abi.Resource, clusterScoped bool) (*resourcePlan, error) {
	for _, x := range p.resources {
		if x.resource.Resource != r {
			continue
		}
		if x.resource.Custom && clusterScoped == x.resource.Namespaced {
			return nil, fmt.Errorf("clusterScoped is %v, and %v in an earlier view of %s", clusterScoped, !clusterScoped, r)
		}
		return x, nil
	}
	s := anyResource
	if r != schema.Any {
		var err error
		if s, err = schema.Named(r); err != nil {
			return nil, err
		}
		if s.Custom && clusterScoped {
			s = schema.Custom(r, "", false)
		}
	}
	x := &resourcePlan{resource: s}
	p.resources = append(p.resources, x)
	return x, nil
}

// Namespaced returns what the plan takes for granted of a resource that it reads: that its objects are in namespaces.
func (p *Plan) Namespaced(r abi.Resource) bool {
	i := slices.IndexFunc(p.resources, func(x *resourcePlan) bool { return x.resource.Resource == r })
	return i >= 0 && p.resources[i].resource.Namespaced
}

// anyResource is what views over all resources see of each.
var anyResource = schema.Partial(schema.Any, "", true)

// overAllResources reports whether the views are over all resources.
func (r *resourcePlan) overAllResources() bool { return r.resource.Resource == schema.Any }

// readsResource reports whether events of the resource concern the views.
func (r *resourcePlan) readsResource(x abi.Resource) bool {
	return r.resource.Resource == x || r.overAllResources()
}

// keyOfObject returns the key of an object of the key view.
func (p *Plan) keyOfObject(o *cache.Object) abi.KeyRef {
	k := abi.KeyRef{Namespace: o.Namespace, Name: o.Name}
	if p.keyView().plan.overAllResources() {
		k.Resource = o.Resource.ID()
	}
	return k
}

// ObjectKeys reports that keys are objects of the key view.
func (p *Plan) ObjectKeys() bool { return !p.key.Single && p.key.Path == "" }

func (p *Plan) keyView() *view {
	if p.key.Single {
		return nil
	}
	return p.views[p.key.View]
}

func (v *view) isKeyView(p *Plan) bool { return !p.key.Single && v.index == int(p.key.View) }

func (p *Plan) compileView(v *view) error {
	m := v.plan.resource.Message
	if v.Count < 0 {
		return fmt.Errorf("count is %d, must not be negative", v.Count)
	}
	if v.First < 0 || v.First > 0 && v.Count > 0 {
		return fmt.Errorf("first is %d: it must not be negative, and a counted view doesn't have it", v.First)
	}
	if v.Lenient && !v.plan.overAllResources() {
		return fmt.Errorf("only a view over all resources can be lenient: a controller doesn't start without a resource that it names")
	}
	if v.Lenient && v.Partial {
		return fmt.Errorf("a partial view waits for no resource: it can't be lenient, too")
	}
	if v.Count > 0 && v.Lazy {
		return fmt.Errorf("a lazy view can't have a count: each question says whether it wants objects or their number")
	}

	for _, f := range v.Fields {
		if _, err := m.Path(f); err != nil {
			return fmt.Errorf("field: %w", err)
		}
	}
	if err := v.compileDistinct(m); err != nil {
		return err
	}

	for _, u := range v.Unseen {
		if _, err := m.Path(u); err != nil {
			return fmt.Errorf("unseen: %w", err)
		}
		if v.plan.overAllResources() {
			return fmt.Errorf("unseen: a view over all resources has only metadata")
		}
	}

	for _, q := range v.Quiet {
		if q == "*" {
			v.quietAll = true
		} else if _, err := m.Path(q); err != nil {
			return fmt.Errorf("quiet: %w", err)
		}
	}

	for _, k := range v.QuietOn {
		bit, ok := kindNames[k]
		if !ok {
			return fmt.Errorf("quietOn: unknown kind of event %q; there are add, update, delete, start, own", k)
		}
		v.quietOn |= bit
	}

	for _, a := range v.AskBy {
		if !v.Lazy {
			return fmt.Errorf("askBy is for lazy views only")
		}
		s, err := newSource(m, "", a)
		if err != nil {
			return fmt.Errorf("askBy: %w", err)
		}
		v.asks = append(v.asks, s)
	}

	var err error
	v.guard, err = guardDNF(v.Guard, func(i int32) (*schema.Message, error) {
		if err := p.earlier(v, i); err != nil {
			return nil, fmt.Errorf("guard: %w", err)
		}
		return p.views[i].plan.resource.Message, nil
	}, false)
	if err != nil {
		return err
	}

	n := normaliser{link: func(c *abi.Condition, s source) (*join, error) { return p.compileJoin(v, c, s) }}
	disjuncts, err := n.disjuncts(v.Where, m, "", false)
	if err != nil {
		return err
	}

	for _, d := range disjuncts {
		if v.isKeyView(p) {
			if err := p.keyConj(v, d); err != nil {
				return err
			}
		}
		d.sortParts()
		v.clauses = append(v.clauses, p.compileClause(v, d))
		v.loose = v.loose || d.mixesViews()
		v.read = d.appendPaths(v.read)
	}

	for _, s := range v.asks {
		v.read = append(v.read, s.text)
	}
	v.read = distinct(v.read)

	for _, c := range v.clauses {
		for _, e := range c.refs {
			v.loose = v.loose || p.views[e].loose
		}
		open := !v.isKeyView(p) && c.direct == nil
		for _, l := range c.links {
			e := p.views[l.view].open
			open = open && e
			v.loose = v.loose || e && c.direct != nil
		}
		v.open = v.open || open
	}

	return nil
}

// keyConj adds to a disjunct of the key view that it belongs to the key.
func (p *Plan) keyConj(v *view, d *conj) error {
	flat := d.flatJoins()
	for _, j := range append(flat, d.joins...) {
		if j.view != abi.FromKey {
			return fmt.Errorf("%s: the key view can't be joined with another view", j.text)
		}
	}
	if p.ObjectKeys() {
		// That the object is the key's own needs no index.
		d.joins = nil
		if len(d.flatJoins()) > 0 {
			return fmt.Errorf("the key view can't be joined with the key")
		}
		return nil
	}
	if len(flat) > 0 {
		return nil // it says so itself
	}
	s, err := newSource(v.plan.resource.Message, "", p.key.Path)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	d.joins = append(d.joins, &join{source: s, view: abi.FromKey, viewPath: source{text: "value"}})
	return nil
}

// earlier reports whether a view may name another one.
func (p *Plan) earlier(v *view, i int32) error {
	if i < 0 || int(i) >= v.index {
		return fmt.Errorf("view %d is not an earlier one", i)
	}
	if p.views[i].Lazy {
		return fmt.Errorf("view %d (%s) is lazy; only views that are always delivered can be named", i, p.views[i].Name)
	}
	return nil
}

// compileJoin makes a join of a condition.
func (p *Plan) compileJoin(v *view, c *abi.Condition, s source) (*join, error) {
	j := &join{source: s, view: int(c.View), selected: c.Op == abi.OpSelected}
	if c.View == abi.FromKey {
		if j.selected {
			return nil, fmt.Errorf("%s: the key has no selector; name the key view", s.text)
		}
		j.viewPath.text = c.ViewPath
		return j, p.keyField(c.ViewPath)
	}
	if err := p.earlier(v, c.View); err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.text, c.Op, err)
	}

	e := p.views[c.View]
	var err error
	if j.viewPath, err = newSource(e.plan.resource.Message, "", c.ViewPath); err != nil {
		return nil, fmt.Errorf("%s %s: view %s: %w", s.text, c.Op, e.Name, err)
	}
	if j.selected {
		if err := selectable(j.viewPath.path); err != nil {
			return nil, fmt.Errorf("%s %s: view %s: %s: %w", s.text, c.Op, e.Name, c.ViewPath, err)
		}
		return j, nil
	}

	if p.ObjectKeys() && e.isKeyView(p) && !e.plan.overAllResources() &&
		(j.viewPath.meta == 'n' || j.viewPath.meta == 's') {
		field := "name"
		if j.viewPath.meta == 's' {
			field = "namespace"
		}
		if err := p.keyField(field); err != nil {
			return nil, err
		}
		j.view, j.viewPath = abi.FromKey, source{text: field}
	}

	return j, nil
}

// keyField reports whether the key has the field.
func (p *Plan) keyField(field string) error {
	switch {
	case p.key.Single:
		return fmt.Errorf("from key: the controller's only key has no %s", field)
	case field == "value" && p.ObjectKeys():
		return fmt.Errorf("from key: the key is an object; use namespace or name")
	case field == "value":
		return nil
	case p.ObjectKeys() && p.keyView().plan.overAllResources():
		return fmt.Errorf("from key: the key is of any resource, so its %s says little; join with the key view's metadata.uid", field)
	case field != "namespace" && field != "name":
		return fmt.Errorf("from key: %q; there are namespace, name, value", field)
	case !p.ObjectKeys():
		return fmt.Errorf("from key: the key is a value of %s; use value instead of %s", p.key.Path, field)
	case field == "namespace" && !p.keyView().plan.resource.Namespaced:
		return fmt.Errorf("from key: %s are not namespaced", p.keyView().Resource)
	}
	return nil
}
