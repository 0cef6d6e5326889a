package swap

import (
	"fmt"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/workload"
)

// Settings take effect while the plugin runs; those that the plugin or the host refuses leave it with the ones that it
// has, and the manager says which and why.
func TestSettings(t *testing.T) {
	t.Parallel()
	const pods = 5
	w := newWorld(t, "replicaset", "serviceaccount", "endpointslice")
	settings := map[string]string{}
	w.configure = func(k *config.Configuration, _ *config.Plugin) {
		k.Plugins = append(k.Plugins, config.Plugin{Name: "endpointslice", Settings: settings})
	}
	w.startManager()
	w.createSet("web", pods, map[string]string{"app": "web"})
	w.awaitPods("web", pods)
	expect := func(service string, slices int) {
		t.Helper()
		s := workload.Service("web")
		s.Name = service
		if _, err := w.client.CoreV1().Services(namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.eventually(fmt.Sprintf("service %s has %d slices", service, slices), func() (bool, string) {
			l, err := w.client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(),
				metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
			if err != nil {
				return false, err.Error()
			}
			endpoints := 0
			for _, s := range l.Items {
				endpoints += len(s.Endpoints)
			}
			return len(l.Items) == slices && endpoints == pods, fmt.Sprint(len(l.Items), " slices, ", endpoints, " endpoints")
		})
	}
	swaps := func(result string) float64 {
		return w.m.Counted(t, "windlass_plugin_swaps_total", "plugin", "endpointslice", "result", result)
	}
	change := func(name, value string, result string, n float64) {
		t.Helper()
		settings = map[string]string{name: value}
		w.m.Reload()
		w.eventually(fmt.Sprintf("%s=%s: %s", name, value, result),
			func() (bool, string) { return swaps(result) == n, fmt.Sprint(swaps(result)) })
	}
	refused := func(parts ...string) {
		t.Helper()
		w.eventually("the manager says why", func() (bool, string) {
			s := w.m.Status(t).Refused
			for _, p := range append(parts, "endpointslice") {
				if !strings.Contains(s, p) {
					return false, s
				}
			}
			return true, s
		})
	}

	expect("default", 1)
	change("max-endpoints-per-slice", "2", "reconfigured", 1)
	expect("two", 3)

	t.Log("a value that the plugin refuses")
	change("max-endpoints-per-slice", "0", "failed", 1)
	refused("max-endpoints-per-slice: 0 is not a number from 1 to 1000")
	if p := w.pluginStatus("endpointslice"); len(p.Failed) != 1 ||
		!strings.Contains(p.Failed[0], "max-endpoints-per-slice: 0") {
		t.Errorf("what failed: %q", p.Failed)
	}
	expect("still-two", 3)

	t.Log("a name that the plugin hasn't")
	settings = map[string]string{"max-endpoints": "1"}
	w.m.Reload()
	refused(`settings[max-endpoints]: the plugin has no such setting`)
	expect("two-again", 3)

	t.Log("a value that is right again")
	change("max-endpoints-per-slice", "1", "reconfigured", 2)
	expect("one", pods)
	if s := w.m.Status(t).Refused; s != "" {
		t.Errorf("still refused: %s", s)
	}
	if n := swaps("failed"); n != 1 {
		t.Errorf("what failed was tried %v times", n)
	}
}
