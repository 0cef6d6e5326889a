package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/hack/markdown"
	"github.com/windlass-dev/windlass/plugins/builtin"
)

// kinds are the types that Prometheus knows of metrics that the host keeps.
var kinds = map[string]string{
	abi.MetricSum: "gauge", abi.MetricStale: "counter", abi.MetricCodes: "counter", abi.MetricCodeSeconds: "histogram",
}

// kept are the labels of those that aren't in the manifest.
var kept = map[string][]string{
	abi.MetricStale: {"group", "resource"}, abi.MetricCodes: {"code"}, abi.MetricCodeSeconds: {"code"},
}

// metrics returns the table of the controllers' metrics, by name.
func metrics() string {
	rows := map[string]string{}
	for _, p := range builtin.Plugins {
		for _, m := range p.Native.Manifest().Metrics {
			kind := m.Type
			if k := kinds[m.Type]; k != "" {
				kind = k
			}
			rows[m.Name] = fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", m.Name, kind, metricLabels(&m), p.Folder,
				markdown.Cell(m.Help))
		}
	}

	var b strings.Builder
	b.WriteString("| metric | type | labels | plugin | meaning |\n|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[name])
	}
	return b.String()
}

// metricLabels returns a metric's labels by name, with the values that they can take where the manifest lists them.
func metricLabels(m *abi.Metric) string {
	var all []string
	for _, l := range kept[m.Type] {
		all = append(all, codeSpan(l))
	}
	for _, l := range m.Labels {
		text := codeSpan(l.Name)
		if l.Setting != "" {
			text += " (those of the setting " + codeSpan(l.Setting) + ")"
		} else if l.From == "" && len(l.Values) > 0 {
			text += " (" + strings.Join(slices.Sorted(slices.Values(l.Values)), ", ") + ")"
		} else if l.View != "" {
			text += " (" + strings.Join(l.Paths, l.Separator) + " of " + l.View + ")"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
