// Package isolation runs hostile plugins beside the built-in ones.
package isolation

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const (
	namespace = "hostile"
	label     = "hostile" // its value says whose victim a config map is
	deadline  = time.Second

	// As many workers as the plugin loop has.
	loopsAtOnce = 8
)

// hostiles are controllers that fail each time they are called with a victim that is there.
var hostiles = []struct {
	plugin, controller, victim string
	result, says               string
	// hold is the wait after the first failure; it doubles with each.
	hold time.Duration
}{
	{"trap", "trap-controller", "trap", "trap", `windlass_sync: trap: `, 5 * time.Millisecond},
	{"loop", "loop-controller", "loop", "trap", "windlass_sync: deadline exceeded: ran longer than 1s",
		5 * time.Millisecond},
	{"greedy", "greedy-controller", "greedy", "trap",
		"windlass_sync: out of memory: the module asked for more memory than its limit of 64 MiB", 5 * time.Millisecond},
	{"garbage", "garbage-controller", "garbage", "trap", "malformed answer of 1000 bytes", 5 * time.Millisecond},
	{"overreach", "overreach-controller", "overreach", "refused", "configmaps", 5 * time.Millisecond},
	{"overreach", "overreach-performing-controller", "overreach-performing", "refused", "configmaps",
		5 * time.Millisecond},
	{"halfway", "halfway-controller", "halfway", "performed", `windlass_sync: trap: `, time.Second},
}

// Hostile plugins are stopped, reported and retried with backoff; they write nothing that they may not, and other
// controllers don't notice them.
func TestHostilePlugins(t *testing.T) {
	log := windlass.RecordLog(t)
	folder := buildPlugins(t, "trap", "loop", "greedy", "garbage", "overreach", "halfway")
	c := cluster.Start(t, cluster.Options{Audit: true})
	m := windlass.Start(t, c, windlass.Options{Configure: func(k *config.Configuration) {
		// An administrator's rights: what is refused here is refused by the host.
		k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
		k.PluginFolder = folder
		p := config.Plugin{Name: "loop"}
		p.Limits.Deadline = metav1.Duration{Duration: deadline}
		k.Plugins = append(k.Plugins, p)
	}})
	client := c.Client()
	quiet := measure(t, client, "quiet")
	t.Logf("without hostile syncs: %v", quiet)

	ctx := t.Context()
	if _, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	for _, h := range hostiles {
		if h.plugin != "loop" {
			createVictims(t, client, h.victim, 0, 1)
		}
	}
	loops := 0
	otherControllersDontNotice(t, quiet, func(try int) latency {
		// new keys, which aren't held back: there is always one in the sandbox
		release(t, m, "loop-controller")
		createVictims(t, client, "loop", loops, loopsAtOnce)
		loops += loopsAtOnce
		return measure(t, client, fmt.Sprintf("loud-%d", try))
	})

	for _, h := range hostiles {
		victims := 1
		if h.plugin == "loop" {
			victims = loops
		}
		t.Run(h.controller, func(t *testing.T) {
			failed := func() float64 {
				return m.Count(t, "windlass_syncs_total", "controller", h.controller, "result", h.result)
			}
			cluster.Eventually(t, 3*time.Minute, "a retry", func() (bool, string) {
				release(t, m, h.controller)
				n := failed()
				return n > float64(victims), fmt.Sprintf("%v failed syncs of %d keys", n, victims)
			})
			most := float64(victims) * (2 + math.Log2(1+float64(time.Since(from))/float64(h.hold)))
			all := m.Count(t, "windlass_syncs_total", "controller", h.controller)
			if all > most {
				t.Errorf("%v syncs in %v: more than the %.0f that backoff allows", all, time.Since(from).Round(time.Second), most)
			}
			if others := all - failed() - m.Count(t, "windlass_syncs_total", "controller", h.controller, "result",
				"stale"); others > float64(victims) {
				t.Errorf("%v syncs did not end in %q", others, h.result)
			}
			line, ok := log.With(`"Sync failed, will retry"`, `err="plugin \"`+h.plugin+`\": `, h.says,
				`controller="`+h.controller+`"`, `key="`+namespace+"/"+h.victim+`-0"`, `result="`+h.result+`"`)
			if !ok {
				line, _ = log.With(`controller="` + h.controller + `"`)
				t.Errorf("no line of the log names plugin, controller and key, and says %q; there is: %s", h.says, line)
			}
			t.Logf("%v syncs in %v; %s", all, time.Since(from).Round(time.Millisecond), line)
		})
	}
	wroteOnlyWhatStands(t, c)

	// A key that can be synced again is, and all is well.
	if err := client.CoreV1().ConfigMaps(namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: label}); err != nil {
		t.Fatal(err)
	}
	for _, h := range hostiles {
		release(t, m, h.controller)
		cluster.Eventually(t, time.Minute, h.controller+" to recover", func() (bool, string) {
			n := m.Count(t, "windlass_syncs_total", "controller", h.controller, "result", "ok")
			return n >= 1, fmt.Sprintf("%v good syncs", n)
		})
	}
}

