// Package plugin runs a plugin's controllers, sync by sync, on a cluster in memory, as the manager runs them: views
// take the snapshots and say whom an event wakes, effects are checked, compared and sent by host/effects.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// Plugin is one controller of a plugin on a cluster.
type Plugin struct {
	guest    guest.Guest
	index    int32
	manifest *abi.Controller
	plan     *views.Plan
	labels   *views.Labels
	writer   *effects.Writer
	stores   map[abi.Resource]*store
	cluster  *api.Cluster
	stays    bool
	signer   effects.Signer
	// wake, under the host, wakes what one of its keys asks for; nil: syncs are run one at a time.
	wake func(from abi.KeyRef, controller int32, key abi.KeyRef)

	syncer   syncer.Syncer
	states   syncer.States
	facts    map[abi.KeyRef]abi.Effect // what keys have published, for the next writer
	attempts map[abi.KeyRef]int
	timers   syncer.Timers
	metrics  []abi.Metric                      // the manifest's, under the settings
	counts   native.Measures                   // counters and histograms
	shares   map[abi.KeyRef][]share            // of the sums among the metrics
	gauges   map[abi.KeyRef]map[string]float64 // by series
	events   []string
	// Metrics are the names of those that are compared.
	Metrics []string
	// Undo has the last sync not have been, as far as what is kept of its key.
	Undo func()
	// Uncount takes back what the last sync has added to the metrics.
	Uncount func()
	// Woke are keys of the module's controllers that the last sync has woken.
	Woke []string
	// Wakers are controllers of the module, on the same cluster, that do nothing but wake this one's keys: what a change
	// wakes in them is synced at once.
	Wakers []*Plugin
}

// New makes a controller of a plugin, with its settings; signer signs for it, nil: it may have nothing signed.
func New(g guest.Guest, index int32, settings *abi.Settings, c *api.Cluster, signer effects.Signer) (*Plugin, error) {
	if err := g.Configure(settings); err != nil {
		return nil, err
	}
	p := &Plugin{
		guest: g, index: index, signer: signer, manifest: &g.Manifest().Controllers[index], stores: map[abi.Resource]*store{},
		cluster: c, facts: map[abi.KeyRef]abi.Effect{}, attempts: map[abi.KeyRef]int{},
		timers: syncer.Timers{},
		counts: native.Measures{}, shares: map[abi.KeyRef][]share{}, gauges: map[abi.KeyRef]map[string]float64{},
	}

	p.syncer.World, p.syncer.States = p, &p.states
	var err error
	if p.metrics, err = g.Manifest().MetricsOf(settings); err != nil {
		return nil, err
	}
	parts, err := compile(g.Manifest(), index)
	if err != nil {
		return nil, err
	}

	p.plan, p.labels = parts.plan, parts.labels
	for _, n := range p.plan.Needs() {
		of := []abi.Resource{n.Resource}
		if n.Resource == schema.Any {
			of = p.served()
		}
		for _, r := range of {
			if err := p.need(n, r); err != nil {
				return nil, err
			}
		}
	}
	return p, p.begin()
}

// begin makes the writer. Each step has one of its own: the cluster goes on from what upstream's controller has
// written, so what ours has written elsewhere never comes.
func (p *Plugin) begin() error {
	if p.writer != nil {
		p.writer.Close()
	}

	o := effects.Options{
		Plugin: p.guest.Manifest().Name, Controller: p.manifest, FieldManager: "kube-controller-manager",
		Config:    p.late("windlass"),
		StaleWait: time.Nanosecond, LiveCheck: time.Hour,
		Seen: p.plan.Seen, Signer: p.signer,
		Stores: func(r abi.Resource) effects.Store {
			if s, ok := p.stores[r]; ok {
				return s
			}
			return nil
		},
		Recorder: recorder{p}, Discovery: discovery{p},
		Wake: func(_ abi.KeyRef, controller int32, key abi.KeyRef) {
			p.Woke = append(p.Woke, fmt.Sprintf("%d %s", controller, text(key)))
		},
	}
	if p.wake != nil {
		o.StaleWait, o.LiveCheck = 0, 0 // as in a manager
		o.Wake = p.wake
	}
	var err error
	p.writer, err = effects.New(o)
	if err != nil {
		return err
	}

	p.writer.Lead()
	for key, e := range p.facts {
		session := p.writer.Begin(key, nil)
		_, err = session.Perform(context.Background(), []abi.Effect{e})
		session.End()
		if err != nil {
			return err
		}
	}
	return nil
}

// late is the way to the cluster that the controller works on.
func (p *Plugin) late(client string) *rest.Config {
	return api.Late(func() *api.Cluster { return p.cluster }).Config(client)
}

// Close ends the controller.
func (p *Plugin) Close() {
	p.writer.Close()
	for _, w := range p.Wakers {
		w.Close()
	}
}

