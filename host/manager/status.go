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
)

// ControllerStatus is what is known of a controller that runs here.
type ControllerStatus struct {
	Name   string `json:"name"`
	Plugin string `json:"plugin"`
	Digest string `json:"digest"`
	// State is Running, Starting, Idle or Quarantined; Message says why, or what a running controller can't read any more.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Queue is how many keys wait for one of the Workers, Syncing how many are being synced.
	Queue   int    `json:"queue"`
	Workers int    `json:"workers"`
	Syncing int    `json:"syncing"`
	PartOf  string `json:"partOf,omitempty"`
	// Resync is the period in which every key is looked at again, such as "17h3m20s"; empty where there is none.
	Resync string `json:"resync,omitempty"`
	// Failing is how many keys' last syncs failed or were put off (at most a thousand are remembered), Parked how many keys wait for the cache.
	Failing int `json:"failing"`
	Parked  int `json:"parked"`
	// Oldest is the failing key that has been so for longest.
	Oldest *controller.Stuck `json:"oldest,omitempty"`
	// Causes are why keys are failing, those of most keys first; ten at most.
	Causes []controller.Cause `json:"causes,omitempty"`
	// Restless is how many keys are slowed down because they ask to be synced again at once, again and again, and write nothing; Hastiest is the one that has done so for longest.
	Restless int               `json:"restless,omitempty"`
	Hastiest *controller.Stuck `json:"hastiest,omitempty"`
	// Last is the last failure, of whichever key.
	Last   *controller.Problem `json:"last,omitempty"`
	Syncs  Syncs               `json:"syncs"`
	Writes Writes              `json:"writes"`
	// Differences is how often the present shadow answered otherwise, as far as it is remembered.
	Differences int `json:"differences,omitempty"`
}

// PluginStatus is what is known of a plugin that runs here.
type PluginStatus struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Digest      string    `json:"digest"`
	Origin      string    `json:"origin"`
	Since       time.Time `json:"since"`
	Controllers []string  `json:"controllers"`
	// Trial tells that the version may still be rolled back to Before.
	Trial  bool   `json:"trial,omitempty"`
	Before string `json:"before,omitempty"`
	// Shadow is the digest of the plugin's shadow.
	Shadow string `json:"shadow,omitempty"`
	// Broken is why what the plugin's file holds now can't be used, with the file's path: what ran before goes on.
	Broken string `json:"broken,omitempty"`
	// Failed is why what the plugin's file and the configuration ask for was tried and isn't what runs.
	Failed []string `json:"failed,omitempty"`
	// Instances is how many instances of the module there are, Busy how many of them are in a sync.
	Instances int `json:"instances"`
	Busy      int `json:"busy"`
}

// ProcessStatus is what is known of the process.
type ProcessStatus struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Guardian is the process that gives the Leases up when this one is killed; 0: there is none.
	Guardian int       `json:"guardian,omitempty"`
	Go       string    `json:"go"`
	Started  time.Time `json:"started"`
	// Now is its clock, for ages.
	Now time.Time `json:"now"`
	// Server is the API server that it works for.
	Server string `json:"server"`
}

// Status is what the manager says of itself: numbers, names and errors, never what is in objects.
type Status struct {
	Process ProcessStatus `json:"process"`
	// Troubles are what is wrong, the worst first.
	Troubles    []Trouble          `json:"troubles"`
	Controllers []ControllerStatus `json:"controllers"`
	// Absent are the controllers that kube-controller-manager or a plugin has, and that don't run here, by name.
	Absent []Absent `json:"absent"`
	// Ending are namespaces that are being deleted, those that have been so for longest first, as of the last time that was asked for: see Absent.
	Ending  []Ending       `json:"ending,omitempty"`
	Plugins []PluginStatus `json:"plugins"`
	// Leaders are the Leases and who holds them; none: everything runs here, whoever else there is.
	Leaders []LeaderStatus `json:"leaders,omitempty"`
	// Missing tells why images that plugins are configured with aren't there, by plugin.
	Missing map[string]string `json:"missing,omitempty"`
	// LeftOut tells why plugins that were found can't be run.
	LeftOut []string `json:"leftOut,omitempty"`
	// Refused is why the configuration as it is now isn't applied.
	Refused string `json:"refused,omitempty"`
	// Swaps are the last replacements of plugins' versions, the newest first.
	Swaps []Swap `json:"swaps"`
}

