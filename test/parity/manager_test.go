package parity

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/windlass"
)

// running is a manager at work.
type running struct {
	since  time.Time
	stop   func()
	scrape func(t testing.TB, path string) (map[string]*dto.MetricFamily, error)
}

// start runs the side's manager with all controllers that have a life, and their settings.
func (s *side) start(t *testing.T, lives []*life.Life) {
	t.Helper()
	var controllers []string
	flags, settings := map[string]string{}, map[string]map[string]string{}
	for _, l := range lives {
		controllers = append(controllers, l.Controllers...)
		maps.Copy(flags, l.Settings)
		if len(l.Settings) > 0 {
			settings[l.Plugin] = l.Settings
		}
	}
	if s.name == "native" {
		s.manager = s.native(t, controllers, flags)
	} else {
		s.manager = s.ours(t, controllers, settings)
	}
}

func (s *side) native(t *testing.T, controllers []string, settings map[string]string) *running {
	t.Helper()
	r := &running{since: time.Now()}
	address := free(t)
	_, port, _ := net.SplitHostPort(address)
	flags := []string{"--secure-port=" + port, "--bind-address=127.0.0.1", "--cert-dir=" + t.TempDir(),
		"--authentication-kubeconfig=" + s.cluster.ManagerKubeconfig, "--authorization-kubeconfig=" + s.cluster.ManagerKubeconfig}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		flags = append(flags, "--"+k+"="+settings[k])
	}
	r.stop = s.cluster.Native(t, controllers, flags...)
	// Its certificate is one that it has made for itself.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: time.Minute}
	token := s.cluster.RESTConfig().BearerToken
	r.scrape = func(t testing.TB, path string) (map[string]*dto.MetricFamily, error) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			return nil, err
		}
		q.Header.Set("Accept", windlass.Protobuf)
		q.Header.Set("Authorization", "Bearer "+token)
		a, err := client.Do(q)
		if err != nil {
			return nil, err
		}
		defer a.Body.Close()
		return windlass.Families(a)
	}
	return r
}

func (s *side) ours(t *testing.T, controllers []string, settings map[string]map[string]string) *running {
	t.Helper()
	fields := "leaderElection: {leaderElect: false}\n"
	if len(settings) > 0 {
		fields += "plugins:\n"
	}
	for _, plugin := range slices.Sorted(maps.Keys(settings)) {
		fields += "- name: " + plugin + "\n  settings:\n"
		for _, k := range slices.Sorted(maps.Keys(settings[plugin])) {
			fields += fmt.Sprintf("    %s: %q\n", k, settings[plugin][k])
		}
	}
	since := time.Now()
	p := windlass.SpawnReplica(t, s.cluster, windlass.Replica{Name: "windlass", Fields: fields}, controllers...)
	p.AwaitReady(t)
	return &running{
		since: since, stop: func() { p.Stop(t) },
		scrape: func(t testing.TB, path string) (map[string]*dto.MetricFamily, error) { return p.Metrics(t, path), nil },
	}
}

func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func lives(t testing.TB) []*life.Life {
	t.Helper()
	all, err := life.All("../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no plugin has a life")
	}
	return all
}

// settle returns when nothing is written on the side's cluster any more and its manager has nothing left to do. What passes
// while nothing must be written is measured in how long the manager needs for something small.
func (s *side) settle(t testing.TB) {
	t.Helper()
	pause := max(3*s.pace(t), 1500*time.Millisecond)
	last, since := -1, time.Now()
	cluster.Poll(t, 200*time.Millisecond, patience, s.name+": the cluster comes to rest", func(ctx context.Context) (bool, any) {
		n := len(s.writes(t, s.manager.since))
		busy, err := s.busy(t)
		if known, e := s.names.Know(ctx, s.stage); !known && err == nil {
			err = fmt.Errorf("a ReplicaSet isn't noted yet: %v", e)
		}
		if n != last || err != nil || len(busy) > 0 {
			last, since = n, time.Now()
		}
		return time.Since(since) > pause, fmt.Sprint(n, " writes, at work: ", busy, err)
	})
}

// probes begin the names of namespaces that are made to see that the manager is at work.
const probes = "probe-"

// pace is how long the manager takes to make a new namespace's account and bundle.
func (s *side) pace(t testing.TB) time.Duration {
	t.Helper()
	begun := time.Now()
	name := fmt.Sprint(probes, begun.UnixNano())
	s.stage.Namespace(t, name)
	return time.Since(begun)
}

// writes are all but those that go on for ever, such as heartbeats.
func (s *side) writes(t testing.TB, since time.Time) (all []cluster.Event) {
	for _, e := range s.stage.Audit.Events(t) {
		if !slices.Contains(cluster.Writes, e.Verb) || e.Time.Before(since) {
			continue
		}
		switch e.Resource {
		case "leases", "nodes/status", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews", "apiservices/status":
			continue
		}
		all = append(all, e)
	}
	return all
}

// busy are the queues that hold keys, or whose keys are being worked on.
func (s *side) busy(t testing.TB) (all []string, _ error) {
	families, err := s.manager.scrape(t, "/metrics")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"workqueue_depth", "workqueue_unfinished_work_seconds"} {
		for _, m := range families[name].GetMetric() {
			if m.Gauge.GetValue() > 0 {
				all = append(all, fmt.Sprint(name, m.Label, m.Gauge.GetValue()))
			}
		}
	}
	return all, nil
}