// release ends the quarantine of a controller, if it is in one: the longer the machine takes for the rest, the more
// syncs of several keys fail in a row.
func release(t *testing.T, m *windlass.Manager, controller string) {
	t.Helper()
	code, body := m.Do(t, http.MethodPost, "/windlass/v1/controllers/"+controller+"/release")
	if code != http.StatusOK && code != http.StatusConflict {
		t.Fatalf("release of %s: %d %s", controller, code, body)
	}
}

// createVictims creates config maps that a hostile controller fails on.
func createVictims(t *testing.T, client kubernetes.Interface, victim string, first, n int) {
	t.Helper()
	for i := range n {
		v := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", victim, first+i),
			Labels: map[string]string{label: victim}}}
		if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), v, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// otherControllersDontNotice measures again when the bounds aren't kept: a guest that is in the way is so each time, a
// busy machine isn't.
func otherControllersDontNotice(t *testing.T, quiet latency, measure func(try int) latency) {
	t.Helper()
	for try := range tries {
		loud := measure(try)
		t.Logf("with hostile syncs: %v", loud)
		if loud.p50 <= slowdown*quiet.p50+allowance && loud.p95 <= slowdown*quiet.p95+allowance &&
			loud.stall <= heartbeatMax {
			return
		}
	}
	t.Errorf("another controller's latency moved in each of %d tries: bounds are %d times the quiet one and %v more, and a stall of %v", tries, slowdown, allowance, heartbeatMax)
}

// wroteOnlyWhatStands checks the writes of the hostile plugins: the service accounts of halfway, which it performed
// before it trapped, and no others.
func wroteOnlyWhatStands(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	client := c.Client()
	accounts, err := client.CoreV1().ServiceAccounts(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	stand := 0
	for _, a := range accounts.Items {
		switch {
		case strings.HasPrefix(a.Name, "halfway-0-"):
			stand++
		case a.Name != "default":
			t.Errorf("service account %s was created", a.Name)
		}
	}
	if stand < 2 {
		t.Errorf("%d service accounts that halfway performed stand, want one for each of its syncs", stand)
	}

	maps, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	for _, o := range maps.Items {
		if o.Labels[label] == "" && o.Name != "kube-root-ca.crt" {
			t.Errorf("config map %s was created", o.Name)
		}
	}

	// Not even sent: the API server would have allowed it.
	for _, e := range c.Audit(t, cluster.Filter{Verbs: cluster.Writes, Namespace: namespace}) {
		mine := !strings.Contains(e.UserAgent, "kube-controller-manager")
		allowed := e.Resource == "serviceaccounts" && (e.Name == "default" || strings.HasPrefix(e.Name, "halfway-0") ||
			e.Name == "")
		if !mine && !allowed && !slices.Contains([]string{"kube-root-ca.crt"}, e.Name) {
			t.Errorf("sent: %v", e)
		}
	}
}
