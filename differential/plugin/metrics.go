package plugin

import (
	"maps"
	"math"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/differential/native"
)

// share is what a key has said last of one series of a sum.
type share struct {
	metric int32
	series string
	value  float64
}

// count adds what an answer says to the metrics that are compared.
func (p *Plugin) count(key abi.KeyRef, updates []abi.MetricUpdate) {
	left := slices.DeleteFunc(slices.Clone(p.shares[key]), func(s share) bool {
		return slices.ContainsFunc(updates, func(u abi.MetricUpdate) bool { return u.Metric == s.metric })
	})
	for _, u := range updates {
		declared := &p.guest.Manifest().Metrics[u.Metric]
		if !slices.Contains(p.Metrics, declared.Name) {
			continue
		}
		series := native.Series(declared.Name, labels(declared, key, &u))
		if math.IsNaN(u.Value) {
			u.Value = 0 // seconds, and time stands still
		}
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
		}
	}
	p.shares[key] = left
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

func labels(m *abi.Metric, key abi.KeyRef, u *abi.MetricUpdate) (all []string) {
	for i, l := range m.Labels {
		value := ""
		switch l.From {
		case abi.LabelKeyNamespace:
			value = key.Namespace
		case abi.LabelKeyName:
			value = key.Name
		case abi.LabelNamespace:
			value = u.Namespace
		default:
			value = l.Values[u.Labels[i]]
		}
		all = append(all, l.Name+"="+value)
	}
	return all
}
