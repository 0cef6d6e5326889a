package views

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema"
)

// The brute-force evaluator: straight from the conditions as the manifest has them, over the objects' JSON form. It
// shares nothing with the plan: no normal form, no index, no wire.

// thing is one object in its JSON form, with what has been asked of it before.
type thing struct {
	resource  abi.Resource
	ns, name  string
	json      map[string]any
	values    map[string][]string
	hashes    map[string]uint64
	labels    labels.Set
	selectors map[string][]labels.Selector
}

func newThing(r abi.Resource, o runtime.Object) *thing {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err)
	}
	meta := o.(metav1.Object)
	return &thing{resource: r, ns: meta.GetNamespace(), name: meta.GetName(), json: m, values: map[string][]string{},
		hashes: map[string]uint64{},
		labels: meta.GetLabels(), selectors: map[string][]labels.Selector{}}
}

func (t *thing) valuesAt(path string) []string {
	if v, ok := t.values[path]; ok {
		return v
	}
	var v []string
	switch path {
	case "controller.uid", "owners.uid":
		for _, ref := range nodesAt(t.json, "metadata.ownerReferences") {
			r := ref.(map[string]any)
			if r["controller"] == true || path == "owners.uid" {
				v = append(v, textValues(r["uid"])...)
			}
		}
	default:
		for _, n := range nodesAt(t.json, path) {
			v = append(v, textValues(n)...)
		}
	}
	t.values[path] = v
	return v
}

// nodesAt returns what is at a path, lists spread out.
func nodesAt(n any, path string) []any {
	if list, ok := n.([]any); ok {
		var all []any
		for _, e := range list {
			all = append(all, nodesAt(e, path)...)
		}
		return all
	}
	if path == "" {
		if n == nil {
			return nil
		}
		return []any{n}
	}

	m, ok := n.(map[string]any)
	if !ok {
		return nil
	}

	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}

	name, rest := path[:end], path[end:]
	if strings.HasPrefix(rest, "[") {
		to := strings.Index(rest, "]")
		labels, _ := m[name].(map[string]any)
		return nodesAt(labels[rest[1:to]], strings.TrimPrefix(rest[to+1:], "."))
	}
	return nodesAt(m[name], strings.TrimPrefix(rest, "."))
}

func textValues(n any) []string {
	switch x := n.(type) {
	case nil:
		return nil
	case string:
		if x == "" {
			return nil
		}
		return []string{x}
	case map[string]any:
		return nil
	}
	return []string{fmt.Sprint(n)}
}

func (t *thing) selector(path string) []labels.Selector {
	if s, ok := t.selectors[path]; ok {
		return s
	}
	var all []labels.Selector
	for _, n := range nodesAt(t.json, path) {
		m := n.(map[string]any)
		if t.resource.Name == "services" {
			if len(m) > 0 {
				set := labels.Set{}
				for k, v := range m {
					set[k] = v.(string)
				}
				all = append(all, set.AsSelector())
			}
			continue
		}
		b, _ := json.Marshal(m)
		var ls metav1.LabelSelector
		if err := json.Unmarshal(b, &ls); err != nil {
			panic(err)
		}
		if s, err := metav1.LabelSelectorAsSelector(&ls); err == nil {
			all = append(all, s)
		}
	}

	t.selectors[path] = all
	return all
}

var seed = maphash.MakeSeed()

// loudHash returns a hash of the fields without the quiet ones.
func (t *thing) loudHash(v *abi.View) uint64 {
	id := strings.Join(v.Fields, ",") + "-" + strings.Join(v.Quiet, ",")
	if h, ok := t.hashes[id]; ok {
		return h
	}
	m := t.json
	if len(v.Quiet) > 0 {
		m = runtime.DeepCopyJSON(m)
		for _, q := range v.Quiet {
			removePath(m, q)
		}
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for _, f := range append([]string{"metadata.uid"}, v.Fields...) {
		b, err := json.Marshal(nodesAt(m, f))
		if err != nil {
			panic(err)
		}
		h.WriteString(f)
		h.Write(b)
	}
	t.hashes[id] = h.Sum64()
	return h.Sum64()
}

func removePath(n any, path string) {
	if list, ok := n.([]any); ok {
		for _, e := range list {
			removePath(e, path)
		}
		return
	}
	m, ok := n.(map[string]any)
	if !ok {
		return
	}
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		delete(m, name)
		return
	}
	removePath(m[name], rest)
}

