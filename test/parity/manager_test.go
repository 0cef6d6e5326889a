package parity

import (
	"crypto/tls"
	"fmt"
	"maps"
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
	// healthy asks for the health of all controllers, so that there are metrics of that.
	healthy func(t testing.TB) error
}

// configured are the controllers of all lives, and the settings of each plugin.
func configured(lives []*life.Life) (controllers []string, settings map[string]map[string]string) {
	settings = map[string]map[string]string{}
	for _, l := range lives {
		for _, c := range l.Controllers {
			if !slices.Contains(controllers, c) {
				controllers = append(controllers, c)
			}
		}
		if len(l.Settings) > 0 {
			settings[l.Plugin] = l.Settings
		}
	}
	return controllers, settings
}

// startManager runs the side's manager with controllers and settings, once as a leader.
func (s *side) startManager(t *testing.T, controllers []string, settings map[string]map[string]string, leader bool) {
	t.Helper()
	if s.name == "native" {
		s.manager = s.startNative(t, controllers, settings, leader)
	} else {
		s.manager = s.startOurs(t, controllers, settings, leader)
		s.stage.Own = s.ownMetric
	}
}

// ownMetric returns the sum of a metric's series with these labels.
func (s *side) ownMetric(t testing.TB, metric string, labels map[string]string) (sum float64, _ error) {
	families, err := s.manager.scrape(t, "/metrics")
	if err != nil {
		return 0, err
	}
next:
	for _, m := range families[metric].GetMetric() {
		for name, value := range labels {
			is := func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value }
			if !slices.ContainsFunc(m.Label, is) {
				continue next
			}
		}
		sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return sum, nil
}

func (s *side) startNative(t *testing.T, controllers []string, settings map[string]map[string]string,
	leader bool) *running {
	t.Helper()
	r := &running{since: time.Now()}
	address, port := cluster.FreeAddress(t)
	flags := []string{"--secure-port=" + port, "--bind-address=127.0.0.1", fmt.Sprint("--leader-elect=", leader),
		"--cert-dir=" + t.TempDir(),
		"--authentication-kubeconfig=" + s.cluster.ManagerKubeconfig,
		"--authorization-kubeconfig=" + s.cluster.ManagerKubeconfig}
	for _, of := range settings {
		for k, v := range of {
			flags = append(flags, "--"+k+"="+v)
		}
	}

	r.stop = s.cluster.Native(t, controllers, flags...)
	// Its certificate is one that it has made for itself.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	token := s.cluster.RESTConfig().BearerToken
	get := func(t testing.TB, path string) (*http.Response, error) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			return nil, err
		}
		q.Header.Set("Accept", windlass.Protobuf)
		q.Header.Set("Authorization", "Bearer "+token)
		return client.Do(q)
	}

	r.scrape = func(t testing.TB, path string) (map[string]*dto.MetricFamily, error) {
		a, err := get(t, path)
		if err != nil {
			return nil, err
		}
		defer a.Body.Close()
		return windlass.Families(a)
	}

	r.healthy = func(t testing.TB) error {
		a, err := get(t, "/healthz")
		if err == nil {
			a.Body.Close()
			if a.StatusCode != http.StatusOK {
				err = fmt.Errorf("/healthz: %s", a.Status)
			}
		}
		return err
	}
	return r
}

func (s *side) startOurs(t *testing.T, controllers []string, settings map[string]map[string]string,
	leader bool) *running {
	t.Helper()
	fields := fmt.Sprintf("leaderElection: {leaderElect: %v}\n", leader)
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
		scrape:  func(t testing.TB, path string) (map[string]*dto.MetricFamily, error) { return p.Metrics(t, path), nil },
		healthy: func(t testing.TB) error { p.Get(t, "/healthz"); return nil },
	}
}

func loadLives(t testing.TB) []*life.Life {
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

// waitForRest returns when nothing is written on the side's cluster any more and its manager has nothing left to do.
// What passes while nothing must be written is measured in how long the manager needs for something small.
func (s *side) waitForRest(t testing.TB) {
	t.Helper()
	pause := max(3*s.measurePace(t), 1500*time.Millisecond)
	last, since := -1, time.Now()
	what := s.name + ": the cluster comes to rest"
	cluster.Poll(t, 200*time.Millisecond, patience, what, func() (bool, any) {
		n := len(s.listWrites(t, s.manager.since))
		busy, err := s.busyQueues(t)
		if known, e := s.names.Know(t.Context(), s.stage); !known && err == nil {
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

// measurePace returns how long the manager takes to make a new namespace's account and bundle.
func (s *side) measurePace(t testing.TB) time.Duration {
	t.Helper()
	begun := time.Now()
	name := fmt.Sprint(probes, begun.UnixNano())
	s.stage.Namespace(t, name)
	return time.Since(begun)
}

// listWrites returns all writes but those that go on for ever, such as heartbeats.
func (s *side) listWrites(t testing.TB, since time.Time) (all []cluster.Event) {
	for _, e := range s.cluster.Audit(t, cluster.Filter{Verbs: cluster.Writes, Since: since}) {
		switch e.Resource {
		case "events":
			if e.Verb == "patch" {
				continue // how often something was told is told for as long as it goes on
			}
		case "leases", "nodes/status", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews",
			"apiservices/status":
			continue
		}
		all = append(all, e)
	}
	return all
}

// busyQueues returns the queues that hold keys, or whose keys are being worked on. Autoscalers are by the clock, for
// ever.
func (s *side) busyQueues(t testing.TB) (all []string, _ error) {
	families, err := s.manager.scrape(t, "/metrics")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"workqueue_depth", "workqueue_unfinished_work_seconds"} {
		for _, m := range families[name].GetMetric() {
			clocked := func(l *dto.LabelPair) bool { return l.GetValue() == "horizontalpodautoscaler" }
			if m.Gauge.GetValue() > 0 && !slices.ContainsFunc(m.Label, clocked) {
				all = append(all, fmt.Sprint(name, m.Label, m.Gauge.GetValue()))
			}
		}
	}
	return all, nil
}
