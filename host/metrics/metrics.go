package metrics

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/views"
)

// Metrics are Windlass's own, and those that upstream has of a manager, beside the libraries' workqueue_* and
// rest_client_*. Those that are exported are counted by the manager itself; New has what each says, and its labels.
type Metrics struct {
	families
	looked

	Writes, Refusals, OverBudget, Swaps, Reloads *prometheus.CounterVec
	ShadowSyncs, ShadowDifferences               *prometheus.CounterVec
	Running                                      *prometheus.GaugeVec
	Informed                                     *prometheus.HistogramVec

	syncs, resyncs, slowed, guestSeconds, fuel, snapshotBytes, outcomeBytes *prometheus.CounterVec
	duration                                                                *prometheus.HistogramVec
	memory                                                                  *prometheus.GaugeVec

	mu     sync.Mutex
	own    map[string]declaredMetric // by name
	bounds map[string]*Controller    // by controller
}

// declaredMetric is a plugin's metric that is registered: another version that declares it the same way goes on with
// it.
type declaredMetric struct {
	abi.Metric
	plugin string
	metric *PluginMetric
	c      prometheus.Collector
}

// New registers the metrics.
func New(r *prometheus.Registry) *Metrics {
	m := &Metrics{families: families{registry: r}, own: map[string]declaredMetric{}, bounds: map[string]*Controller{}}
	f := &m.families
	m.looked = newLooked(f)
	m.syncs = f.counter("windlass_syncs_total",
		"Syncs by result: ok, error (an effect failed or the plugin said so), trap, refused, performed "+
			"(trapped after a write), stale (put off until the cache shows the key's last writes), deferred "+
			"(put off until the plugin's budget has deletes again), panic (a bug of Windlass's).",
		"controller", "result")
	m.resyncs = f.counter("windlass_resyncs_total",
		"Keys that were synced because the resync period was over, and not because something had happened.",
		"controller")
	m.slowed = f.counter("windlass_slowed_syncs_total",
		"Syncs that were put off because their key is restless: it asks for the next sync at once, again "+
			"and again, and writes nothing.",
		"controller")
	m.duration = f.histogram("windlass_sync_duration_seconds",
		"Time of a whole sync, its writes included.", prometheus.ExponentialBuckets(0.00001, 4, 10), "controller")
	m.guestSeconds = f.counter("windlass_guest_seconds_total",
		"Time spent inside the sandbox, in seconds, waiting for performed effects excluded.", "controller")
	m.fuel = f.counter("windlass_guest_fuel_total",
		"Fuel that syncs used: metered instructions inside the sandbox.", "controller")
	m.memory = f.newGauge("windlass_guest_memory_bytes", "WebAssembly memory that the last sync used.", "controller")
	m.snapshotBytes = f.counter("windlass_snapshot_bytes_total",
		"Bytes of all requests handed to the sandbox.", "controller")
	m.outcomeBytes = f.counter("windlass_outcome_bytes_total",
		"Bytes that performs returned to the sandbox: objects that were read, facts, lazy views, outcomes "+
			"of effects.",
		"controller")
	m.Writes = f.counter("windlass_writes_total",
		"API writes by verb, resource and outcome.", "controller", "verb", "resource", "code")
	m.Refusals = f.counter("windlass_refused_effects_total",
		"Answers refused because an effect was malformed or not within the plugin's rights.", "controller")
	m.OverBudget = f.counter("windlass_over_budget_total",
		"Syncs that had to wait for a plugin's budget.", "plugin", "budget")
	m.Swaps = f.counter("windlass_plugin_swaps_total",
		"Replacements of a plugin's version by result: ok, reconfigured (the same module), failed (the "+
			"old one was kept), rolled-back (the new one failed its trial).",
		"plugin", "result")
	m.ShadowSyncs = f.counter("windlass_shadow_syncs_total",
		"Syncs that a controller's shadow ran, too.", "controller")
	m.ShadowDifferences = f.counter("windlass_shadow_differences_total",
		"Syncs for which the shadow's answer differs from the controller's.", "controller")
	m.Reloads = f.counter("windlass_config_reloads_total",
		"Times that the configuration was read anew, by result: ok, failed (the old one was kept).", "result")

	// Upstream's.
	m.Running = f.newGauge("running_managed_controllers",
		"[BETA] Indicates where instances of a controller are currently running", "name", "manager")
	m.Informed = f.histogram("informer_processing_latency_seconds",
		"[ALPHA] Time taken to process events after popping from the queue.",
		[]float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}, "name", "group", "version", "resource")
	return m
}

