package manager

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/process"
	"github.com/windlass-dev/windlass/host/process/guardian/will"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/server"
	"github.com/windlass-dev/windlass/host/signing/keyring"
	"github.com/windlass-dev/windlass/host/tracing"
	"github.com/windlass-dev/windlass/host/versions"
)

// Options are what a manager takes besides its configuration; all have defaults.
type Options struct {
	// Grace is how long writes in flight may take once the manager is told to stop.
	Grace time.Duration
	// Sources are where plugins come from: by default the built-in ones and the configured folder.
	Sources []plugins.Source
	// Wrap changes the client configurations that are made, for tests that stand between the manager and the API server.
	Wrap func(*rest.Config)
	// Wall is the wall clock by which it is judged whether a Lease is still held, and that syncs are told; by default the
	// system's: for tests whose clock jumps.
	Wall func() time.Time
	// Patience is how long a resource that can't be listed is waited for, where the controller can go on without it; by
	// default half a minute: for tests, which would wait for that.
	Patience time.Duration
	// Guardian is the process that stands behind this one, and Will what it is left; 0 and nil: there is none.
	Guardian int
	Will     *will.Will
	// Serving is called with the server of health, metrics and state, once it has its address; with nil if there is none.
	Serving func(*server.Server)
	// Flags are those that the process was started with, for people.
	Flags map[string]string
	// Load reads the configuration anew; nil: it stays as it is.
	Load func() (*config.Configuration, error)
	// Files are what Load reads: a change of them has the configuration read anew.
	Files []string
	// Reload asks for it, as SIGHUP does.
	Reload <-chan struct{}
}

// manager is a running manager.
type manager struct {
	options Options
	// newWatcher watches files. A test whose time is virtual has none: what waits for the system holds that time up.
	newWatcher     func() (*fsnotify.Watcher, error)
	rest           *rest.Config
	loader         *loader
	registry       *prometheus.Registry
	metrics        *metrics.Metrics
	stores         *stores
	tracer         *tracing.Tracer
	trimmer        *process.Trimmer
	recordings     *recordings
	chooser        *chooser
	roster         *roster
	coming         *coming
	leaving        *leaving // controllers
	leavingPlugins *leaving
	again          chan struct{} // the configuration is to be compared with what runs once more
	arriving       chan struct{} // as many plugins are loaded at the same time as this holds
	history        history
	refusal        *refusal
	inspector      *inspector

	leaders *leaders
	memory  *budget.Total // of all plugins
	keyring *keyring.Keyring

	// The life of the caches and writers, and that of the workers; what ends it with an error.
	held, work context.Context
	fail       context.CancelCauseFunc
	slots      sync.WaitGroup

	started *config.Configuration // what it began with
	applied atomic.Pointer[applied]

	changing sync.Mutex // held by whatever changes what runs
	begun    bool       // plugins were loaded: a cold standby has none yet
	closed   bool
}

// applied is the configuration as it was applied last, with its list of controllers by their canonical names.
type applied struct {
	config *config.Configuration
	list   []string
	// plugins are the choices that the controllers are of, by the controllers' names.
	plugins map[string]*choice
}

// Run runs the configured controllers until ctx ends; syncs in flight end before it returns.
func Run(ctx context.Context, c *config.Configuration, o Options) error {
	return newManager(c, o).run(ctx)
}

// newManager makes a manager, which runs once.
func newManager(c *config.Configuration, o Options) *manager {
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	m := &manager{leaders: newLeaders(c.LeaderElection), memory: budget.NewTotal(c.Sandbox.TotalMemory.Value()),
		tracer: &tracing.Tracer{}, keyring: &keyring.Keyring{}, options: o, newWatcher: fsnotify.NewWatcher,
		registry: prometheus.NewRegistry(), roster: &roster{byName: map[string]*hosted{}}, coming: &coming{},
		leaving: &leaving{}, leavingPlugins: &leaving{}, arriving: make(chan struct{}, runtime.GOMAXPROCS(0)),
		again: make(chan struct{}, 1)}
	m.started = c
	m.applied.Store(&applied{config: c})
	m.metrics = metrics.New(m.registry)
	m.refusal = &refusal{metrics: m.metrics}
	m.registry.MustRegister(m.tracer)
	return m
}

