package plugin

import (
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/host/views"
)

// share is what a key has said last of one series of a sum.
type share struct {
	metric int32
	series string
	value  float64
}

// Answered adds what a key's answer says to the metrics that are compared. Seconds are 0, for time stands still.
func (p *Plugin) Answered(key abi.KeyRef, updates []abi.MetricUpdate,
	inObjects func(metric, row int32) ([]string, bool)) {

	left := slices.DeleteFunc(slices.Clone(p.shares[key]), func(s share) bool {
		return slices.ContainsFunc(updates, func(u abi.MetricUpdate) bool { return u.Metric == s.metric })
	})
	said := map[string]bool{}
	for _, u := range updates {
		declared := &p.metrics[u.Metric]
		if !slices.Contains(p.Metrics, declared.Name) {
			continue
		}

		objects, ok := inObjects(u.Metric, u.Row)
		if !ok {
			continue
		}

		series := native.Series(declared.Name, labels(declared, key, &u, objects))
		switch declared.Type {
		case abi.MetricCounter:
			p.counts.Counted(series, u.Value)
		case abi.MetricHistogram:
			p.counts.Observed(series, 1, u.Value)
		case abi.MetricSum:
			left = append(left, share{u.Metric, series, u.Value})
		case abi.MetricGauge:
			if p.gauges[key] == nil {
				p.gauges[key] = map[string]float64{}
			}
			p.gauges[key][series] = u.Value
			said[series] = true
		}
	}
	p.shares[key] = left

	// A key that isn't an object says all there is of a gauge whose labels are of objects.
	for _, u := range updates {
		declared := &p.guest.Manifest().Metrics[u.Metric]
		if _, own := inObjects(u.Metric, views.KeysOwn); own || declared.Type != abi.MetricGauge {
			continue
		}
		maps.DeleteFunc(p.gauges[key], func(series string, _ float64) bool {
			return strings.HasPrefix(series, declared.Name+" ") && !said[series]
		})
	}
}

// Measured returns what the metrics stand at that are compared.
func (p *Plugin) Measured() native.Measures {
	m := maps.Clone(p.counts)
	for _, all := range p.shares {
		for _, s := range all {
			m.Stands(s.series, s.value)
		}
	}
	for _, all := range p.gauges {
		for series, value := range all {
			m.Stands(series, value)
		}
	}
	return m
}

// labels returns the labels of an update; objects are the values that are in objects.
func labels(m *abi.Metric, key abi.KeyRef, u *abi.MetricUpdate, objects []string) (all []string) {
	for i, l := range m.Labels {
		value := ""
		switch {
		case l.View != "":
			value, objects = objects[0], objects[1:]
		case l.From == abi.LabelKeyNamespace:
			value = key.Namespace
		case l.From == abi.LabelKeyName:
			value = key.Name
		case l.From == abi.LabelNamespace:
			value = u.Namespace
		default:
			value = l.Values[u.Labels[i]]
		}
		all = append(all, l.Name+"="+value)
	}
	return all
}
