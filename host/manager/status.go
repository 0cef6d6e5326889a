package manager

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/signing/keyring"
	"github.com/windlass-dev/windlass/host/state"
)

func (i *inspector) status(ctx context.Context) state.Status {
	s := state.Status{Process: i.process(), Controllers: []state.ControllerStatus{}, Plugins: []state.PluginStatus{},
		Missing: map[string]string{}, Swaps: i.history.newestFirst(), Leaders: i.leaders.status(i.roster)}
	writes := i.metrics.WritesByController()
	for name, why := range i.chooser.missing() {
		s.Missing[name] = "it is being got"
		if why != nil {
			s.Missing[name] = why.Error()
		}
	}

	s.Restart = config.WaitForRestart(i.started, i.applied.Load().config)
	refused := i.refusal.why()
	s.LeftOut = append(slices.Clip(i.chooser.last.Load().leftOut), i.coming.failures()...)
	s.Leaving = i.leaving.list()
	if i.server != nil {
		refused = errors.Join(refused, i.server.Problems())
	}
	if refused != nil {
		s.Refused = refused.Error()
	}

	for _, h := range i.roster.all() {
		h.mu.Lock()
		g, before, shadow, next := h.present, h.before, h.shadow, h.next
		if g == nil { // it is being removed
			h.mu.Unlock()
			continue
		}
		p := state.PluginStatus{Name: h.name, Since: h.loaded}
		h.mu.Unlock()
		p.Failed, p.Broken = h.tried.status()
		p.Version, p.Digest, p.Origin = g.loaded.Manifest.Version, g.loaded.Digest, g.loaded.String()
		memory := h.limits.memory
		p.Memory = state.Memory{Held: memory.Sum(), Limit: memory.Limit(), By: heldBy(memory)}
		idle, busy := g.loaded.Module.Instances()
		p.Instances, p.Busy, p.Resting = idle+busy, busy, g.loaded.Module.Resting()
		if before != nil {
			p.Trial, p.Before = true, before.loaded.Digest
		}
		p.Next = next.status(i.stores)
		if shadow != nil {
			p.Shadow = shadow.loaded.Digest
		}
		for _, x := range h.slots.all() {
			c := x.status(i.stores, i.leaving)
			c.Differences = x.differences.Of(p.Shadow)
			if i.leaders.standsBy(x) {
				c.State, c.Message = "Standby", "another process holds its Lease"
			}
			c.Syncs = i.metrics.SyncsOf(c.Name)
			if w := writes[c.Name]; w != nil {
				c.Writes = *w
			}
			p.Controllers = append(p.Controllers, c.Name)
			s.Controllers = append(s.Controllers, c)
		}
		s.Plugins = append(s.Plugins, p)
	}

	for _, k := range i.keyring.Keys() {
		s.SigningKeys = append(s.SigningKeys, signingKey(&k))
	}
	s.Keyless = i.keyring.Lacking()
	s.Absent, s.Ending = i.absentControllers(ctx, s.Controllers)
	s.Troubles = state.Troubles(&s)
	return s
}

func signingKey(k *keyring.Key) state.SigningKey {
	x := state.SigningKey{Signs: k.Signs, Files: k.Files}
	if !k.Until.IsZero() {
		x.Until = &k.Until
	}
	if k.Rejected != nil {
		x.Rejected = k.Rejected.Error()
	}
	return x
}

// scrape returns what the manager is like now, for its metrics.
func (i *inspector) scrape() metrics.Scrape {
	now := metrics.Scrape{Caches: i.stores.cache.Status(), DroppedLogBytes: map[string]int64{},
		Held: map[string]map[string]int64{}, MissingImages: len(i.chooser.missing())}
	for _, h := range i.roster.all() {
		now.DroppedLogBytes[h.name] = h.limits.logs.Dropped()
		now.Held[h.name] = heldBy(h.limits.memory)
		for _, x := range h.slots.all() {
			away, _ := x.Away()
			unsettled, _ := x.Unsettled()
			now.Controllers = append(now.Controllers, metrics.ControllerScrape{Name: x.Name(), Aside: x.Aside(),
				Degraded: x.Degraded() != nil, Away: away, Unsettled: unsettled})
		}
	}
	for _, k := range i.keyring.Keys() {
		now.SigningKeys = append(now.SigningKeys, metrics.SigningKey{Signs: k.Signs, Until: k.Until,
			Rejected: k.Rejected != nil})
	}
	if failed, ok := i.stores.monitors.errorCount(); ok {
		now.Unlisted = &failed
	}
	return now
}

// heldBy returns what a plugin holds, by use.
func heldBy(m *budget.Memory) map[string]int64 {
	held := map[string]int64{}
	for _, u := range budget.Uses() {
		held[u.String()] = m.Held(u)
	}
	return held
}

func (i *inspector) process() state.ProcessStatus {
	p := state.ProcessStatus{PID: os.Getpid(), Guardian: i.guardian, Go: runtime.Version(), Started: i.began,
		Now: time.Now(), Server: i.rest.Host,
		Memory: state.Memory{Held: i.memory.Held(), Limit: i.memory.Limit()}}
	p.Host, _ = os.Hostname()
	return p
}

func (s *slot) status(x *stores, turnedOff *leaving) state.ControllerStatus {
	v := s.Current()
	c := state.ControllerStatus{Name: s.Name(), Plugin: v.Plugin, Digest: v.Digest, State: "Running", Queue: s.Depth(),
		Workers: s.Workers(), PartOf: v.Manifest.PartOf}
	c.Syncing, c.Last = s.Syncing(), s.LastProblem()
	c.Failing, c.Parked, c.Oldest = s.StuckCount()
	c.Causes = s.Causes()
	c.Restless, c.Hastiest = s.Restless()
	c.Slow, c.Slowest = s.Slow()
	c.Unsettled, c.OldestUnsettled = s.Unsettled()
	if p := s.ResyncPeriod(); p > 0 {
		c.Resync = p.Round(time.Second).String()
	}

	reading, missing, _ := s.currentReading()
	c.Aside = s.Aside()
	degraded := s.Degraded()
	switch probe, quarantined := s.Quarantined(); {
	case quarantined != nil:
		c.State, c.Message = "Quarantined", quarantined.Error()
		if !probe.IsZero() {
			c.Probe = &probe
		}
	case degraded != nil:
		c.State, c.Message = "Degraded", degraded.Error()
	case len(missing) > 0 || len(reading.denied) > 0:
		c.State, c.Message = "Idle", s.checkHealth().Error()
	case !s.started.Load():
		c.State, c.Message = "Starting", s.starting(x, turnedOff).Error()
	default:
		c.Unlisted = reading.unlisted(x)
		if err := reading.unreadable(x); err != nil {
			c.Message = err.Error()
		}
	}
	return c
}
