// Package plugin runs a plugin's controllers, sync by sync, on a cluster in memory, as the manager runs them: views take the
// snapshots and say whom an event wakes, effects are checked, compared and sent by host/effects.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/guest"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// Plugin is one controller of a plugin on a cluster.
type Plugin struct {
	guest    guest.Guest
	index    int32
	manifest *abi.Controller
	plan     *views.Plan
	writer   *effects.Writer
	stores   map[abi.Resource]*store
	version  uint64
	cluster  *api.Cluster

	states   map[abi.KeyRef]state
	attempts map[abi.KeyRef]int
	events   []string
	// Woke are keys of the module's controllers that the last sync has woken.
	Woke []string
}

type state struct {
	uid  string
	blob []byte
}

// New makes a controller of a plugin, with its settings.
func New(g guest.Guest, index int32, settings *abi.Settings) (*Plugin, error) {
	if err := g.Configure(settings); err != nil {
		return nil, err
	}
	p := &Plugin{
		guest: g, index: index, manifest: &g.Manifest().Controllers[index], stores: map[abi.Resource]*store{},
		states: map[abi.KeyRef]state{}, attempts: map[abi.KeyRef]int{},
	}
	var err error
	if p.plan, err = views.Compile(p.manifest); err != nil {
		return nil, err
	}
	for _, n := range p.plan.Needs() {
		if err := p.need(n); err != nil {
			return nil, err
		}
	}
	return p, p.begin()
}

// begin makes the writer. Each step has one of its own: the cluster goes on from what upstream's controller has written,
// so what ours has written elsewhere never comes.
func (p *Plugin) begin() error {
	if p.writer != nil {
		p.writer.Close()
	}
	var err error
	p.writer, err = effects.New(effects.Options{
		Plugin: p.guest.Manifest().Name, Controller: p.manifest, FieldManager: "kube-controller-manager",
		Config:    api.Late(func() *api.Cluster { return p.cluster }).Config("windlass"),
		StaleWait: time.Nanosecond, LiveCheck: time.Hour,
		Stores: func(r abi.Resource) effects.Store {
			if s, ok := p.stores[r]; ok {
				return s
			}
			return nil
		},
		Recorder: recorder{p},
		Wake: func(controller int32, key abi.KeyRef) {
			p.Woke = append(p.Woke, fmt.Sprintf("%d %s", controller, text(key)))
		},
	})
	if err == nil {
		p.writer.Lead()
	}
	return err
}

// Close ends the controller.
func (p *Plugin) Close() { p.writer.Close() }

// On has the controller work on a cluster from now on.
func (p *Plugin) On(c *api.Cluster) { p.cluster = c }

func (p *Plugin) need(n views.Need) error {
	if p.stores[n.Resource] == nil {
		res, err := schema.For(n.Resource)
		if err != nil {
			return err
		}
		p.stores[n.Resource] = &store{Indexer: clientcache.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{}), resource: res, version: &p.version}
	}
	indexers := clientcache.Indexers{}
	for name, x := range n.Indexers {
		indexers[name] = func(o any) ([]string, error) { return x.Values(o.(*cache.Object)), nil }
	}
	return p.stores[n.Resource].AddIndexers(indexers)
}

// store is the cache of one resource.
type store struct {
	clientcache.Indexer
	resource *schema.Resource
	version  *uint64
}

func (s *store) Get(namespace, name string) *cache.Object {
	o, ok, _ := s.GetByKey(strings.TrimPrefix(namespace+"/"+name, "/"))
	if !ok {
		return nil
	}
	return o.(*cache.Object)
}

func (s *store) ByIndex(index, value string) []*cache.Object {
	list, err := s.Indexer.ByIndex(index, value)
	if err != nil {
		panic(err) // the plan asked for an index that it didn't declare
	}
	return objects(list)
}

func (s *store) List() []*cache.Object { return objects(s.Indexer.List()) }
func (s *store) Version() string       { return strconv.FormatUint(*s.version, 10) }

