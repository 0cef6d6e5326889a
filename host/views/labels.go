package views

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// Labels are those labels of a plugin's metrics whose values are in objects that one of its controllers reads. It is
// safe for concurrent use. A nil Labels has none.
type Labels struct {
	own     bool                    // a key is an object
	metrics map[int32]*objectLabels // by the metric's index; one that isn't there has no such label
}

// objectLabels are the labels of one metric.
type objectLabels struct {
	foreign bool // the controller hasn't the views of all of them
	sources []labelSource
}

// labelSource is where a label's value is.
type labelSource struct {
	view      int
	paths     []*schema.Path
	fallbacks []*schema.Path // of paths; nil: none
	separator string
}

// Labels compiles what metrics' labels read of the plan's views. Its errors name metric, label, view and path.
func (p *Plan) Labels(metrics []abi.Metric) (*Labels, error) {
	all := &Labels{own: p.ObjectKeys(), metrics: map[int32]*objectLabels{}}
	for i, m := range metrics {
		for j := range m.Labels {
			l := &m.Labels[j]
			if l.View == "" {
				continue
			}
			of := all.metrics[int32(i)]
			if of == nil {
				of = &objectLabels{}
				all.metrics[int32(i)] = of
			}

			v := p.viewNamed(l.View)
			if v == nil {
				of.foreign = true
				continue
			}
			source, err := v.compileLabel(l)
			if err != nil {
				return nil, fmt.Errorf("controller %s: metric %s: label %s: view %s: %w", p.controller, m.Name, l.Name, l.View, err)
			}
			of.sources = append(of.sources, source)
		}
	}
	return all, nil
}

// viewNamed returns the view of that name, nil if there is none.
func (p *Plan) viewNamed(name string) *view {
	for _, v := range p.views {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// compileLabel compiles a label whose values are in the view's objects.
func (v *view) compileLabel(l *abi.Label) (labelSource, error) {
	s := labelSource{view: v.index, separator: l.Separator}
	r := v.plan.resource.Resource
	switch {
	case v.Lazy || v.Count > 0:
		return s, fmt.Errorf("a lazy or counted view has no objects to take a label's value from")
	case v.plan.overAllResources() || r == (abi.Resource{Version: "v1", Name: "secrets"}):
		// Who may read metrics may not therefore read these; the metadata of all resources has copies of them in annotations.
		return s, fmt.Errorf("a label's value can't come from %s, which may contain secrets", r)
	}

	var err error
	if s.paths, err = v.labelPaths(l.Paths); err == nil {
		s.fallbacks, err = v.labelPaths(l.Fallbacks)
	}
	return s, err
}

// labelPaths compiles paths to labels' values in the view's objects.
func (v *view) labelPaths(texts []string) (all []*schema.Path, _ error) {
	for _, text := range texts {
		path, err := v.plan.resource.Message.Path(text)
		if err != nil {
			return nil, err
		}
		if !path.JSON() && (path.Message() != nil || path.Map()) {
			return nil, fmt.Errorf("path %q leads to more than one value: name one below it", text)
		}
		if !v.plan.mask.Keeps(text) {
			return nil, fmt.Errorf("path %q isn't among the view's fields: add it to them", text)
		}
		all = append(all, path)
	}
	return all, nil
}

// KeysOwn in the place of a row asks [Labels.Of] for the values that all of a key's series have, whatever its answer
// says.
const KeysOwn = -1

// Of returns the values of the metric's labels that are in objects, in the labels' order, as the snapshot has them: in
// the first object of their views, or where a key isn't an object in the one at row. Not ok: the controller hasn't the
// views that they are in, or there is no such row; a key that isn't an object has no values of its own.
func (l *Labels) Of(s *Snapshot, metric, row int32) (values []string, ok bool) {
	if l == nil {
		return nil, true
	}

	m := l.metrics[metric]
	if m == nil {
		return nil, true
	}
	if m.foreign || l.own && row > 0 || !l.own && row < 0 {
		return nil, false
	}
	row = max(row, 0)

	values = make([]string, len(m.sources))
	for i := range m.sources {
		rows := s.Rows(m.sources[i].view)
		switch {
		case int(row) < len(rows):
			values[i] = m.sources[i].labelValue(rows[row].Raw)
		case row > 0:
			return nil, false
		}
	}
	return values, true
}

// labelValue returns the label's value in an object; empty where it has nothing at the paths.
func (l *labelSource) labelValue(raw []byte) string {
	var parts [2]string
	for i, p := range l.paths {
		found, err := p.Values(nil, raw)
		if err == nil && len(found) == 0 && l.fallbacks != nil {
			found, err = l.fallbacks[i].Values(nil, raw)
		}
		if err == nil && len(found) > 0 {
			parts[i] = string(found[0])
		}
	}
	if len(l.paths) < 2 || parts == [2]string{} {
		return parts[0]
	}
	return parts[0] + l.separator + parts[1]
}