// On has the controller work on a cluster from now on.
func (p *Plugin) On(c *api.Cluster) {
	p.cluster = c
	for _, w := range p.Wakers {
		w.On(c)
	}
}

// Stay has the controller remember from sync to sync what it has written, and wait until its caches show it: for a
// cluster that goes on from that.
func (p *Plugin) Stay() { p.stays = true }

// Ready reports whether a key may be synced: the caches show what its last sync has written.
func (p *Plugin) Ready(key string) bool { return p.writer.Ready(keyOf(key)) }

// served are all resources of the cluster.
func (p *Plugin) served() (all []abi.Resource) {
	for _, gvr := range p.cluster.Resources() {
		all = append(all, resourceOf(gvr))
	}
	return all
}

func (p *Plugin) need(n views.Need, r abi.Resource) error {
	if p.stores[r] == nil {
		res, err := schema.For(r)
		if err != nil {
			return err
		}
		indexed, err := views.NewIndexed(nil)
		if err != nil {
			return err
		}
		indexed.Current = "0"
		p.stores[r] = &store{Indexed: indexed, resource: res}
	}
	return p.stores[r].Index(n.Indexers)
}

// store is the cache of one resource.
type store struct {
	*views.Indexed
	resource *schema.Resource
}

// Store finds a resource's store.
func (p *Plugin) Store(r abi.Resource) views.Store { return views.StoreOf(p.stores, r) }

// object brings an object into the caches' form.
func (s *store) object(o runtime.Object) (*cache.Object, error) {
	m, err := meta.Accessor(o)
	if err != nil {
		return nil, err
	}
	version := m.GetResourceVersion()
	c := o.DeepCopyObject()
	bare, _ := meta.Accessor(c)
	bare.SetResourceVersion("")
	raw, err := c.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		return nil, err
	}
	return &cache.Object{Resource: s.resource, Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(),
		ResourceVersion: version, Raw: raw}, nil
}

// Show shows the controller a change, and returns the keys that it wakes.
func (p *Plugin) Show(c *api.Change, initial bool) ([]string, error) {
	woken, err := p.show(c, initial)
	if err != nil {
		return nil, err
	}
	for _, w := range p.Wakers {
		keys, err := w.show(c, initial)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if r, err := w.Sync(key); err != nil || r.Err != nil {
				return nil, errors.Join(err, r.Err)
			}
			woken = append(woken, w.woke()...)
		}
	}
	slices.Sort(woken)
	return slices.Compact(woken), nil
}

func (p *Plugin) show(c *api.Change, initial bool) ([]string, error) {
	e, err := p.take(c, initial)
	if err != nil || e.Resource == nil {
		return nil, err
	}

	var woken []string
	p.plan.Wakes(p, e, p.writer.Own, func(k abi.KeyRef, _ time.Duration) {
		woken = append(woken, text(k))
		if e.New == nil && p.plan.ObjectKeys() && k.Namespace == e.Old.Namespace && k.Name == e.Old.Name {
			delete(p.facts, k) // its sync would, unless another key's comes first by chance
		}
	})
	p.writer.Progress(e.Resource.Resource)
	return woken, nil
}

// take has the caches show a change, and returns it as an event; its resource is nil where none of them is about it.
func (p *Plugin) take(c *api.Change, initial bool) (e cache.Event, err error) {
	s := p.stores[resourceOf(c.Resource)]
	if s == nil {
		return e, nil
	}
	e.Resource, e.Initial = s.resource, initial
	if c.Old != nil {
		m, err := meta.Accessor(c.Old)
		if err != nil {
			return e, err
		}
		e.Old = s.Get(m.GetNamespace(), m.GetName())
	}
	if c.New == nil {
		return e, s.Delete(e.Old)
	}
	if e.New, err = s.object(c.New); err == nil {
		err = s.Add(e.New)
	}
	return e, err
}

// Load has the caches show another cluster as it is, which wakes nobody.
func (p *Plugin) Load(c *api.Cluster) error {
	for r, s := range p.stores {
		all, err := c.List(apischema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name})
		if err != nil {
			return err
		}
		list := make([]any, len(all))
		for i, o := range all {
			if list[i], err = s.object(o); err != nil {
				return err
			}
		}
		if err := s.Replace(list, ""); err != nil {
			return err
		}
	}
	for _, w := range p.Wakers {
		if err := w.Load(c); err != nil {
			return err
		}
	}
	return p.begin() // another cluster's versions aren't those that it has written
}

func resourceOf(r apischema.GroupVersionResource) abi.Resource {
	return abi.Resource{Group: r.Group, Version: r.Version, Name: r.Resource}
}

// Reached says up to which version all caches are current.
func (p *Plugin) Reached(version uint64) {
	current := strconv.FormatUint(version, 10)
	for _, s := range p.stores {
		s.Current = current
	}
	for _, w := range p.Wakers {
		w.Reached(version)
	}
}