// run is [Run].
func (m *manager) run(told context.Context) error {
	began := time.Now()
	m.trimmer = process.NewTrimmer(process.StartMemory())
	ctx, fail := context.WithCancelCause(told)
	defer fail(nil)
	m.work, m.fail = ctx, fail
	c, o := m.applied.Load().config, &m.options
	if err := m.tracer.Configure(&c.Tracing); err != nil {
		return err
	}
	defer m.tracer.Close()
	chosen, err := m.prepare(ctx, c, began)
	if err != nil {
		return err
	}
	defer m.recordings.waitForSaves()

	// The caches and the writers live on until the last worker has stopped.
	held, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	m.held = held
	first, then := split(chosen)
	if m.begun = !m.leaders.isColdStandby(); m.begun {
		m.coming.set(then) // the process isn't ready before they have come
		if err := m.loadChosen(ctx, c, first); err != nil {
			return errors.Join(err, m.close())
		}
	}

	var all sync.WaitGroup
	if err := m.inspector.listen(ctx, c); err != nil {
		return errors.Join(err, m.close())
	}
	if o.Serving != nil {
		o.Serving(m.inspector.server)
	}

	if m.inspector.server != nil {
		all.Go(func() {
			if err := m.inspector.server.Run(held); err != nil {
				klog.ErrorS(err, "Health, metrics and state aren't served any more")
			}
		})
	}

	if err := m.stores.cache.Start(held); err != nil {
		release()
		all.Wait()
		return errors.Join(err, m.close())
	}

	all.Go(func() { m.stores.monitors.run(held) })
	all.Go(func() { m.stores.monitors.explainUnlisted(held) })
	all.Go(func() { m.trimmer.Run(held) })

	m.startUnled(ctx, c, then)
	var contending sync.WaitGroup
	contending.Go(func() {
		m.leaders.contend(ctx, m.runGroup)
		o.Will.Settled()
	})
	m.watchChanges(ctx) // until ctx ends
	m.changing.Lock()
	m.closed = true
	m.changing.Unlock()
	m.slots.Wait()
	contending.Wait() // the Leases are released last
	release()
	all.Wait()
	klog.InfoS("All controllers have stopped")
	if told.Err() == nil { // nobody has told it to stop
		return errors.Join(context.Cause(ctx), m.close())
	}
	return m.close()
}

// prepare chooses the plugins, and makes all that they need of the manager; nothing runs yet.
func (m *manager) prepare(ctx context.Context, c *config.Configuration, began time.Time) (chosen []*choice, err error) {
	o, choose := &m.options, versions.Choose()
	m.chooser = newChooser(ctx, o.Sources, m.leaders)

	// the server's turn comes after the plugins', which are looked at meanwhile: what is wrong with one of them is told
	// first
	answered := make(chan error, 1)
	if m.rest, err = restConfig(&c.ClientConnection); err != nil {
		answered <- err
	} else {
		m.rest.Wrap(choose)
		if o.Wrap != nil {
			o.Wrap(m.rest)
		}
		go func() { answered <- awaitServer(ctx, m.rest, c.ClientConnection.Kubeconfig) }()
	}

	if chosen, err = m.chooser.choose(ctx, c, nil); err != nil {
		return nil, err
	}
	for _, x := range chosen {
		if x.unfit != nil {
			return nil, x.unfit
		}
	}

	m.applied.Store(&applied{c, controllerList(c, chosen), pluginsOf(chosen)})
	if m.recordings, err = newRecordings(&c.Recordings); err != nil {
		return nil, err
	}
	if _, err := m.configureKeys(c); err != nil {
		return nil, err
	}
	if err := <-answered; err != nil {
		return nil, err
	}

	if m.stores, err = newStores(m.rest, m.metrics, m.options.Patience); err != nil {
		return nil, err
	}
	m.recordings.discovery.Store(m.stores.discovery)
	m.loader = &loader{rest: m.rest, wrap: o.Wrap, identities: newIdentities(m.rest, choose), metrics: m.metrics,
		recordings: m.recordings, leaders: m.leaders, stores: m.stores, gate: sandbox.NewGate(0), trimmer: m.trimmer,
		keyring: m.keyring}
	if err := m.leaders.openLeases(m.rest, o.Wall, o.Will); err != nil {
		return nil, err
	}

	m.inspector = &inspector{guardian: o.Guardian, flags: o.Flags, began: began, rest: m.rest, registry: m.registry,
		metrics: m.metrics, applied: &m.applied, chooser: m.chooser, roster: m.roster, coming: m.coming, leaving: m.leaving,
		leaders: m.leaders, stores: m.stores,
		recordings: m.recordings, history: &m.history, refusal: m.refusal, memory: m.memory, started: m.started,
		keyring: m.keyring}
	m.metrics.Look(m.inspector.scrape)
	return chosen, metrics.RecordFeatures()
}

// shadeAll gives all plugins the shadows that the configuration names. The caller holds changing.
func (m *manager) shadeAll(ctx context.Context, k *config.Configuration) {
	for _, h := range m.roster.all() {
		if err := h.applyShadow(ctx, k); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Shadow isn't loaded")
		}
	}
}

func (m *manager) close() error {
	var errs []error
	for _, h := range m.roster.all() {
		h.removeShadow()
		errs = append(errs, h.close())
	}
	return errors.Join(errs...)
}
