package parity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/plugins"
)

// family is one metric, as it was served or as it is declared.
type family struct {
	kind    string
	help    string
	labels  []string
	values  map[string]map[string]bool // of each label; nil: whatever is declared allows any
	buckets []float64                  // but +Inf
	native  bool                       // it has native buckets as well
	series  []*dto.Metric
}

func newFamily(kind, help string) *family {
	return &family{kind: kind, help: help, values: map[string]map[string]bool{}}
}

func (f *family) addValues(label string, values ...string) {
	if _, ok := f.values[label]; !ok {
		f.labels = append(f.labels, label)
		slices.Sort(f.labels)
		f.values[label] = map[string]bool{}
	}
	for _, v := range values {
		f.values[label][v] = true
	}
}

// scrapedFamilies returns a scrape as families.
func scrapedFamilies(scrape map[string]*dto.MetricFamily) map[string]*family {
	all := map[string]*family{}
	for name, m := range scrape {
		f := newFamily(strings.ToLower(m.GetType().String()), m.GetHelp())
		f.series = m.Metric
		for _, s := range m.Metric {
			for _, l := range s.Label {
				f.addValues(l.GetName(), l.GetValue())
			}
			if s.Histogram != nil {
				f.native, f.buckets = s.Histogram.Schema != nil, nil
				for _, b := range s.Histogram.Bucket {
					if !math.IsInf(b.GetUpperBound(), 1) {
						f.buckets = append(f.buckets, b.GetUpperBound())
					}
				}
			}
		}
		all[name] = f
	}
	return all
}

// declared are the families that the manager and the built-in plugins have whether or not there has been any reason for
// a series, and whose they are.
func declared(t testing.TB) (all map[string]*family, owner map[string]string) {
	t.Helper()
	all, owner = map[string]*family{}, map[string]string{}
	for _, m := range metrics.Families() {
		f := newFamily(m.Type, m.Help)
		f.buckets, f.native = m.Buckets, m.Type == "histogram"
		for _, l := range m.Labels {
			f.addValues(l)
			f.values[l] = nil
		}
		all[m.Name] = f
	}
	found, problems := new(plugins.Finder).Find(t.Context(), config.Default(), plugins.Builtin{})
	for _, p := range problems {
		t.Error(p)
	}
	for _, p := range found {
		for _, m := range p.Manifest.Metrics {
			all[m.Name], owner[m.Name] = declaredBy(m), p.Name
		}
	}
	return all, owner
}

func declaredBy(m abi.Metric) *family {
	kinds := map[string]string{abi.MetricSum: "gauge", abi.MetricStale: "counter", abi.MetricCodes: "counter",
		abi.MetricCodeSeconds: "histogram"}
	f := newFamily(m.Type, m.Help)
	if kind := kinds[m.Type]; kind != "" {
		f.kind = kind
	}
	f.buckets, f.native = m.Buckets, f.kind == "histogram"
	hosts := map[string][]string{abi.MetricStale: {"group", "resource"}, abi.MetricCodes: {"code"},
		abi.MetricCodeSeconds: {"code"}}
	for _, l := range hosts[m.Type] {
		f.addValues(l)
		f.values[l] = nil
	}
	for _, l := range m.Labels {
		f.addValues(l.Name, l.Values...)
		if l.From != "" {
			f.values[l.Name] = nil
		}
	}
	return f
}

// mergeFamilies joins what was served and what is declared.
func mergeFamilies(served, declared map[string]*family) map[string]*family {
	all := maps.Clone(declared)
	for name, f := range served {
		d := declared[name]
		if d == nil {
			all[name] = f
			continue
		}
		both := *f
		both.values = map[string]map[string]bool{}
		for label, seen := range f.values {
			if values, ok := d.values[label]; ok && values == nil {
				both.values[label] = nil
				continue
			}
			both.values[label] = maps.Clone(seen)
			maps.Copy(both.values[label], d.values[label])
		}
		all[name] = &both
	}
	return all
}

// free are labels whose values are no enumeration, by metric or "*".
var free = map[string][]string{
	"*": {"host", "namespace", "hpa_name", "statefulset_namespace", "statefulset_name", "code"},
	// What the process was built from.
	"kubernetes_build_info": {"git_commit", "git_version", "git_tree_state", "build_date", "go_version"},
	"version_info":          {"binary"},
	"go_info":               {"version"},
}

func isFreeLabel(metric, label string) bool {
	return slices.Contains(free["*"], label) || slices.Contains(free[metric], label)
}

// missingFamilies returns what is in one but not in the other, such as "NAME", "NAME type", "NAME help", "NAME labels",
// "NAME buckets" or "NAME{LABEL=VALUE}", each with what there is.
func missingFamilies(native, ours map[string]*family) map[string]string {
	all := map[string]string{}
	for name, n := range native {
		o := ours[name]
		if o == nil {
			all[name] = "is missing"
			continue
		}

		if n.kind != o.kind {
			all[name+" type"] = o.kind + ", natively " + n.kind
		}
		if n.help != o.help {
			all[name+" help"] = fmt.Sprintf("%q, natively %q", o.help, n.help)
		}

		if !slices.Equal(n.labels, o.labels) {
			all[name+" labels"] = fmt.Sprintf("%v, natively %v", o.labels, n.labels)
		}
		if !slices.Equal(n.buckets, o.buckets) {
			all[name+" buckets"] = fmt.Sprintf("%v, natively %v", o.buckets, n.buckets)
		}
		if n.native && !o.native {
			all[name+" native buckets"] = "are missing"
		}

		for label, values := range n.values {
			have, ok := o.values[label]
			if isFreeLabel(name, label) || ok && have == nil {
				continue
			}
			for v := range values {
				if !have[v] {
					all[fmt.Sprintf("%s{%s=%s}", name, label, v)] = "is missing"
				}
			}
		}
	}
	return all
}