func text(k abi.KeyRef) string {
	return strings.TrimSpace(k.Resource + " " + strings.TrimPrefix(k.Namespace+"/"+k.Name, "/"))
}

func keyOf(s string) (k abi.KeyRef) {
	if resource, rest, ok := strings.Cut(s, " "); ok {
		k.Resource, s = resource, rest
	}
	if ns, name, ok := strings.Cut(s, "/"); ok {
		k.Namespace, k.Name = ns, name
		return k
	}
	k.Name = s
	return k
}

// Keys returns all keys that the caches make, sorted.
func (p *Plugin) Keys() (all []string) {
	p.plan.Keys(p, func(k abi.KeyRef) { all = append(all, text(k)) })
	slices.Sort(all)
	return all
}

// Sync syncs a key. Its error is that there was no answer, or one that the host refuses.
func (p *Plugin) Sync(text string) (native.Result, error) {
	p.events, p.Woke = nil, nil
	if !p.stays {
		if err := p.begin(); err != nil {
			return native.Result{}, err
		}
	}
	key := keyOf(text)
	p.Undo = p.undo(key)
	target := &syncer.Target{
		Plugin: p.guest.Manifest().Name, Settings: "differential", Manifest: p.manifest, Index: p.index,
		Module: guest.Sandboxed{Guest: p.guest}, Plan: p.plan, Writer: p.writer, Labels: p.labels,
	}
	turn := &syncer.Turn{
		Key: key, Attempt: int32(p.attempts[key]), Timer: p.timers.Until(key, time.Now()), Metrics: p,
		Permit: func(all []abi.Effect) error { p.published(key, all); return nil },
	}
	ctx := context.Background()
	if err := p.syncer.Prepare(ctx, target, turn); err != nil {
		return native.Result{}, err
	}
	o := p.syncer.Sync(ctx)
	if o.Failed != nil {
		return native.Result{}, o.Failed
	}

	failed := o.Err
	if o.Done() {
		failed = nil
	}
	if o.Accepted {
		p.timers.Set(key, time.Now(), o.Asked, failed != nil)
	}
	again := failed != nil
	if most := p.manifest.Backoff.Retries; most > 0 && p.attempts[key] >= int(most) {
		again = false // the host leaves the key alone until it changes
	}
	if p.attempts[key]++; !again {
		delete(p.attempts, key)
	}
	return native.Result{
		Failed: again, Err: failed, Again: o.Asked, Events: p.events, Woken: p.woke(),
	}, nil
}

func (p *Plugin) undo(key abi.KeyRef) func() {
	kept, _ := p.states.Get(key)
	fact, told := p.facts[key]
	due, timed := p.timers[key]
	attempts, counts, shares, gauges := p.attempts[key], maps.Clone(p.counts), p.shares[key], maps.Clone(p.gauges[key])
	p.Uncount = func() { p.counts, p.shares[key], p.gauges[key] = counts, shares, gauges }
	return func() {
		p.Uncount()
		p.states.Set(key, kept)
		if p.facts[key] = fact; !told {
			delete(p.facts, key)
		}
		if p.attempts[key] = attempts; attempts == 0 {
			delete(p.attempts, key)
		}
		if p.timers[key] = due; !timed {
			delete(p.timers, key)
		}
	}
}

// woke are the keys of the module's other controllers that the last sync has woken.
func (p *Plugin) woke() (keys []string) {
	for _, k := range p.Woke {
		_, key, _ := strings.Cut(k, " ")
		keys = append(keys, key)
	}
	return keys
}

// published keeps what a key publishes.
func (p *Plugin) published(key abi.KeyRef, all []abi.Effect) {
	for _, e := range all {
		if e.Kind != abi.EffectPublish {
			continue
		}
		e.Object, e.Terms = slices.Clone(e.Object), slices.Clone(e.Terms)
		for i := range e.Terms {
			e.Terms[i] = strings.Clone(e.Terms[i])
		}
		p.facts[key] = e
	}
}

// Gone ends what a key has published, and what it counts, because its object is gone.
func (p *Plugin) Gone(key abi.KeyRef) {
	delete(p.facts, key)
	delete(p.gauges, key)
}

// recorder takes events down.
type recorder struct{ p *Plugin }

func (r recorder) Event(o runtime.Object, eventType, reason, message string) {
	ref, ok := o.(*corev1.ObjectReference)
	if !ok {
		return
	}
	r.p.events = append(r.p.events, native.Told(ref.Kind, ref.Namespace, ref.Name, eventType, reason, message))
}

func (r recorder) Eventf(o runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(o, eventType, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(o runtime.Object, _ map[string]string, eventType, reason, format string,
	args ...any) {
	r.Eventf(o, eventType, reason, format, args...)
}