func objects(list []any) []*cache.Object {
	out := make([]*cache.Object, len(list))
	for i, o := range list {
		out[i] = o.(*cache.Object)
	}
	return out
}

// Store finds a resource's store.
func (p *Plugin) Store(r abi.Resource) views.Store {
	if s, ok := p.stores[r]; ok {
		return s
	}
	return nil
}

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
	return &cache.Object{Resource: s.resource, Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: version, Raw: raw}, nil
}

// Show shows the controller a change, and returns the keys that it wakes.
func (p *Plugin) Show(c *api.Change, initial bool) ([]string, error) {
	s := p.stores[resourceOf(c.Resource)]
	if s == nil {
		return nil, nil
	}
	e := cache.Event{Resource: s.resource, Initial: initial}
	var err error
	if c.Old != nil {
		m, err := meta.Accessor(c.Old)
		if err != nil {
			return nil, err
		}
		e.Old = s.Get(m.GetNamespace(), m.GetName())
	}
	if c.New == nil {
		err = s.Delete(e.Old)
	} else if e.New, err = s.object(c.New); err == nil {
		err = s.Add(e.New)
	}
	if err != nil {
		return nil, err
	}

	var woken []string
	p.plan.Wakes(p, e, p.writer.Own, func(k abi.KeyRef, _ time.Duration) { woken = append(woken, text(k)) })
	p.writer.Progress(s.resource.Resource)
	return woken, nil
}

func resourceOf(r apischema.GroupVersionResource) abi.Resource {
	return abi.Resource{Group: r.Group, Version: r.Version, Name: r.Resource}
}

// Reached says up to which version all caches are current.
func (p *Plugin) Reached(version uint64) { p.version = version }

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
	if err := p.begin(); err != nil {
		return native.Result{}, err
	}
	key := keyOf(text)
	var snapshot views.Snapshot
	if err := p.plan.Snapshot(p, key, &snapshot); err != nil {
		return native.Result{}, err
	}
	uid, exists := snapshot.KeyObject()
	r := &abi.SyncRequest{Controller: p.index, Key: key, Now: time.Now().UnixNano(), Attempt: int32(p.attempts[key]), Settings: "differential"}
	if s, ok := p.states[key]; ok && (uid == "" || s.uid == "" || s.uid == uid) {
		r.State = s.blob
	}
	snapshot.Request(r)

	ctx := context.Background()
	session := p.writer.Begin(key, &snapshot)
	defer session.End()
	a, _, err := guest.Call(p.guest, r, func(q *abi.PerformRequest) (*abi.PerformResponse, error) {
		outcomes, err := session.Perform(ctx, q.Effects)
		return &abi.PerformResponse{Outcomes: outcomes}, err
	})
	if err == nil {
		err = session.Check(a.Effects)
	}
	if err != nil {
		return native.Result{}, err
	}
	p.keep(key, uid, exists, a)
	failed := session.Finish(ctx, a.Effects)
	if a.Error != "" {
		failed = errors.Join(errors.New(a.Error), failed)
	}
	if effects.NamespaceTerminating(failed) {
		failed = nil
	}
	again := failed != nil
	if most := p.manifest.Backoff.Retries; again && most > 0 && p.attempts[key] >= int(most) {
		again = false // the host gives up on the key until it changes
	}
	if p.attempts[key]++; !again {
		delete(p.attempts, key)
	}
	return native.Result{Failed: again, Err: failed, Again: time.Duration(a.RequeueAfter), Events: p.events}, nil
}

// keep keeps a key's state, as the host does.
func (p *Plugin) keep(key abi.KeyRef, uid string, exists bool, a *abi.SyncResponse) {
	switch {
	case !exists && p.plan.ObjectKeys():
		delete(p.states, key)
	case a.KeepState:
	case len(a.State) == 0:
		delete(p.states, key)
	default:
		p.states[key] = state{uid, a.State}
	}
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

func (r recorder) AnnotatedEventf(o runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	r.Eventf(o, eventType, reason, format, args...)
}
