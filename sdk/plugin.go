package sdk

import (
	"math"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Plugin is one module: what it is, its settings and metrics, and its controllers.
type Plugin struct {
	Name string
	// Version is empty for a plugin that gets its version when it is built.
	Version     string
	Description string
	// StateVersion changes when the form of the kept state does.
	StateVersion int
	// Memory is the linear memory wanted, in bytes; 0 means the host's default.
	Memory      int64
	Settings    []*Setting
	Metrics     []*Metric
	Controllers []*Controller
	// Check looks at new settings; its error refuses them, and the message reaches the operator.
	Check func(*Settings) error
}

// StatusPace is the [Controller.Pace] of controllers whose status counts pods: it tells of several at once while many
// come or go. A write for each would be most of all writes.
const StatusPace = 20 * time.Millisecond

// Controller is one controller: what it reads and writes, and its sync.
type Controller struct {
	Name  string
	Alias string
	// Queue is the work queue's name in metrics.
	Queue string
	// ServiceAccount is the account in kube-system of a built-in plugin's controller; it is ignored for any other plugin.
	ServiceAccount string
	// EventSource is the component that its events come from. Without it the controller may send no events.
	EventSource string
	// Reads are its views, the key's first; each may name only earlier ones.
	Reads  Views
	Writes Writes
	// Workers is how many keys are synced at once by default.
	Workers int
	Backoff abi.Backoff
	// Rate multiplies the configured request rate, for built-in plugins only.
	Rate abi.Rate
	// Pace is how long a key rests after a sync of it that wrote, so that changes which follow each other closely are
	// written together. A key whose writes take long rests longer.
	Pace time.Duration
	// State tells that the controller keeps a blob per key.
	State bool
	// By makes keys other than the first view's objects.
	By                KeyedBy
	DisabledByDefault bool
	// PartOf names the controller whose second queue this one is: it runs where that one does, and operators don't know
	// its name.
	PartOf string
	// Sync brings one key nearer to what it should be. An error has the key tried again later; what was added before it is
	// still done.
	Sync func(*Call) error
}

// KeyedBy says what the keys are where they are not the first view's objects.
type KeyedBy struct {
	// Path makes a key of each value at this path of the first view's objects.
	Path string
	// Single makes the whole controller one key, synced at the start, each Every nanoseconds (0: never), and when a loud
	// view changes.
	Single bool
	Every  int64
}

// Views are a controller's reads.
type Views []AnyView

// Writes are a controller's rights.
type Writes []abi.Write

// AnyView is a View of any type.
type AnyView interface{ spec() *viewSpec }

// Object is a pointer to a Kubernetes object, such as *corev1.Pod.
type Object = resource.Object

// version is what the build has set, for plugins that have no Version.
var version string

// Manifest builds what the plugin declares. It panics on a declaration that makes no sense, which a test or the first
// load shows.
func (p *Plugin) Manifest() *abi.Manifest {
	m := &abi.Manifest{Name: p.Name, Version: p.Version, Description: p.Description, StateVersion: int32(p.StateVersion),
		Memory: p.Memory}
	if m.Version == "" {
		m.Version = version
	}
	for i, s := range p.Settings {
		s.index = i
		m.Settings = append(m.Settings,
			abi.Setting{Name: s.Name, Default: s.Default, Description: s.Description, File: s.File, Certificates: s.Certificates,
				Required: s.Required})
	}
	for i, x := range p.Metrics {
		x.index = i
		m.Metrics = append(m.Metrics, x.Metric)
	}
	for _, c := range p.Controllers {
		m.Controllers = append(m.Controllers, c.manifest())
	}
	return m
}

func (c *Controller) manifest() abi.Controller {
	m := abi.Controller{Name: c.Name, Alias: c.Alias, Queue: c.Queue, ServiceAccount: c.ServiceAccount,
		EventSource: c.EventSource,
		Writes:      c.Writes, Workers: int32(c.Workers), Backoff: c.Backoff, Rate: c.Rate, Pace: int64(c.Pace),
		State:             c.State,
		DisabledByDefault: c.DisabledByDefault, PartOf: c.PartOf,
		Key: abi.Key{Path: c.By.Path, Single: c.By.Single, Period: c.By.Every}}
	for i, v := range c.Reads {
		v.spec().index = i
	}
	for i, v := range c.Reads {
		s := v.spec()
		for _, x := range append(append([]Condition(nil), s.where...), s.guard...) {
			if other := x.undeclaredView(c.Reads[:i]); other != nil {
				panic("controller " + c.Name + ": view " + s.view.Name + " names view " + other.view.Name +
					", which isn't before it in Reads: put it there")
			}
		}
		m.Views = append(m.Views, s.manifest())
	}
	return m
}

// Setting is a value that an operator may set.
type Setting struct {
	Name        string
	Default     string
	Description string
	// File makes the setting a path; the plugin sees the file's content.
	File bool
	// Certificates has the host refuse a file that doesn't hold certificates, or holds a private key, too.
	Certificates bool
	// Required leaves the controllers idle while the setting is empty.
	Required bool
	isSwitch bool
	index    int
}

// Get returns the setting's value.
func (s *Setting) Get(c *Call) string { return s.In(c.settings) }

// In returns the setting's value in settings that are being checked.
func (s *Setting) In(v *Settings) string {
	if v == nil || s.index == undeclared || s.index >= len(v.Values) {
		return s.Default
	}
	return v.Values[s.index]
}

// undeclared is the index of a [Switch] that no plugin has declared, which has its default.
const undeclared = -1

// Label declares a label of a metric that can take the values that the setting has, with commas between them.
func (s *Setting) Label(name string) abi.Label {
	valuesOfSetting = func(c *Call, name string) []string {
		for _, s := range c.plugin.Settings {
			if s.Name == name {
				return abi.SettingValues(s.Get(c))
			}
		}
		return nil
	}
	return abi.Label{Name: name, Setting: s.Name}
}

// valuesOfSetting is nil in a plugin without such labels: its module hasn't the code.
var valuesOfSetting func(c *Call, name string) []string

// Gate declares a [Switch] that has the name of a feature gate of kube-controller-manager, which then sets it:
// --feature-gates=Name=false.
func Gate(name string, on bool, description string) *Setting { return Switch(name, on, description) }

// Switch declares a setting that is on or off: true or false.
func Switch(name string, on bool, description string) *Setting {
	s := &Setting{Name: name, Default: "false", Description: description, isSwitch: true, index: undeclared}
	if on {
		s.Default = "true"
	}
	return s
}

// On reports whether the setting, a [Switch], is on.
func (s *Setting) On(c *Call) bool { return s.Get(c) == "true" }

// Refused returns why the plugin doesn't take the settings: a [Switch] that is neither on nor off, or what
// [Plugin.Check] says; nil: it takes them.
func (p *Plugin) Refused(v *Settings) error {
	for _, s := range p.Settings {
		if text := s.In(v); s.isSwitch && text != "true" && text != "false" {
			return Errors(s.Name, ": ", text, " is neither true nor false")
		}
	}
	if p.Check == nil {
		return nil
	}
	return p.Check(v)
}

// Settings are the values of a plugin's settings, in the order of its declarations.
type Settings = abi.Settings

// Metric is a counter, gauge or histogram that syncs add to.
type Metric struct {
	abi.Metric
	index int
}

// Counter declares a counter; each label comes with all the values it can take, or is one whose values the host takes
// from objects ([View.Label]).
func Counter(name, help string, labels ...abi.Label) *Metric {
	return &Metric{Metric: abi.Metric{Name: name, Help: help, Type: abi.MetricCounter, Labels: labels}}
}

// Gauge declares a gauge.
func Gauge(name, help string, labels ...abi.Label) *Metric {
	return &Metric{Metric: abi.Metric{Name: name, Help: help, Type: abi.MetricGauge, Labels: labels}}
}

// Sum declares a gauge of the sum, over all keys, of what each key has said last. A key that is gone should say 0.
func Sum(name, help string, labels ...abi.Label) *Metric {
	return &Metric{Metric: abi.Metric{Name: name, Help: help, Type: abi.MetricSum, Labels: labels}}
}

// Histogram declares a histogram with these upper bounds.
func Histogram(name, help string, buckets []float64, labels ...abi.Label) *Metric {
	return &Metric{Metric: abi.Metric{Name: name, Help: help, Type: abi.MetricHistogram, Buckets: buckets, Labels: labels}}
}

// Stale declares a counter that the host keeps: of syncs put off because the cache didn't show the key's last writes.
// If its name begins with that of a controller (replicaset_controller_...), it counts those of that controller alone.
func Stale(name, help string) *Metric {
	return &Metric{Metric: abi.Metric{Name: name, Help: help, Type: abi.MetricStale}}
}

// Codes declares a counter that the host keeps: of syncs by label code, the HTTP status that they ended with.
func Codes(name, help string) *Metric {
	return &Metric{Metric: abi.Metric{Name: name, Help: help, Type: abi.MetricCodes}}
}

// CodeSeconds declares a histogram that the host keeps: of what syncs took, by label code as in [Codes].
func CodeSeconds(name, help string, buckets []float64) *Metric {
	return &Metric{Metric: abi.Metric{Name: name, Help: help, Type: abi.MetricCodeSeconds, Buckets: buckets}}
}

// Add adds to a counter, sets a gauge, says the key's share of a sum or observes in a histogram, once the sync's answer
// is accepted. Labels that come from the key or from objects are not given. A label value that was not declared drops
// the update.
func (m *Metric) Add(c *Call, value float64, labels ...string) {
	m.addUpdate(c, abi.MetricUpdate{Value: value}, labels)
}

// AddOf is Add where labels come from objects and a key isn't one: they are of the object at this place, from 0, in
// their view. What a sync says of a gauge is all there is: what it has no object for ends.
func (m *Metric) AddOf(c *Call, row int, value float64, labels ...string) {
	m.addUpdate(c, abi.MetricUpdate{Value: value, Row: int32(row)}, labels)
}

// Took adds the seconds that the sync has taken so far by the host's clock, performed effects included: a plugin has no
// clock.
func (m *Metric) Took(c *Call, labels ...string) { m.Add(c, math.NaN(), labels...) }

// Moment is a moment of a sync.
type Moment int32

// Since adds the seconds that all that was performed since then has taken by the host's clock, from the beginning of
// the first effect to the end of the last; 0 if nothing was.
func (m *Metric) Since(c *Call, then Moment, labels ...string) {
	m.addUpdate(c, abi.MetricUpdate{Value: math.NaN(), From: int32(then), To: int32(c.Moment())}, labels)
}

func (m *Metric) addUpdate(c *Call, u abi.MetricUpdate, labels []string) {
	u.Metric, u.Labels = int32(m.index), make([]int32, len(m.Labels))
	for i := range m.Labels {
		l := &m.Labels[i]
		if l.From == abi.LabelKeyNamespace || l.From == abi.LabelKeyName || l.View != "" {
			continue
		}
		if len(labels) == 0 {
			return
		}
		given := labels[0]
		labels = labels[1:]
		if l.From == abi.LabelNamespace {
			u.Namespace = given
			continue
		}
		values := l.Values
		if l.Setting != "" && valuesOfSetting != nil {
			values = valuesOfSetting(c, l.Setting)
		}
		k := -1
		for j, v := range values {
			if v == given {
				k = j
			}
		}
		if k < 0 {
			return
		}
		u.Labels[i] = int32(k)
	}

	if len(labels) == 0 {
		c.answer.Metrics = append(c.answer.Metrics, u)
	}
}
