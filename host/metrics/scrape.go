package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/windlass-dev/windlass/host/cache"
)

// Scrape is what a manager is like at a scrape.
type Scrape struct {
	Caches []cache.ResourceStatus
	// DroppedLogBytes are what plugins have tried to log beyond their bounds, by plugin.
	DroppedLogBytes map[string]int64
	// Held is how many bytes of memory plugins hold, by plugin and use.
	Held map[string]map[string]int64
	// MissingImages is how many plugins there are whose image isn't there.
	MissingImages int
	Controllers   []ControllerScrape
	SigningKeys   []SigningKey
	// Unlisted is how often a resource couldn't be listed; nil: nobody has views over all resources.
	Unlisted *int64
}

// SigningKey is what a key that the manager signs with is like at a scrape.
type SigningKey struct {
	Signs    string
	Until    time.Time // the end of the certificate, zero if there is none
	Rejected bool      // its files were changed and can't be used
}

// ControllerScrape is what a controller is like at a scrape.
type ControllerScrape struct {
	Name     string
	Aside    int // keys that are set aside
	Degraded bool
	Away     int // syncs that go on without a worker
	// Unsettled is how many keys have a write of which nobody knows whether it was done.
	Unsettled int
}

// Look registers the metrics that are looked up at each scrape, by now.
func (m *Metrics) Look(now func() Scrape) { m.registry.MustRegister(collector{&m.looked, now}) }

type collector struct {
	*looked
	now func() Scrape
}

// looked are the metrics of [collector].
type looked struct {
	objects, bytes, synced, queued, version scraped // by resource
	droppedLogBytes, missingImages, build   scraped
	held, away, unlisted, aside, degraded   scraped
	unsettled, signsUntil, signingRejected  scraped
}

func newLooked(f *families) looked {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	// Upstream's, of an informer (k8s.io/component-base/metrics/prometheus/clientgo/fifo).
	informer := []string{"name", "group", "version", "resource"}

	return looked{
		objects: f.scraped(gauge, "windlass_cache_objects",
			"Objects in the cache, by resource that is watched.", "resource"),
		bytes: f.scraped(gauge, "windlass_cache_bytes",
			"Bytes that the cache keeps of a resource's objects, indexes aside.", "resource"),
		synced: f.scraped(gauge, "windlass_cache_synced",
			"Whether the cache has all of a resource's objects.", "resource"),
		queued: f.scraped(gauge, "informer_queued_items",
			"[ALPHA] Number of items currently queued in the FIFO.", informer...),
		version: f.scraped(gauge, "informer_store_resource_version",
			"[ALPHA] The 15 least significant digits of the resource version of the store.", informer...),
		droppedLogBytes: f.scraped(counter, "windlass_dropped_log_bytes_total",
			"Bytes that a plugin has tried to log beyond its bounds.", "plugin"),
		held: f.scraped(gauge, "windlass_plugin_memory_bytes",
			"Bytes that are held on a plugin's behalf, of plugins[].budget.memory, by what for.", "plugin", "use"),
		away: f.scraped(gauge, "windlass_syncs_without_worker",
			"Syncs that go on without a worker because they have waited long for the API server.", "controller"),
		unsettled: f.scraped(gauge, "windlass_keys_unsettled",
			"Keys with a write of which nobody knows yet whether it was done: the API server hasn't answered it, or has "+
				"answered something odd.", "controller"),
		missingImages: f.scraped(gauge, "windlass_missing_images",
			"Plugins whose configured image isn't there: it can't be had from its registry, or is refused."),
		signsUntil: f.scraped(gauge, "windlass_signing_certificate_expiration_timestamp_seconds",
			"When the certificate of the authority ends that the manager signs with, in seconds since 1970, by signer.",
			"signer"),
		signingRejected: f.scraped(gauge, "windlass_signing_files_rejected",
			"Whether the files of a key that the manager signs with were changed and can't be used, so that the key before "+
				"is: by signer, or service account tokens.", "signer"),
		aside: f.scraped(gauge, "windlass_keys_set_aside",
			"Keys of a built-in controller that are tried only every few minutes, because the sandbox gave up their last "+
				"syncs, or these were refused.", "controller"),
		degraded: f.scraped(gauge, "windlass_controller_degraded",
			"Whether nearly all keys of a built-in controller are set aside.", "controller"),
		unlisted: f.scraped(counter, "garbagecollector_controller_resources_sync_error_total",
			"[ALPHA] Number of garbage collector resources sync errors"),
		build: f.scraped(gauge, "kubernetes_build_info",
			"[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, "+
				"build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
			"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"),
	}
}

// Describe is for the registry.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	l := c.looked
	for _, x := range []scraped{l.objects, l.bytes, l.synced, l.queued, l.version, l.droppedLogBytes,
		l.held, l.away, l.missingImages, l.build, l.unlisted, l.aside, l.degraded, l.unsettled,
		l.signsUntil, l.signingRejected} {

		to <- x.desc
	}
}

// Collect is for the registry.
func (c collector) Collect(to chan<- prometheus.Metric) {
	l, now := c.looked, c.now()
	for _, r := range now.Caches {
		name := r.Resource.String()
		l.objects.give(to, float64(r.Objects), name)
		l.bytes.give(to, float64(r.Bytes), name)
		l.synced.give(to, boolValue(r.Synced), name)
		informer := []string{Component, r.Resource.Group, r.Resource.Version, r.Resource.Name}
		l.queued.give(to, float64(r.Waiting), informer...)
		if v, ok := versionDigits(r.Version); ok {
			l.version.give(to, v, informer...)
		}
	}

	for plugin, bytes := range now.DroppedLogBytes {
		l.droppedLogBytes.give(to, float64(bytes), plugin)
	}
	for plugin, uses := range now.Held {
		for use, bytes := range uses {
			l.held.give(to, float64(bytes), plugin, use)
		}
	}
	for _, c := range now.Controllers {
		l.aside.give(to, float64(c.Aside), c.Name)
		l.degraded.give(to, boolValue(c.Degraded), c.Name)
		l.away.give(to, float64(c.Away), c.Name)
		l.unsettled.give(to, float64(c.Unsettled), c.Name)
	}
	for _, k := range now.SigningKeys {
		if !k.Until.IsZero() {
			l.signsUntil.give(to, float64(k.Until.Unix()), k.Signs)
		}
		l.signingRejected.give(to, boolValue(k.Rejected), k.Signs)
	}
	l.missingImages.give(to, float64(now.MissingImages))
	if now.Unlisted != nil {
		l.unlisted.give(to, float64(*now.Unlisted))
	}
	l.build.give(to, 1, buildInfo()...)
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// versionDigits are the last 15 digits of a resource version, which a float64 holds exactly.
func versionDigits(version string) (float64, bool) {
	v, err := strconv.ParseUint(version[max(0, len(version)-15):], 10, 64)
	return float64(v), err == nil
}
