//go:build !wasm && !tinygo.wasm

package abi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi/names"
)

// DecodeManifest reads a manifest strictly: an unknown member is an error that says where it stands. Guests are built
// without it.
func DecodeManifest(b []byte) (*Manifest, error) {
	if len(b) > ManifestMax {
		return nil, fmt.Errorf("manifest: %d bytes, the limit is %d", len(b), ManifestMax)
	}
	m := &Manifest{}
	if err := unknown(b, reflect.TypeOf(*m)); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("manifest: something follows the JSON object")
	}
	return m, m.validate()
}

// DecodeCheckedManifest reads a manifest that DecodeManifest has read before, as a build does: nothing is checked anew.
func DecodeCheckedManifest(b []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return m, nil
}

// What a manifest may ask for: each series of a metric, each worker takes the host's memory.
const (
	metricsMax = 200
	seriesMax  = 10_000 // of a metric, those by the key, a namespace or an object counted once
	bucketsMax = 100
	workersMax = 1000
	paceMax    = 60_000_000_000 // nanoseconds
)

func (m *Manifest) validate() error {
	if m.Name == "" {
		return fmt.Errorf("manifest: name is empty")
	}
	if len(m.Controllers) == 0 {
		return fmt.Errorf("manifest of %s: no controllers", m.Name)
	}
	if err := names.Plugin(m.Name); err != nil {
		return fmt.Errorf("manifest: name: %w", err)
	}
	for i, s := range m.Settings {
		if err := names.Setting(s.Name); err != nil {
			return fmt.Errorf("manifest of %s: settings[%d].name: %w", m.Name, i, err)
		}
	}
	if len(m.Metrics) > metricsMax {
		return fmt.Errorf("manifest of %s: %d metrics, the limit is %d", m.Name, len(m.Metrics), metricsMax)
	}

	for i, x := range m.Metrics {
		if err := x.bounded(); err != nil {
			return fmt.Errorf("manifest of %s: metrics[%d].%w", m.Name, i, err)
		}
		switch x.Type {
		case MetricCounter, MetricGauge, MetricSum, MetricHistogram:
		case MetricStale, MetricCodes, MetricCodeSeconds:
			if len(x.Labels) > 0 {
				return fmt.Errorf("manifest of %s: metrics[%d].labels: a %s metric has those that the host gives it",
					m.Name, i, x.Type)
			}
		default:
			return fmt.Errorf("manifest of %s: metrics[%d].type: %q; there are counter, gauge, sum, histogram, stale, codes, "+
				"codeSeconds", m.Name, i, x.Type)
		}
		if err := names.Metric(x.Name); err != nil {
			return fmt.Errorf("manifest of %s: metrics[%d].name: %w", m.Name, i, err)
		}
		for j, l := range x.Labels {
			if err := m.sourced(&l); err != nil {
				return fmt.Errorf("manifest of %s: metrics[%d].labels[%d]%w", m.Name, i, j, err)
			}
		}
	}

	for i, c := range m.Controllers {
		if c.Name == "" {
			return fmt.Errorf("manifest of %s: controllers[%d]: name is empty", m.Name, i)
		}
		if err := names.Controller(c.Name); err != nil {
			return fmt.Errorf("manifest of %s: controllers[%d].name: %w", m.Name, i, err)
		}
		if err := c.wellNamed(); err != nil {
			return fmt.Errorf("manifest of %s: controller %s: %w", m.Name, c.Name, err)
		}
		if c.Workers < 0 || c.Workers > workersMax {
			return fmt.Errorf("manifest of %s: controller %s: workers: %d, must be from 0 to %d",
				m.Name, c.Name, c.Workers, workersMax)
		}
		if c.Rate.QPS < 0 || c.Rate.Burst < 0 {
			return fmt.Errorf("manifest of %s: controller %s: rate: %d and %d: a factor is at least 1",
				m.Name, c.Name, c.Rate.QPS, c.Rate.Burst)
		}
		if c.Pace < 0 || c.Pace > paceMax {
			return fmt.Errorf("manifest of %s: controller %s: pace: %d ns, must be from 0 to %d",
				m.Name, c.Name, c.Pace, int64(paceMax))
		}
		if len(c.Views) == 0 {
			return fmt.Errorf("manifest of %s: controller %s: no views: a controller needs at least its key's", m.Name, c.Name)
		}
		for j, w := range c.Writes {
			if err := w.wellFormed(); err != nil {
				return fmt.Errorf("manifest of %s: controller %s: writes[%d] (%s).%w", m.Name, c.Name, j, w.resourceName(), err)
			}
		}
	}

	return nil
}

// wellNamed reports whether what a controller is called elsewhere, and what it reads, have names that can stand there.
func (c *Controller) wellNamed() error {
	if c.Alias != "" {
		if err := names.Controller(c.Alias); err != nil {
			return fmt.Errorf("alias: %w", err)
		}
	}
	if c.ServiceAccount != "" {
		if err := names.ServiceAccount(c.ServiceAccount); err != nil {
			return fmt.Errorf("serviceAccount: %w", err)
		}
	}
	for what, text := range map[string]string{"queue": c.Queue, "eventSource": c.EventSource} {
		if err := names.Text(what, text); err != nil {
			return err
		}
	}

	for i, v := range c.Views {
		if err := names.Text("view", v.Name); err != nil {
			return fmt.Errorf("views[%d].name: %w", i, err)
		}
		if err := v.Resource.WellNamed(); err != nil {
			return fmt.Errorf("views[%d].resource.%w", i, err)
		}
	}
	return nil
}

