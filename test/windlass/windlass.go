// Package windlass runs the manager inside a test, against a cluster from test/cluster.
package windlass

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	dto "github.com/prometheus/client_model/go"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/manager"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/server"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
)

// Options say what runs and how. Without any, all built-in controllers run, each as its upstream service account with
// the bootstrap roles alone.
type Options struct {
	Controllers []string
	// Configure changes the configuration; it is called again at each [Manager.Reload].
	Configure func(*config.Configuration)
	// Wrap changes each client configuration.
	Wrap func(*rest.Config)
	// Sources are where plugins come from; by default the built-in ones and the configured folder.
	Sources []plugins.Source
	// Wall is the wall clock, by default the system's.
	Wall func() time.Time
	// Patience is how long resources that can't be listed are waited for, by default half a minute.
	Patience time.Duration
	// Flags are those that /flagz shows.
	Flags map[string]string
}

// Manager is a running manager.
type Manager struct {
	Served
	Server *server.Server
	cancel context.CancelFunc
	ended  chan error
	reload chan struct{}
}

// Reload has the manager read its configuration and plugins anew; it returns when the manager has begun to.
func (m *Manager) Reload() { m.reload <- struct{}{} }

// Status is what the manager says of itself.
func (m *Manager) Status(t testing.TB) (s state.Status) {
	t.Helper()
	if err := json.Unmarshal(m.Get(t, "/windlass/v1/status"), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Start runs a manager until the test is over, and returns when all its controllers are ready.
func Start(t testing.TB, c *cluster.Cluster, o Options) *Manager {
	t.Helper()
	m := Begin(t, c, o)
	m.AwaitReady(t)
	return m
}

// Begin is Start without waiting for the controllers.
func Begin(t testing.TB, c *cluster.Cluster, o Options) *Manager {
	t.Helper()
	load := func() (*config.Configuration, error) {
		k := config.Default()
		k.ClientConnection.Kubeconfig = c.ManagerKubeconfig
		k.ClientConnection.QPS, k.ClientConnection.Burst = 1000, 1000
		k.UseServiceAccountCredentials = true
		k.Sandbox.Rest.Duration = time.Second // or no test would be long enough for a plugin to rest
		k.LeaderElection.LeaderElect = false  // tests that are about it turn it on
		k.Signing.KeyPair = config.KeyPair{CertFile: c.CAFile, KeyFile: c.CAKeyFile}
		k.Signing.ServiceAccountKeyFile = c.TokenKeyFile
		k.Serving.Port = -1
		k.Serving.TLS.CertFile, k.Serving.TLS.KeyFile = c.ServingCertificate()
		k.Serving.Authentication.ClientCAFile = c.CAFile
		if o.Controllers != nil {
			k.Controllers = o.Controllers
		}
		if o.Configure != nil {
			o.Configure(k)
		}
		return k, k.Validate()
	}

	k, err := load()
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	m := &Manager{cancel: cancel, ended: make(chan error, 1), reload: make(chan struct{})}
	serving := make(chan *server.Server, 1)
	go func() {
		m.ended <- manager.Run(ctx, k,
			manager.Options{Wrap: o.Wrap, Sources: o.Sources, Wall: o.Wall, Patience: o.Patience, Flags: o.Flags,
				Load: load, Reload: m.reload,
				Serving: func(s *server.Server) {
					serving <- s
				}})
	}()

	t.Cleanup(func() { m.Stop(t) })
	select {
	case m.Server = <-serving:
		m.Served = newServed(t, c, m.Server.Address())
	case err := <-m.ended:
		m.ended <- err
		t.Fatalf("windlass ended: %v", err)
	case <-time.After(cluster.Patience):
		t.Fatalf("windlass did not start serving within %v", cluster.Patience)
	}

	return m
}

// AwaitReady waits until all controllers have their caches.
func (m *Manager) AwaitReady(t testing.TB) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 3*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			r, err := m.Client.Get(m.URL("/readyz?verbose"))
			if err != nil {
				return false, nil
			}
			defer r.Body.Close()
			b, _ := io.ReadAll(r.Body)
			last = string(b)
			return r.StatusCode == http.StatusOK, nil
		})
	if err != nil {
		t.Fatalf("windlass is not ready: %v\n%s", err, last)
	}
}

// Stop ends the manager and waits for that. It may be called more than once.
func (m *Manager) Stop(t testing.TB) {
	t.Helper()
	m.cancel()
	select {
	case err := <-m.ended:
		m.ended <- nil
		if err != nil {
			t.Errorf("windlass: %v", err)
		}
	case <-time.After(cluster.Patience):
		t.Errorf("windlass did not stop within %v", cluster.Patience)
	}
}

func hasLabels(have []*dto.LabelPair, want []string) bool {
	for i := 0; i+1 < len(want); i += 2 {
		found := false
		for _, l := range have {
			found = found || l.GetName() == want[i] && l.GetValue() == want[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}