// brute evaluates a controller over all objects.
type brute struct {
	c      *abi.Controller
	rules  []grant.Rule                       // nil: everything is granted
	things map[abi.Resource]map[string]*thing // by namespace/name
	sorted map[abi.Resource][]*thing
	known  map[*abi.Condition][]alternative
}

type alternative struct {
	leaves []abi.Condition
	named  []int
}

func (b *brute) listGranted(r abi.Resource) []*thing {
	if s, ok := b.sorted[r]; ok {
		return s
	}
	var all []*thing
	of := []abi.Resource{r}
	if r == schema.Any {
		of = anyPool
	}
	for _, r := range of {
		for _, t := range b.things[r] {
			if b.granted(t) {
				all = append(all, t)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y *thing) int { return strings.Compare(x.ns+"/"+x.name, y.ns+"/"+y.name) })
	b.sorted[r] = all
	return all
}

type bruteView struct {
	rows    []*thing
	guarded bool
}

// evaluateViews evaluates all views for a key, the lazy ones without narrowing.
func (b *brute) evaluateViews(key abi.KeyRef) []bruteView {
	all := make([]bruteView, len(b.c.Views))
	for i := range b.c.Views {
		v := &b.c.Views[i]
		if v.Guard != nil && !b.guardHolds(v.Guard, all, false, nil) {
			all[i].guarded = true
			continue
		}
		for _, t := range b.listGranted(v.Resource) {
			if b.inKeyView(i, t, key) && b.conditionHolds(v.Where, t, t.json, key, all, i) {
				all[i].rows = append(all[i].rows, t)
			}
		}
	}
	return all
}

func (b *brute) inKeyView(i int, t *thing, key abi.KeyRef) bool {
	k := b.c.Key
	if k.Single || int(k.View) != i {
		return true
	}
	if k.Path != "" {
		return slices.Contains(t.valuesAt(k.Path), key.Name)
	}
	if b.c.Views[i].Resource == schema.Any && t.resource.String() != key.Resource {
		return false
	}
	return t.ns == key.Namespace && t.name == key.Name
}

// conditionHolds tests the condition. Conditions that name the same view must hold for the same object: it tries all
// ways to pick one object of each earlier view, separately for each alternative of an any (which may pick others).
func (b *brute) conditionHolds(c *abi.Condition, t *thing, at any, key abi.KeyRef, views []bruteView, i int) bool {
	if b.known == nil {
		b.known = map[*abi.Condition][]alternative{}
	}
	all, ok := b.known[c]
	if !ok {
		for _, leaves := range alternatives(c) {
			a := alternative{leaves: leaves}
			for _, l := range leaves {
				a.named = append(a.named, namedViews(l)...)
			}
			slices.Sort(a.named)
			a.named = slices.Compact(a.named)
			all = append(all, a)
		}
		b.known[c] = all
	}
	for _, a := range all {
		if b.holdsForSomePick(a.named, a.leaves, map[int]*thing{}, t, key, views) {
			return true
		}
	}
	return false
}

func (b *brute) holdsForSomePick(named []int, all []abi.Condition, picked map[int]*thing, t *thing, key abi.KeyRef,
	views []bruteView) bool {
	if len(named) > 0 {
		v := named[0]
		// The key view's own name needs no object.
		rows := views[v].rows
		if b.keyOnly(v, all) {
			rows = []*thing{nil}
		}
		for _, o := range rows {
			picked[v] = o
			if b.holdsForSomePick(named[1:], all, picked, t, key, views) {
				return true
			}
		}
		return false
	}
	for i := range all {
		if !b.leafHolds(&all[i], t, t.json, "", picked, key) {
			return false
		}
	}
	return true
}

func (b *brute) isKeyName(c *abi.Condition) bool {
	return !b.c.Key.Single && b.c.Key.Path == "" && b.c.Views[b.c.Key.View].Resource != schema.Any &&
		c.View == b.c.Key.View && c.Op == abi.OpJoin && (c.ViewPath == "metadata.name" || c.ViewPath == "metadata.namespace")
}

// keyOnly reports that the view is named for the key's own name alone.
func (b *brute) keyOnly(v int, all []abi.Condition) bool {
	for i := range all {
		ok := true
		visitConditions(&all[i], func(c *abi.Condition) {
			if (c.Op == abi.OpJoin || c.Op == abi.OpSelected) && int(c.View) == v && !b.isKeyName(c) {
				ok = false
			}
		})
		if !ok {
			return false
		}
	}
	return true
}

func visitConditions(c *abi.Condition, f func(*abi.Condition)) {
	f(c)
	for i := range c.All {
		visitConditions(&c.All[i], f)
	}
	for i := range c.Any {
		visitConditions(&c.Any[i], f)
	}
	if c.Where != nil {
		visitConditions(c.Where, f)
	}
}

func namedViews(c abi.Condition) []int {
	var all []int
	visitConditions(&c, func(c *abi.Condition) {
		if (c.Op == abi.OpJoin || c.Op == abi.OpSelected) && c.View >= 0 {
			all = append(all, int(c.View))
		}
	})
	return all
}

// alternatives returns the conjunctions of leaves (eaches whole) one of which must hold. The worlds' conditions negate
// leaves only.
func alternatives(c *abi.Condition) [][]abi.Condition {
	switch {
	case c == nil:
		return [][]abi.Condition{nil}
	case len(c.Any) > 0:
		var all [][]abi.Condition
		for i := range c.Any {
			all = append(all, alternatives(&c.Any[i])...)
		}
		return all
	case len(c.All) > 0:
		all := [][]abi.Condition{nil}
		for i := range c.All {
			var next [][]abi.Condition
			for _, a := range all {
				for _, d := range alternatives(&c.All[i]) {
					next = append(next, slices.Concat(a, d))
				}
			}
			all = next
		}
		return all
	}
	return [][]abi.Condition{{*c}}
}

// leafHolds tests one condition, with objects picked for the earlier views. Inside an each the paths start at the
// element.
func (b *brute) leafHolds(c *abi.Condition, t *thing, at any, prefix string, picked map[int]*thing,
	key abi.KeyRef) bool {
	values := func() []string {
		if prefix == "" {
			return t.valuesAt(c.Path)
		}
		var v []string
		for _, n := range nodesAt(at, c.Path) {
			v = append(v, textValues(n)...)
		}
		return v
	}

	switch {
	case len(c.All) > 0:
		for i := range c.All {
			if !b.leafHolds(&c.All[i], t, at, prefix, picked, key) {
				return c.Not
			}
		}
		return !c.Not
	case len(c.Any) > 0:
		for i := range c.Any {
			if b.leafHolds(&c.Any[i], t, at, prefix, picked, key) {
				return !c.Not
			}
		}
		return c.Not
	case c.Each:
		for _, e := range nodesAt(at, c.Path) {
			if b.leafHolds(c.Where, t, e, c.Path, picked, key) {
				return !c.Not
			}
		}
		return c.Not
	case c.Op == abi.OpExists:
		if strings.HasSuffix(c.Path, "]") {
			return (len(nodesAt(at, c.Path)) > 0) != c.Not
		}
		return (len(values()) > 0) != c.Not
	case c.Op == abi.OpIn:
		return slices.ContainsFunc(values(), func(s string) bool { return slices.Contains(c.Values, s) }) != c.Not
	case c.Op == abi.OpSelected:
		return slices.ContainsFunc(picked[int(c.View)].selector(c.ViewPath),
			func(s labels.Selector) bool { return s.Matches(t.labels) })
	}

	var want []string
	switch {
	case c.View == abi.FromKey && c.ViewPath == "namespace", b.isKeyName(c) && c.ViewPath == "metadata.namespace":
		want = textValues(key.Namespace)
	case c.View == abi.FromKey, b.isKeyName(c):
		want = textValues(key.Name)
	default:
		want = picked[int(c.View)].valuesAt(c.ViewPath)
	}
	return slices.ContainsFunc(values(), func(s string) bool { return slices.Contains(want, s) })
}

// guardHolds tests a guard; the worlds' guards are leaves, or all of leaves on one view.
func (b *brute) guardHolds(c *abi.Condition, views []bruteView, not bool, _ any) bool {
	if len(c.Any) > 0 {
		return slices.ContainsFunc(c.Any, func(d abi.Condition) bool { return b.guardHolds(&d, views, false, nil) })
	}
	leaves := c.All
	if len(leaves) == 0 {
		leaves = []abi.Condition{*c}
	}

	of := map[int32][]abi.Condition{}
	for _, l := range leaves {
		if l.Op == abi.OpExists && l.Path == "" {
			if (len(views[l.View].rows) > 0) == l.Not {
				return false
			}
			continue
		}
		of[l.View] = append(of[l.View], l)
	}

	for v, tests := range of {
		if !slices.ContainsFunc(views[v].rows, func(t *thing) bool {
			return !slices.ContainsFunc(tests, func(l abi.Condition) bool {
				return !b.leafHolds(&l, t, t.json, "", nil,
					abi.KeyRef{})
			})
		}) {
			return false
		}
	}
	return true
}