// Of returns a controller's metrics, with its labels bound so that a sync looks nothing up; own are the plugin's
// metrics by index.
func (m *Metrics) Of(name string, own []*PluginMetric) *Controller {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.bounds[name]; b != nil && slices.Equal(b.own, own) {
		return b // with what the keys have said of sums
	}
	b := &Controller{
		results:  map[string]prometheus.Counter{},
		resyncs:  m.resyncs.WithLabelValues(name),
		slowed:   m.slowed.WithLabelValues(name),
		guest:    m.guestSeconds.WithLabelValues(name),
		fuel:     m.fuel.WithLabelValues(name),
		bytes:    m.snapshotBytes.WithLabelValues(name),
		outcomes: m.outcomeBytes.WithLabelValues(name),
		memory:   m.memory.WithLabelValues(name),
		duration: m.duration.WithLabelValues(name),
		name:     name,
		own:      own,
		sums:     slices.ContainsFunc(own, func(m *PluginMetric) bool { return m.sum }),
		summands: map[controller.Key][]summand{},
	}

	for _, r := range []string{"ok", "error", "trap", "refused", "performed", "stale", "deferred", "panic"} {
		b.results[r] = m.syncs.WithLabelValues(name, r)
	}
	m.bounds[name] = b
	return b
}

// Controller is the metrics of one controller.
type Controller struct {
	results                      map[string]prometheus.Counter
	guest, fuel, bytes, outcomes prometheus.Counter
	resyncs, slowed              prometheus.Counter
	memory                       prometheus.Gauge
	duration                     prometheus.Observer
	name                         string
	own                          []*PluginMetric
	sums                         bool
	recent                       recent

	mu       sync.Mutex
	summands map[controller.Key][]summand
	said     []bool     // of each metric, whether the answer that is being counted says anything of it
	led      [][]string // and the values in objects that lead to it; nil: it wasn't asked yet
}

// summand is what a key adds to a sum: to the series of these values, to which these values in objects led.
type summand struct {
	metric          int32
	values, objects []string
	value           float64
}

// Synced counts a sync that has ended, or was put off.
func (b *Controller) Synced(s controller.Sync) {
	b.results[s.Result].Inc()
	if s.Result == "stale" {
		for i := range b.own {
			if f := b.own[i].stale; f != nil && (b.own[i].only == "" || b.own[i].only == b.name) {
				f(s.Behind)
			}
		}
		return
	}

	b.guest.Add(s.Guest.Seconds())
	b.fuel.Add(float64(s.Fuel))
	b.bytes.Add(float64(s.SnapshotBytes))
	b.outcomes.Add(float64(s.OutcomeBytes))
	b.duration.Observe(s.Duration.Seconds())
	b.recent.add(s.Duration)
	for i := range b.own {
		if f := b.own[i].ended; f != nil {
			f(s.Code, s.Duration.Seconds())
		}
	}
	if s.MemoryBytes > 0 {
		b.memory.Set(float64(s.MemoryBytes))
	}
}

