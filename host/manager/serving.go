package manager

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"k8s.io/component-base/version"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/console"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/process"
	"github.com/windlass-dev/windlass/host/server"
)

// componentOf is what this process is to Kubernetes, as /statusz has it.
func componentOf() server.Component {
	return server.Component{
		Name: metrics.Component, Version: cmp.Or(strings.TrimPrefix(process.Release(), "v"),
			version.DefaultKubeBinaryVersion),
		Emulated: version.DefaultKubeBinaryVersion,
	}
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
	switch {
	case i.server != nil:
		return i.server.Configure(&k.Serving)
	case k.Serving.Port != 0:
		return errors.New("serving.port: nothing is served until windlass is started again")
	}
	return nil
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
	for _, s := range i.roster.slots() {
		all = append(all, server.Check{Name: "started-" + s.Name(), Check: func() error {
			if i.leaders.standsBy(s) {
				return s.readyToLead(i.stores)
			}
			if err := s.waiting(); err != nil {
				return s.starting(i.stores)
			}
			return nil
		}})
	}
	return all
}
