package abi

import (
	"slices"
	"strings"
	"testing"
)

// A label whose values are a setting's has those that the operator has written, and no more series than others.
func TestMetricsOfSettings(t *testing.T) {
	m := &Manifest{Settings: []Setting{{Name: "a"}, {Name: "ranges"}}, Metrics: []Metric{
		{Name: "plain", Type: MetricCounter, Labels: []Label{{Name: "l", Values: []string{"x"}}}},
		{Name: "used", Type: MetricGauge, Labels: []Label{
			{Name: "l", Values: []string{"x", "y"}}, {Name: "range", Setting: "ranges"}}},
	}}
	for text, want := range map[string][]string{
		"": nil, ",": nil, "10.0.0.0/8": {"10.0.0.0/8"}, " 10.0.0.0/8, fd00::/48 ,": {"10.0.0.0/8", "fd00::/48"},
	} {
		all, err := m.MetricsOf(&Settings{Values: []string{"b", text}})
		if err != nil || !slices.Equal(all[1].Labels[1].Values, want) ||
			!slices.Equal(all[0].Labels[0].Values, []string{"x"}) {
			t.Errorf("%q: %+v, %v; want %q", text, all, err, want)
		}
	}
	if m.Metrics[1].Labels[1].Values != nil {
		t.Error("the manifest itself has changed")
	}

	for text, want := range map[string]string{
		strings.Repeat("a,", seriesMax/2+1): "metric used with its settings: labels: more than 10000 series",
		"a\xff":                             "metric used with its settings: labels[1].values:",
	} {
		if _, err := m.MetricsOf(&Settings{Values: []string{"", text}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}