// Answered adds to the plugin's own metrics. What a key says of a sum takes the place of all that it has said of that
// sum before.
func (b *Controller) Answered(k controller.Key, updates []abi.MetricUpdate,
	objects func(metric, row int32) ([]string, bool)) {

	if b.sums {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.noteSaid(updates)
		b.takeBack(k, func(s *summand) bool {
			if b.said[s.metric] {
				return true
			}
			if b.led[s.metric] == nil {
				now, ok := objects(s.metric, views.KeysOwn)
				if !ok {
					return false
				}
				b.led[s.metric] = append([]string{}, now...)
			}
			return !slices.Equal(s.objects, b.led[s.metric])
		})
	}

	o, keysOwn := owner{b.name, k}, false
	var said map[*PluginMetric]map[string]bool // the series that a key which isn't an object speaks of
	for i := range updates {
		u := &updates[i]
		if u.Metric < 0 || int(u.Metric) >= len(b.own) || b.own[u.Metric].put == nil {
			continue
		}
		now, ok := objects(u.Metric, u.Row)
		if !ok {
			continue
		}
		m := b.own[u.Metric]
		if m.sum && u.Value != 0 && m.holdSummand() != nil {
			continue
		}
		values, ok := m.addUpdate(o, u, now, u.Value)
		if ok && !keysOwn && m.byObjects() {
			if _, keysOwn = objects(u.Metric, views.KeysOwn); !keysOwn {
				said = noteSeries(said, m, values)
			}
		}
		switch {
		case !m.sum || u.Value == 0:
		case ok:
			b.summands[k] = append(b.summands[k], summand{u.Metric, values, now, u.Value})
		default:
			m.dropSummand()
		}
	}
	for i, m := range b.own {
		if !m.byObjects() {
			continue
		}
		if now, ok := objects(int32(i), views.KeysOwn); ok {
			m.series.releaseMoved(o, now)
		} else if said[m] != nil {
			m.series.releaseOthers(o, said[m])
		}
	}
}

// noteSeries notes a series of a metric.
func noteSeries(said map[*PluginMetric]map[string]bool, m *PluginMetric,
	values []string) map[*PluginMetric]map[string]bool {
	if said == nil {
		said = map[*PluginMetric]map[string]bool{}
	}
	if said[m] == nil {
		said[m] = map[string]bool{}
	}
	said[m][seriesID(values)] = true
	return said
}

// noteSaid notes which metrics an answer speaks of: a key may have very many summands, and an answer very many updates.
func (b *Controller) noteSaid(updates []abi.MetricUpdate) {
	if b.said == nil {
		b.said, b.led = make([]bool, len(b.own)), make([][]string, len(b.own))
	}
	clear(b.said)
	clear(b.led)
	for i := range updates {
		if n := updates[i].Metric; n >= 0 && int(n) < len(b.said) {
			b.said[n] = true
		}
	}
}

// takeBack takes back what the key has added to sums, as far as it is to go.
func (b *Controller) takeBack(k controller.Key, goes func(*summand) bool) {
	left := slices.DeleteFunc(b.summands[k], func(s summand) bool {
		again := goes(&s)
		if again {
			b.own[s.metric].put(s.values, -s.value)
			b.own[s.metric].dropSummand()
		}
		return again
	})
	if len(left) == 0 {
		delete(b.summands, k)
	} else {
		b.summands[k] = left
	}
}

// Anew ends what keys have added to sums, and all their own series: another process goes on with them, and tells of
// them.
func (b *Controller) Anew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.summands {
		b.takeBack(k, func(*summand) bool { return true })
	}
	for _, m := range b.own {
		if m.series != nil {
			m.series.releaseController(b.name)
		}
	}
}

// Resynced counts a key that is looked at again though nothing has happened to it.
func (b *Controller) Resynced() { b.resyncs.Inc() }

// Slowed counts a sync that a key doesn't get as soon as it has asked for.
func (b *Controller) Slowed() { b.slowed.Inc() }

// Gone ends the series that the key's labels made, and those with values in objects that no other key has added to.
func (b *Controller) Gone(k controller.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeBack(k, func(s *summand) bool { return b.own[s.metric].series != nil })
	for _, m := range b.own {
		if m.series != nil {
			m.series.releaseAll(owner{b.name, k})
		}
	}
}
