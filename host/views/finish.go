package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// compileEventTests finds out which paths are loud, which later views depend on, and makes of them what an event is
// tested with.
func (p *Plan) compileEventTests() error {
	for i := len(p.views) - 1; i >= 0; i-- {
		v := p.views[i]
		matters := !v.quietAll || v.feeds // else what it depends on wakes nobody through it
		for _, c := range v.clauses {
			for _, j := range slices.Concat(c.joins, c.selectors) {
				if j.view != abi.FromKey {
					e := p.views[j.view]
					e.used = append(e.used, j.viewPath.text)
					if matters {
						e.feeds, e.fed = true, append(e.fed, j.viewPath.text)
					}
				}
			}
		}
		for _, terms := range v.guard {
			for _, t := range terms {
				e, paths := p.views[t.view], t.conj.appendPaths(nil)
				e.used = append(e.used, paths...)
				if matters {
					e.feeds, e.gates, e.gated = true, append(e.gates, t.conj), append(e.gated, paths...)
				}
			}
		}
		if !v.isKeyView(p) && !v.Lazy && !v.quietAll && !p.key.Single && v.unjoined() {
			p.Warnings = append(p.Warnings, fmt.Sprintf("controller %s: view %s (%s) isn't joined with the key: each of its "+
				"events wakes every key; join it, or make it quiet", p.controller, v.Name, v.Resource))
		}
	}

	for _, r := range p.resources {
		m := r.resource.Message
		fields := slices.Clone(always)
		for _, v := range r.views {
			for _, f := range v.Fields {
				fields = append(fields, wirePath(f))
			}
			loud, err := loudPaths(m, v)
			if err != nil {
				return fmt.Errorf("view %s: %w", v.Name, err)
			}
			if v.Lazy && covered(r, "metadata.labels") {
				v.read = append(v.read, "metadata.labels") // it may be asked by a selector
			}
			v.loud = loud
			v.used, v.fed, v.gated = distinct(v.used), distinct(v.fed), distinct(v.gated)
			r.paths = slices.Concat(r.paths, v.loud, v.fed, v.gated, v.read)
		}
		r.paths = distinct(r.paths)
		var err error
		if r.mask, err = m.Mask(distinct(fields)...); err != nil {
			return err
		}
		if !r.overAllResources() { // of all resources, all objects are kept: filters are for large fields
			if r.filter, err = compileFilter(m, r.views); err != nil {
				return err
			}
		}
		if r.leaves, err = m.Leaves(r.paths); err != nil {
			return err
		}
		r.all = pathBits(r.paths, r.paths)
		r.tests = r.testsOver(r.paths)
	}

	return nil
}

// testsOver returns each view's paths as bits of sorted paths that contain them.
func (r *resourcePlan) testsOver(paths []string) []tests {
	var all []tests
	for _, v := range r.views {
		all = append(all, tests{loud: pathBits(paths, v.loud), fed: pathBits(paths, v.fed), gated: pathBits(paths, v.gated),
			read: pathBits(paths, v.read)})
	}
	return all
}

// pathBits returns the set of the paths within all.
func pathBits(all, paths []string) schema.Bits {
	var b schema.Bits
	for _, s := range paths {
		i, _ := slices.BinarySearch(all, s)
		b.Set(i)
	}
	return b
}

// covered reports whether a path is within what the controller reads of the resource.
func covered(r *resourcePlan, path string) bool {
	return slices.ContainsFunc(r.views, func(v *view) bool {
		return slices.ContainsFunc(v.Fields, func(f string) bool { return isWithinPath(wirePath(path), wirePath(f)) })
	})
}

// isWithinPath reports whether a path is the other one or below it.
func isWithinPath(path, top string) bool {
	return path == top || strings.HasPrefix(path, top) && (path[len(top)] == '.' || path[len(top)] == '[')
}

// loudPaths returns the declared fields without what is quiet, and what is watched unseen.
func loudPaths(m *schema.Message, v *view) ([]string, error) {
	if v.quietAll {
		return nil, nil
	}
	loud := []string{"metadata.uid"}
	for _, f := range v.Fields {
		paths, err := subtract(m, wirePath(f), v.Quiet)
		if err != nil {
			return nil, err
		}
		loud = append(loud, paths...)
	}
	for _, u := range v.Unseen {
		loud = append(loud, wirePath(u))
	}
	return distinct(loud), nil
}

// subtract splits a path into those below it until none of the quiet ones is in any.
func subtract(m *schema.Message, path string, quiet []string) ([]string, error) {
	if path == "metadata.resourceVersion" || path == "metadata.managedFields" {
		return nil, nil // never loud; below metadata, Leaves leaves them out itself
	}
	split := false
	for _, q := range quiet {
		if isWithinPath(path, wirePath(q)) {
			return nil, nil
		}
		split = split || isWithinPath(wirePath(q), path)
	}

	if !split {
		return []string{path}, nil
	}
	p, err := m.Path(path)
	if err != nil {
		return nil, err
	}

	below := p.Message()
	if p.JSON() {
		return nil, fmt.Errorf("quiet: a part of %s is quiet, and it is JSON without a schema; declare the members that "+
			"are read, instead of %s", path, path)
	}
	if below == nil || p.Map() {
		return nil, fmt.Errorf("quiet: a part of %s is quiet; declare the keys of the map that are read, instead of the map",
			path)
	}

	var all []string
	for _, f := range children(below) {
		paths, err := subtract(m, path+"."+f.JSON, quiet)
		if err != nil {
			return nil, err
		}
		all = append(all, paths...)
	}

	return all, nil
}

// children returns the fields of a message as JSON has them.
func children(m *schema.Message) []*schema.Field {
	var all []*schema.Field
	for _, f := range m.Fields() {
		if f.Inline {
			all = append(all, children(f.Message)...)
		} else {
			all = append(all, f)
		}
	}
	return all
}
