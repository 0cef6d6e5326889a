package manager

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/state"
)

func (m *manager) status(ctx context.Context) state.Status {
	s := state.Status{Process: m.process(), Controllers: []state.ControllerStatus{}, Plugins: []state.PluginStatus{},
		Missing: map[string]string{}, Swaps: m.history.newestFirst(), Leaders: m.leaderStatus()}
	writes := m.metrics.WritesByController()
	for name, why := range m.chooser.missing() {
		s.Missing[name] = "it is being got"
		if why != nil {
			s.Missing[name] = why.Error()
		}
	}

	m.mu.Lock()
	refused := m.refused
	m.mu.Unlock()
	s.LeftOut, _ = m.chooser.found()
	if m.server != nil {
		refused = errors.Join(refused, m.server.Problems())
	}
	if refused != nil {
		s.Refused = refused.Error()
	}

	for _, h := range m.allHosted() {
		h.mu.Lock()
		g, before, shadow := h.present, h.before, h.shadow
		if g == nil { // it is being removed
			h.mu.Unlock()
			continue
		}
		p := state.PluginStatus{Name: h.name, Since: h.loaded}
		p.Failed = h.failed.reasons(append(slices.Clip(h.asked), h.shaded))
		if h.broken != nil {
			p.Broken = h.broken.Error()
		}
		h.mu.Unlock()
		p.Version, p.Digest, p.Origin = g.loaded.Manifest.Version, g.loaded.Digest, g.loaded.String()
		idle, busy := g.loaded.Module.Instances()
		p.Instances, p.Busy = idle+busy, busy
		if before != nil {
			p.Trial, p.Before = true, before.loaded.Digest
		}
		if shadow != nil {
			p.Shadow = shadow.loaded.Digest
		}
		for _, x := range h.allSlots() {
			c := x.status(m)
			c.Differences = x.differences.Of(p.Shadow)
			if m.leaders.standsBy(x) {
				c.State, c.Message = "Standby", "another process holds its Lease"
			}
			c.Syncs = m.metrics.SyncsOf(c.Name)
			if w := writes[c.Name]; w != nil {
				c.Writes = *w
			}
			p.Controllers = append(p.Controllers, c.Name)
			s.Controllers = append(s.Controllers, c)
		}
		s.Plugins = append(s.Plugins, p)
	}

	s.Absent, s.Ending = m.absentControllers(ctx, s.Controllers)
	s.Troubles = state.Troubles(&s)
	return s
}

// scrape returns what the manager is like now, for its metrics.
func (m *manager) scrape() metrics.Scrape {
	now := metrics.Scrape{Caches: m.stores.cache.Status(), DroppedLogBytes: map[string]int64{}, MissingImages: len(m.chooser.missing())}
	for _, h := range m.allHosted() {
		now.DroppedLogBytes[h.name] = h.limits.logs.Dropped()
	}
	if failed, ok := m.stores.monitors.errorCount(); ok {
		now.Unlisted = &failed
	}
	return now
}

func (m *manager) process() state.ProcessStatus {
	p := state.ProcessStatus{PID: os.Getpid(), Guardian: m.options.Guardian, Go: runtime.Version(), Started: m.began,
		Now: time.Now(), Server: m.rest.Host}
	p.Host, _ = os.Hostname()
	return p
}

func (s *slot) status(m *manager) state.ControllerStatus {
	v := s.Current()
	c := state.ControllerStatus{Name: s.Name(), Plugin: v.Plugin, Digest: v.Digest, State: "Running", Queue: s.Depth(),
		Workers: s.Workers(), PartOf: v.Manifest.PartOf}
	c.Syncing, c.Last = s.Syncing(), s.LastProblem()
	c.Failing, c.Parked, c.Oldest = s.StuckCount()
	c.Causes = s.Causes()
	c.Restless, c.Hastiest = s.Restless()
	if p := s.ResyncPeriod(); p > 0 {
		c.Resync = p.Round(time.Second).String()
	}
	reading, missing, _ := s.currentReading()
	switch quarantined := s.Quarantined(); {
	case quarantined != nil:
		c.State, c.Message = "Quarantined", quarantined.Error()
	case len(missing) > 0 || len(reading.denied) > 0:
		c.State, c.Message = "Idle", s.checkHealth().Error()
	case !s.started.Load():
		c.State, c.Message = "Starting", s.starting(m.stores).Error()
	default:
		if err := reading.unreadable(m.stores); err != nil {
			c.Message = err.Error()
		}
	}
	return c
}

// handlers serve the manager's state, and what a person at the terminal may ask of it.
func (m *manager) handlers() map[string]http.Handler {
	all := m.recordingHandlers()
	maps.Copy(all, m.keyHandlers())

	maps.Copy(all, map[string]http.Handler{
		"GET /windlass/v1/status": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			writeJSON(w, m.status(r.Context()))
		}),
		"GET /windlass/v1/differences": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			all := []controller.Difference{}
			q := question{controller: r.URL.Query().Get("controller")}
			for _, h := range m.allHosted() {
				for _, s := range h.allSlots() {
					if q.asksController(s.Name()) {
						all = append(all, s.differences.All()...)
					}
				}
			}
			writeJSON(w, all)
		}),
		"POST /windlass/v1/controllers/{name}/release": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, h := range m.allHosted() {
				if s := h.slotNamed(r.PathValue("name")); s != nil {
					if !s.Release() {
						http.Error(w, "the controller isn't quarantined", http.StatusConflict)
					}
					return
				}
			}
			http.Error(w, "no such controller runs here", http.StatusNotFound)
		}),
	})
	return all
}
