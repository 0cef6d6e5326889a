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

// newServer takes the address on which the manager is asked; nil if it isn't to be.
func (m *manager) newServer(ctx context.Context, c *config.Configuration) (*server.Server, error) {
	if c.Serving.Port == 0 {
		return nil, nil
	}
	return server.New(ctx, server.Options{
		Config: &c.Serving, Client: m.rest, Registry: m.registry, Checks: m.healthChecks, Ready: m.readyChecks,
		Handle:    m.handlers(),
		Open:      map[string]http.Handler{console.Path: console.Handler(), "/": console.Redirect()},
		Component: componentOf(), Flags: m.options.Flags,
		Configuration: func() any {
			return m.applied.Load().config
		},
	})
}

// componentOf is what this process is to Kubernetes, as /statusz has it.
func componentOf() server.Component {
	return server.Component{
		Name: metrics.Component, Version: cmp.Or(strings.TrimPrefix(process.Release(), "v"),
			version.DefaultKubeBinaryVersion),
		Emulated: version.DefaultKubeBinaryVersion,
	}
}

// serveAs serves as the configuration says now. An error is of what stays as it was.
func (m *manager) serveAs(k *config.Configuration) error {
	switch {
	case m.server != nil:
		return m.server.Configure(&k.Serving)
	case k.Serving.Port != 0:
		return errors.New("serving.port: nothing is served until windlass is started again")
	}
	return nil
}
