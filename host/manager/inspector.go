package manager

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/console"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/process"
	"github.com/windlass-dev/windlass/host/server"
	"github.com/windlass-dev/windlass/host/signing/keyring"
)

// inspector answers what people, Prometheus and the kubelet ask of the manager. It looks at what runs, and decides
// nothing of it but that a controller is released from its quarantine.
type inspector struct {
	guardian   int
	flags      map[string]string
	began      time.Time
	rest       *rest.Config
	registry   *prometheus.Registry
	metrics    *metrics.Metrics
	applied    *atomic.Pointer[applied]
	chooser    *chooser
	roster     *roster
	coming     *coming
	leaving    *leaving
	leaders    *leaders
	stores     *stores
	recordings *recordings
	history    *history
	refusal    *refusal
	keyring    *keyring.Keyring
	started    *config.Configuration // what the process began with
	memory     *budget.Total
	unattended unattended
	server     *server.Server // nil: none
}

// listen takes the address on which the manager is asked, if it is to be.
func (i *inspector) listen(ctx context.Context, c *config.Configuration) (err error) {
	if c.Serving.Port == 0 {
		return nil
	}
	i.server, err = server.New(ctx, server.Options{
		Config: &c.Serving, Client: i.rest, Registry: i.registry, Checks: i.healthChecks, Ready: i.readyChecks,
		Handle:    i.handlers(),
		Open:      map[string]http.Handler{console.Path: console.Handler(), "/": console.Redirect()},
		Component: componentOf(), Flags: i.flags,
		Configuration: func() any {
			return i.applied.Load().config
		},
	})
	return err
}

// serveAs serves as the configuration says now. An error is of what stays as it was.
func (i *inspector) serveAs(k *config.Configuration) error {
	if i.server == nil {
		return nil // what would be served waits for a restart, as serving.port does
	}
	return i.server.Configure(&k.Serving)
}

// healthChecks returns the controllers' health checks.
func (i *inspector) healthChecks() (all []server.Check) {
	if i.leaders.election.LeaderElect {
		all = append(all, server.Check{Name: "leaderElection", Check: i.leaders.check})
	}
	for _, s := range i.roster.slots() {
		all = append(all, server.Check{Name: s.Name(), Check: s.checkHealth})
	}
	return all
}

// readyChecks returns what the process still waits for.
func (i *inspector) readyChecks() (all []server.Check) {
	for _, c := range i.coming.list() {
		if c.late {
			continue
		}
		all = append(all, server.Check{Name: "loaded-" + c.Name, Check: func() error { return errComing }})
	}
	for _, s := range i.roster.slots() {
		all = append(all, server.Check{Name: "started-" + s.Name(), Check: func() error {
			if i.leaders.standsBy(s) {
				return s.readyToLead(i.stores)
			}
			if err := s.waiting(); err != nil && !s.lacksOnlyUnserved(i.stores) {
				return s.starting(i.stores, i.leaving)
			}
			return nil
		}})
	}
	return all
}

// handlers serve the manager's state, and what a person at the terminal may ask of it.
func (i *inspector) handlers() map[string]http.Handler {
	all := (&explainer{i.recordings, i.stores.discovery}).handlers()
	maps.Copy(all, map[string]http.Handler{
		"GET /windlass/v1/status":      http.HandlerFunc(i.serveStatus),
		"GET /windlass/v1/keys":        http.HandlerFunc(i.serveKeys),
		"GET /windlass/v1/differences": http.HandlerFunc(i.serveDifferences),

		"POST /windlass/v1/controllers/{name}/release": http.HandlerFunc(i.serveRelease),
	})
	return all
}

func (i *inspector) serveStatus(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, i.status(r.Context()))
}

func (i *inspector) serveDifferences(w http.ResponseWriter, r *http.Request) {
	all := []controller.Difference{}
	q := question{controller: r.URL.Query().Get("controller")}
	for _, s := range i.roster.slots() {
		if q.asksController(s.Name()) {
			all = append(all, s.differences.All()...)
		}
	}
	writeJSON(w, all)
}

func (i *inspector) serveRelease(w http.ResponseWriter, r *http.Request) {
	for _, s := range i.roster.slots() {
		if s.Name() != r.PathValue("name") {
			continue
		}
		if !s.Release() {
			http.Error(w, "the controller isn't quarantined", http.StatusConflict)
		}
		return
	}
	http.Error(w, "no such controller runs here", http.StatusNotFound)
}

// componentOf is what this process is to Kubernetes, as /statusz has it.
func componentOf() server.Component {
	return server.Component{
		Name: metrics.Component, Version: cmp.Or(strings.TrimPrefix(process.Release(), "v"),
			version.DefaultKubeBinaryVersion),
		Emulated: version.DefaultKubeBinaryVersion,
	}
}
