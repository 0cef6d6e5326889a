package golden

import (
	"context"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// Run runs the case and returns what came out as YAML: on objects cut to the declared fields, or on whole ones.
func (c *Case) Run(g guest.Guest, cut bool) (out string, stats guest.Stats, err error) {
	h, stats, err := c.runCase(g, cut, nil)
	if err == nil && cut {
		err = h.checkUnused()
	}
	if err != nil {
		return "", stats, c.errorf("%w", err)
	}

	if c.former, err = h.out.formerText(); err != nil {
		return "", stats, err
	}
	out, err = h.outputText()

	return out, stats, err
}

// Output runs the case on the declared fields and returns what came out.
func (c *Case) Output(g guest.Guest) (*Output, error) {
	h, _, err := c.runCase(g, true, nil)
	if err != nil {
		return nil, c.errorf("%w", err)
	}

	return h.out, nil
}

// runCase runs the case; with more fields, those are declared too.
func (c *Case) runCase(g guest.Guest, cut bool, more []abi.View) (h *host, stats guest.Stats, err error) {
	s, err := c.stage(g, cut, more)
	if err != nil {
		return nil, stats, err
	}

	key := Key(c.Key)
	s.states.Set(key, syncer.State{Blob: []byte(c.State)})
	a, stats, err := s.sync(&syncer.Turn{Key: key, Now: c.Now, Attempt: c.Attempt, Timer: c.Timer.Duration})
	if err != nil {
		return nil, stats, err
	}

	labels, err := s.plan.Labels(s.metrics)
	if err != nil {
		return nil, stats, err
	}
	return s.host, stats, s.host.takeAnswer(a, s.metrics, labels)
}

// stage is a controller with a case's objects in its caches.
type stage struct {
	guest  guest.Guest
	index  int32 // the controller's
	plan   *views.Plan
	world  *world
	host   *host
	states *syncer.States
	// metrics are the manifest's, under the case's settings.
	metrics []abi.Metric
}

// stage configures the guest and fills the caches; with more fields, those are declared too.
func (c *Case) stage(g guest.Guest, cut bool, more []abi.View) (*stage, error) {
	m := g.Manifest()
	s := &stage{guest: g, states: &syncer.States{}}
	var err error
	if s.index, err = c.controller(m); err != nil {
		return nil, err
	}
	settings, err := Settings(m, c.Settings)
	if err != nil {
		return nil, err
	}
	if err := g.Configure(settings); err != nil {
		return nil, err
	}
	if s.metrics, err = m.MetricsOf(settings); err != nil {
		return nil, err
	}

	if s.plan, err = compile(m.Controllers[s.index], cut, more); err != nil {
		return nil, err
	}
	unlisted, err := c.unlistedResources()
	if err != nil {
		return nil, err
	}
	s.plan.SetCurrency(unlisted)
	read, err := Masks(&m.Controllers[s.index])
	if err != nil {
		return nil, err
	}
	s.host = newHost(c, read)
	if s.world, err = newWorld(s.plan, cut, s.host.custom); err != nil {
		return nil, err
	}
	return s, s.host.populate(s.world)
}

// sync syncs one key. What it performs is answered by the host; its answer isn't carried out.
func (s *stage) sync(turn *syncer.Turn) (a *abi.SyncResponse, stats guest.Stats, err error) {
	m := s.guest.Manifest()
	x := &syncer.Syncer{World: s.world, States: s.states}
	s.host.snapshot = x.Snapshot()
	target := &syncer.Target{
		Plugin: m.Name, Manifest: &m.Controllers[s.index], Index: s.index, Plan: s.plan,
		Module: guest.Sandboxed{Guest: s.guest},
	}

	ctx := context.Background() // a guest has its own
	if err := x.Prepare(ctx, target, turn); err != nil {
		return nil, stats, err
	}
	a, used, err := x.Call(ctx, s.host.perform)
	return a, guest.Stats{Fuel: used.Fuel, Memory: used.Memory}, err
}

// compile compiles a controller's views: on the declared fields, on those and more, or on all.
func compile(declared abi.Controller, cut bool, more []abi.View) (_ *views.Plan, err error) {
	switch {
	case !cut:
		if declared, err = Unprojected(declared); err != nil {
			return nil, err
		}
	case more != nil:
		declared.Views = more
	}

	return views.Compile(&declared)
}

// populate puts the case's objects into the world, and keeps them as live reads see them.
func (h *host) populate(w *world) error {
	for i, raw := range h.c.Objects {
		o, err := w.readCached(raw.Raw, i)
		if err != nil {
			return fmt.Errorf("objects[%d]: %w", i, err)
		}
		whole := *o
		h.cached = append(h.cached, &whole)
		if err := w.addObject(o); err != nil {
			return fmt.Errorf("objects[%d]: %w", i, err)
		}
	}

	for i, raw := range h.c.Live {
		o, err := w.readCached(raw.Raw, 1000+i)
		if err != nil {
			return fmt.Errorf("live[%d]: %w", i, err)
		}
		h.live = append(h.live, o)
	}

	return nil
}

// Key reads namespace/name or a name; before it may stand a resource and a blank, where keys are of all resources.
func Key(s string) (k abi.KeyRef) {
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

// resourceOf returns a view's resource; of all resources together, there is nothing but the metadata.
func resourceOf(r abi.Resource) (*schema.Resource, error) {
	if r == schema.Any {
		return schema.Partial(r, "", true), nil
	}
	return schema.Named(r)
}

// Unprojected is the controller with all fields of all objects.
func Unprojected(c abi.Controller) (abi.Controller, error) {
	all := make([]abi.View, len(c.Views))
	copy(all, c.Views)
	for i := range all {
		res, err := resourceOf(all[i].Resource)
		if err != nil {
			return c, err
		}
		all[i].Fields, all[i].Quiet = nil, nil // what wakes doesn't matter here, and may be said of parts of fields only
		for _, f := range res.Message.Fields() {
			all[i].Fields = append(all[i].Fields, f.JSON)
		}
	}
	c.Views = all
	return c, nil
}

var _ views.World = (*world)(nil)