// WellNamed reports why the parts of a resource's name can't stand in a path. All resources together have no version.
func (r *Resource) WellNamed() error {
	if err := names.Group(r.Group); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	if r.Name != names.All || r.Version != "" {
		if err := names.Version(r.Version); err != nil {
			return fmt.Errorf("version: %w", err)
		}
	}
	if err := names.Plural(r.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	return nil
}

// writeVerbs are those that a Write may have.
var writeVerbs = []string{"get", "list", "create", "update", "patch", "delete", "deletecollection", "approve", "escalate",
	"sign", "attest"}

// nameless are those of what has no name to go by.
var nameless = []string{"list", "create", "deletecollection"}

// wellFormed reports whether a right has verbs, and none but those there are, and names only where there can be some:
// else it would only be refused at its first use.
func (w *Write) wellFormed() error {
	if err := w.Resource.WellNamed(); err != nil {
		return fmt.Errorf("resource.%w", err)
	}
	if err := names.Subresource(w.Subresource); err != nil {
		return fmt.Errorf("subresource: %w", err)
	}
	if len(w.Verbs) == 0 {
		return fmt.Errorf("verbs: none: there are %s", strings.Join(writeVerbs, ", "))
	}
	for _, v := range w.Verbs {
		if !slices.Contains(writeVerbs, v) {
			return fmt.Errorf("verbs: %q: there are %s", v, strings.Join(writeVerbs, ", "))
		}
		if len(w.Names) > 0 && slices.Contains(nameless, v) {
			return fmt.Errorf("names: a right to %s can't be one to objects of some names", v)
		}
	}
	if slices.Contains(w.Namespaces, "") {
		return fmt.Errorf("namespaces: an empty name: leave namespaces out for all of them")
	}
	if slices.Contains(w.Names, "") {
		return fmt.Errorf("names: an empty name: leave names out for all objects")
	}

	for _, n := range w.Namespaces {
		if err := names.Namespace(n); err != nil {
			return fmt.Errorf("namespaces: %w", err)
		}
	}
	for _, n := range w.Names { // those of signers have slashes
		if err := names.Text("name", n); err != nil {
			return fmt.Errorf("names: %w", err)
		}
	}
	return nil
}

// resourceName returns the right's resource with its subresource.
func (w *Write) resourceName() string {
	if w.Subresource == "" {
		return w.Resource.String()
	}
	return w.Resource.String() + "/" + w.Subresource
}

// sourced reports what is wrong with where a label's values come from. Whether paths exist is found out where views are
// compiled.
func (m *Manifest) sourced(l *Label) error {
	sources := 0
	for _, set := range []bool{len(l.Values) > 0, l.Setting != "", l.From != "", l.View != ""} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		return fmt.Errorf(": wants exactly one of values, setting, from and view")
	}
	if l.Setting != "" {
		if err := m.hasSetting(l.Setting); err != nil {
			return err
		}
	}

	switch l.From {
	case "", LabelKeyNamespace, LabelKeyName, LabelNamespace:
	default:
		return fmt.Errorf(".from: %q; there are %s, %s, %s", l.From, LabelKeyNamespace, LabelKeyName, LabelNamespace)
	}

	if l.View == "" {
		if len(l.Paths) > 0 || len(l.Fallbacks) > 0 || l.Separator != "" {
			return fmt.Errorf(": paths, fallbacks and separator go with a view")
		}
		return nil
	}
	if n := len(l.Paths); n != 1 && n != 2 {
		return fmt.Errorf(".paths: %d; there is one, or two that are joined", n)
	}
	if l.Separator != "" && len(l.Paths) == 1 {
		return fmt.Errorf(".separator: there is but one path")
	}
	if n := len(l.Fallbacks); n != 0 && n != len(l.Paths) {
		return fmt.Errorf(".fallbacks: %d for %d paths; there is one for each, or none", n, len(l.Paths))
	}
	return m.hasView(l.View)
}

// hasSetting reports an error unless there is a setting of that name, whose value may be shown.
func (m *Manifest) hasSetting(name string) error {
	for _, s := range m.Settings {
		switch {
		case s.Name != name:
		case s.File:
			return fmt.Errorf(".setting: %s is a file, whose content may be a secret", name)
		default:
			return nil
		}
	}
	return fmt.Errorf(".setting: there is no setting %q", name)
}

// hasView reports an error unless some controller has a view of that name, and none has several.
func (m *Manifest) hasView(name string) error {
	found := false
	for _, c := range m.Controllers {
		n := 0
		for _, v := range c.Views {
			if v.Name == name {
				n++
			}
		}
		if n > 1 {
			return fmt.Errorf(".view: controller %s has %d views named %q: give the one that is meant another name",
				c.Name, n, name)
		}
		found = found || n == 1
	}
	if !found {
		return fmt.Errorf(".view: no controller has a view named %q", name)
	}
	return nil
}

// bounded reports whether a metric has few enough series, and whether Prometheus's client takes it without panicking.
func (x *Metric) bounded() error {
	series := 1
	for i, l := range x.Labels {
		if err := names.MetricLabel(l.Name); err != nil {
			return fmt.Errorf("labels[%d].name: %w", i, err)
		}
		for _, v := range l.Values {
			if err := names.Text("label's value", v); err != nil {
				return fmt.Errorf("labels[%d].values: %w", i, err)
			}
		}
		if series *= max(len(l.Values), 1); series > seriesMax {
			return fmt.Errorf("labels: more than %d series: declare fewer values", seriesMax)
		}
	}
	if len(x.Buckets) > bucketsMax {
		return fmt.Errorf("buckets: %d, the limit is %d", len(x.Buckets), bucketsMax)
	}
	for i := 1; i < len(x.Buckets); i++ {
		if x.Buckets[i] <= x.Buckets[i-1] {
			return fmt.Errorf("buckets[%d]: %v is not more than the one before it, %v", i, x.Buckets[i], x.Buckets[i-1])
		}
	}
	return nil
}
