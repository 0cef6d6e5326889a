package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/syncer"
)

// Hosted are controllers of one module under the host's own: its queues, workers, timers, barriers and back-offs, by
// the clock of a bubble.
type Hosted struct {
	hosts []*host
	stop  context.CancelFunc
	runs  sync.WaitGroup
}

// host is one controller.
type host struct {
	*Plugin
	*controller.Controller
}

// Host makes controllers of a module that work on a cluster by themselves, once they are begun.
func Host(g guest.Guest, indexes []int32, settings *abi.Settings, c *api.Cluster, signer effects.Signer) (*Hosted,
	error) {
	h := &Hosted{}
	for _, index := range indexes {
		p, err := New(g, index, settings, c, signer)
		if err != nil {
			h.Close()
			return nil, err
		}
		p.wake = func(from abi.KeyRef, controller int32, key abi.KeyRef) {
			for _, x := range h.hosts {
				if x.Plugin.index == controller {
					x.WakeAsked(key, controller == index && key == from)
				}
			}
		}
		if err := p.begin(); err != nil {
			h.Close()
			return nil, err
		}

		v := &controller.Version{
			Target: syncer.Target{
				Plugin: g.Manifest().Name, Settings: "differential", Manifest: p.manifest, Index: p.index,
				Module: guest.Sandboxed{Guest: g}, Plan: p.plan, Writer: p.writer, Labels: p.labels,
			},
			Metrics: uncounted{}, BuiltIn: true,
		}
		h.hosts = append(h.hosts, &host{p, controller.New(controller.Options{World: p, Concurrent: 1}, v)})
	}
	return h, nil
}

// uncounted counts nothing: what the host adds to a plugin's metrics single syncs show.
type uncounted struct{}

func (uncounted) Answered(abi.KeyRef, []abi.MetricUpdate, func(_, _ int32) ([]string, bool)) {}
func (uncounted) Gone(abi.KeyRef)                                                            {}
func (uncounted) Synced(controller.Sync)                                                     {}
func (uncounted) Resynced()                                                                  {}
func (uncounted) Slowed()                                                                    {}

// Begin has the controllers sync all keys that their caches make, and go on until Close.
func (h *Hosted) Begin() {
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.Resync()
	for _, x := range h.hosts {
		h.runs.Go(func() { x.Run(ctx, 0) })
	}
	synctest.Wait()
}

// Resync has the controllers sync all keys that their caches make.
func (h *Hosted) Resync() {
	for _, x := range h.hosts {
		for _, k := range x.Plugin.Keys() {
			x.Wake(keyOf(k))
		}
	}
}

// Show shows the controllers a change, and lets them do what they can do before they wait for something.
func (h *Hosted) Show(c *api.Change, initial bool) error {
	for _, x := range h.hosts {
		if err := x.host(c, initial); err != nil {
			return err
		}
	}
	synctest.Wait()
	return nil
}

func (x *host) host(c *api.Change, initial bool) error {
	e, err := x.take(c, initial)
	if err != nil || e.Resource == nil {
		return err
	}
	x.plan.Wakes(x.Plugin, e, x.writer.Own, func(k abi.KeyRef, delay time.Duration) {
		if !initial { // all keys are synced at the beginning
			x.Woken(k, delay, e)
		}
	})
	x.writer.Progress(e.Resource.Resource)
	return nil
}

// Reached says up to which version all caches are current.
func (h *Hosted) Reached(version uint64) {
	for _, x := range h.hosts {
		x.Plugin.Reached(version)
		for r := range x.stores {
			x.writer.Progress(r)
		}
		x.Freed()
	}
	synctest.Wait()
}

// Trouble says what is wrong with the controllers themselves, where something is: a key fails its sandbox, or too many
// do.
func (h *Hosted) Trouble() (all []string) {
	for _, x := range h.hosts {
		if _, why := x.Quarantined(); why != nil {
			all = append(all, fmt.Sprintf("%s is quarantined: %v", x.Name(), why))
		}
		if why := x.Degraded(); why != nil {
			all = append(all, fmt.Sprintf("%s is degraded: %v", x.Name(), why))
		}
		if n := x.Aside(); n > 0 {
			all = append(all, fmt.Sprintf("%s: %d keys are set aside, of late for %+v", x.Name(), n, x.LastProblem()))
		}
	}
	slices.Sort(all)
	return all
}

// LastErrors are what syncs have failed with last, since a time.
func (h *Hosted) LastErrors(since time.Time) (all []string) {
	for _, x := range h.hosts {
		if p := x.LastProblem(); p != nil && !p.Time.Before(since) {
			all = append(all, fmt.Sprintf("%s %s: %s", p.Time.UTC().Format(time.TimeOnly), p.Key, p.Error))
		}
	}
	return all
}

// Close ends the controllers.
func (h *Hosted) Close() {
	if h.stop == nil { // they haven't begun, and have goroutines all the same
		h.Begin()
	}
	h.stop()
	h.runs.Wait()
	for _, x := range h.hosts {
		x.Plugin.Close()
	}
}

var _ controller.Metrics = uncounted{}
