package views

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// Labels are those labels of a plugin's metrics whose values are in objects that one of its controllers reads. It is
// safe for concurrent use. A nil Labels has none.
type Labels struct {
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
	separator string
}

// Labels compiles what metrics' labels read of the plan's views. Its errors name metric, label, view and path.
func (p *Plan) Labels(metrics []abi.Metric) (*Labels, error) {
	all := &Labels{metrics: map[int32]*objectLabels{}}
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

	for _, text := range l.Paths {
		path, err := v.plan.resource.Message.Path(text)
		if err != nil {
			return s, err
		}
		if !path.JSON() && (path.Message() != nil || path.Map()) {
			return s, fmt.Errorf("path %q leads to more than one value: name one below it", text)
		}
		if !v.plan.mask.Keeps(text) {
			return s, fmt.Errorf("path %q isn't among the view's fields: add it to them", text)
		}
		s.paths = append(s.paths, path)
	}
	return s, nil
}

// Of returns the values of the metric's labels that are in objects, in the labels' order, as the snapshot has them. Not
// ok: the controller hasn't the views that they are in.
func (l *Labels) Of(s *Snapshot, metric int32) (values []string, ok bool) {
	if l == nil {
		return nil, true
	}

	m := l.metrics[metric]
	if m == nil {
		return nil, true
	}
	if m.foreign {
		return nil, false
	}

	values = make([]string, len(m.sources))
	for i := range m.sources {
		values[i] = m.sources[i].labelValue(s)
	}
	return values, true
}

// labelValue returns the label's value; empty where the view has no object, or the object nothing at the paths.
func (l *labelSource) labelValue(s *Snapshot) string {
	rows := s.Rows(l.view)
	if len(rows) == 0 {
		return ""
	}
	var parts [2]string
	for i, p := range l.paths {
		found, err := p.Values(nil, rows[0].Raw)
		if err == nil && len(found) > 0 {
			parts[i] = string(found[0])
		}
	}
	if len(l.paths) < 2 || parts == [2]string{} {
		return parts[0]
	}
	return parts[0] + l.separator + parts[1]
}