func (m *manager) status(ctx context.Context) Status {
	s := Status{Process: m.process(), Controllers: []ControllerStatus{}, Plugins: []PluginStatus{}, Missing: map[string]string{}, Swaps: m.history.all(), Leaders: m.leaderStatus()}
	writes := m.metrics.written()
	for name, why := range m.missing() {
		s.Missing[name] = "it is being got"
		if why != nil {
			s.Missing[name] = why.Error()
		}
	}
	m.mu.Lock()
	refused := m.refused
	s.LeftOut = m.leftOut
	m.mu.Unlock()
	if m.server != nil {
		refused = errors.Join(refused, m.server.Problems())
	}
	if refused != nil {
		s.Refused = refused.Error()
	}
	for _, h := range m.all() {
		h.mu.Lock()
		g, before, shadow := h.present, h.before, h.shadow
		if g == nil { // it is being removed
			h.mu.Unlock()
			continue
		}
		p := PluginStatus{Name: h.name, Since: h.loaded}
		p.Failed = h.failed.said(append(slices.Clip(h.asked), h.shaded))
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
		for _, x := range h.all() {
			c := x.status(m)
			c.Differences = x.differences.Of(p.Shadow)
			if m.standsBy(x) {
				c.State, c.Message = "Standby", "another process holds its Lease"
			}
			c.Syncs = m.metrics.tally(c.Name)
			if w := writes[c.Name]; w != nil {
				c.Writes = *w
			}
			p.Controllers = append(p.Controllers, c.Name)
			s.Controllers = append(s.Controllers, c)
		}
		s.Plugins = append(s.Plugins, p)
	}
	s.Absent, s.Ending = m.absent(ctx, s.Controllers)
	s.Troubles = s.troubles()
	return s
}

func (m *manager) process() ProcessStatus {
	p := ProcessStatus{PID: os.Getpid(), Guardian: m.options.Guardian, Go: runtime.Version(), Started: m.began, Now: time.Now(), Server: m.rest.Host}
	p.Host, _ = os.Hostname()
	return p
}

func (s *slot) status(m *manager) ControllerStatus {
	v := s.Current()
	c := ControllerStatus{Name: s.Name(), Plugin: v.Plugin, Digest: v.Digest, State: "Running", Queue: s.Depth(), Workers: s.Workers(), PartOf: v.Manifest.PartOf}
	c.Syncing, c.Last = s.Syncing(), s.LastProblem()
	c.Failing, c.Parked, c.Oldest = s.StuckCount()
	c.Causes = s.Causes()
	c.Restless, c.Hastiest = s.Restless()
	if p := s.ResyncPeriod(); p > 0 {
		c.Resync = p.Round(time.Second).String()
	}
	reading, missing, _ := s.now()
	switch quarantined := s.Quarantined(); {
	case quarantined != nil:
		c.State, c.Message = "Quarantined", quarantined.Error()
	case len(missing) > 0 || len(reading.denied) > 0:
		c.State, c.Message = "Idle", s.health().Error()
	case !s.started.Load():
		c.State, c.Message = "Starting", m.starting(s).Error()
	default:
		if err := m.unreadable(s); err != nil {
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
			answer(w, m.status(r.Context()))
		}),
		"GET /windlass/v1/differences": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			all := []controller.Difference{}
			q := question{controller: r.URL.Query().Get("controller")}
			for _, h := range m.all() {
				for _, s := range h.all() {
					if q.of(s.Name()) {
						all = append(all, s.differences.All()...)
					}
				}
			}
			answer(w, all)
		}),
		"POST /windlass/v1/controllers/{name}/release": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, h := range m.all() {
				if s := h.slot(r.PathValue("name")); s != nil {
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
