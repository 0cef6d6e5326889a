package views

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// Need is what a plan wants of one resource's cache.
type Need struct {
	Resource abi.Resource
	// Fields are the paths to keep, those of conditions included.
	Fields []string
	// Indexers have the same name in two plans exactly if they give the same values, so one of them is enough.
	Indexers map[string]cache.Indexer
	// Filter tells which objects can be in a view by its constant conditions alone; nil is all.
	Filter *cache.Filter
}

// Mask is what the cache has to keep of the resource's objects for the need.
func (n *Need) Mask(r *schema.Resource) (*schema.Mask, error) { return r.Message.Mask(n.Fields...) }

// Seen returns what the views read of a resource's objects, nil when none reads any.
func (p *Plan) Seen(r abi.Resource) *schema.Mask {
	for _, x := range p.resources {
		if x.resource.Resource == r {
			return x.mask
		}
	}
	return nil
}

// Needs returns what the plan wants of each resource's cache.
func (p *Plan) Needs() []Need {
	var all []Need
	for _, r := range p.resources {
		n := Need{Resource: r.resource.Resource, Filter: r.filter, Indexers: map[string]cache.Indexer{}}
		n.Fields = append(n.Fields, always...)
		if p.grant.Selects(n.Resource) {
			n.Fields = append(n.Fields, "metadata.labels")
		}
		for _, v := range r.views {
			n.Fields = append(n.Fields, v.Fields...)
			n.Fields = append(n.Fields, v.Unseen...)
			n.Fields = append(n.Fields, v.read...)
			n.Fields = append(n.Fields, v.used...)
		}
		for i, f := range n.Fields {
			n.Fields[i] = wirePath(f)
		}
		n.Fields = distinct(n.Fields)
		all = append(all, n)
	}

	indexers := func(v int) map[string]cache.Indexer {
		return all[slices.Index(p.resources, p.views[v].plan)].Indexers
	}
	for _, v := range p.views {
		for _, c := range v.clauses {
			if !c.list && !c.byName && (c.index != "" || v.isKeyView(p)) {
				indexers(v.index)[c.index] = c.conj.indexer()
			}
			for _, l := range c.links {
				if !l.byName {
					indexers(l.view)[l.index] = l.indexer()
				}
			}
		}
		for _, s := range v.asks {
			indexers(v.index)[s.text] = (&conj{joins: []*join{{source: s}}}).indexer()
		}
		if v.Lazy && v.plan.resource.Namespaced {
			indexers(v.index)[namespaceIndex] = byNamespace.indexer()
		}
	}

	return all
}

// always are the fields that every view has.
var always = []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"}

// wirePath returns the path on the wire that a path needs.
func wirePath(path string) string {
	if strings.HasPrefix(path, "controller.") || strings.HasPrefix(path, "owners.") {
		return "metadata.ownerReferences"
	}
	return path
}
