//go:build !wasm && !tinygo.wasm

package abi

import (
	"fmt"
	"slices"
)

// MetricsOf returns the manifest's metrics under these settings: labels whose values are a setting's have them as their
// values.
func (m *Manifest) MetricsOf(settings *Settings) ([]Metric, error) {
	all := slices.Clone(m.Metrics)
	for i := range all {
		x := &all[i]
		x.Labels = slices.Clone(x.Labels)
		changed := false
		for j := range x.Labels {
			l := &x.Labels[j]
			if l.Setting == "" {
				continue
			}
			k := slices.IndexFunc(m.Settings, func(s Setting) bool { return s.Name == l.Setting })
			l.Values, changed = SettingValues(settings.Values[k]), true
		}
		if !changed {
			continue
		}
		if err := x.bounded(); err != nil {
			return nil, fmt.Errorf("metric %s with its settings: %w", x.Name, err)
		}
	}
	return all, nil
}
