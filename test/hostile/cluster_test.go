package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const namespace = "hostile"

// undeclared is the refusal of what no manifest here has.
const undeclared = "it is not among the writes of the controller's manifest"

// answers are the modules whose answers mean harm, and some others as the manager runs them.
var answers = slices.Concat(signing, thieves, []attack{
	{name: "effect-undeclared", stage: atEffects, result: "refused", says: undeclared},
	{name: "effect-verb", stage: atEffects, result: "refused", says: undeclared},
	{name: "effect-subresource", stage: atEffects, result: "refused", says: undeclared},
	{name: "effect-unknown", stage: atEffects, result: "refused", says: "unknown kind of effect 99"},
	{name: "effect-address", stage: atEffects, result: "error", says: "../secrets/loot"},
	{name: "wake-binary", stage: atEffects, result: "error", says: "can't be part of a key: it must be UTF-8"},
	{name: "group-binary", stage: atEffects, result: "refused", says: "can't name a resource"},
	{name: "ask-address", stage: atEffects, result: "error", says: "isn't lazy"},
	{name: "effect-other-object", stage: atEffects, result: "refused",
		says: "the object's name or namespace isn't the effect's"},
	{name: "effect-other-namespace", stage: atEffects, result: "refused",
		says: "the object's name or namespace isn't the effect's"},
	{name: "effect-last", stage: atEffects, result: "refused",
		says: "effect 1 (create v1/secrets) refused, nothing of the answer was written"},
	{name: "effect-collection", stage: atEffects, result: "refused", says: undeclared},
	{name: "effect-list-secrets", stage: atEffects, result: "refused", says: undeclared},
	{name: "effect-read", stage: atEffects, result: "refused", says: "effect 0 (read v1/nodes) refused"},
	{name: "delete-blind", stage: atEffects, result: "refused",
		says: "it has no precondition, neither a UID nor a version"},
	{name: "delete-unconditional", stage: atEffects, result: "refused",
		says: "it has no precondition, neither a UID nor a version"},
	{name: "update-blind", stage: atEffects, result: "refused", says: "is in none of the views"},
	{name: "update-forged", stage: atEffects, result: "error", says: ""},
	{name: "create-forged", stage: atEffects, result: "error",
		says: "resourceVersion should not be set on objects to be created"},
	{name: "create-garbage", stage: atEffects, result: "refused", says: "effect 0 (create v1/configmaps) refused"},
	{name: "event-undeclared", stage: atEffects, result: "refused", says: "manifest names no eventSource"},
	{name: "group-deep", stage: atEffects, result: "refused", says: "groups are nested at most 4 deep"},
	{name: "group-stowaway", stage: atEffects, result: "refused", says: "only a group has members"},
	{name: "effects-million", stage: atEffects, result: "trap",
		says: "too many effects of an answer, the limit is 100000"},
	{name: "events-flood", stage: harmless, result: "ok", change: func(c *abi.Controller) { c.EventSource = "flood" }},
	{name: "state-huge", stage: atEffects, result: "refused", says: "2097152 bytes of state, the limit is 1048576"},
	{name: "state-undeclared", stage: atEffects, result: "refused", says: "the answer keeps state, which controller",
		change: func(c *abi.Controller) { c.State = false }},
	{name: "error-shouts", stage: atEffects, result: "error", says: "AAAA"},
	{name: "loop", stage: atSync, result: "trap", says: "windlass_sync: deadline exceeded: ran longer than 1s"},
	{name: "memory-bomb", stage: atSync, result: "trap", says: "windlass_sync: out of memory"},
	{name: "unreachable", stage: atSync, result: "trap", says: "windlass_sync: trap: unreachable"},
	{name: "answer-wide", stage: atSync, result: "trap", says: "malformed answer of 30000000 bytes"},
	{name: "perform-garbage", stage: atSync, result: "refused", says: "perform"},
	{name: "zone-forever", stage: atSync, result: "trap", says: "perform failed: more than 10000 performs in one sync"},
	{name: "zone-huge", stage: harmless, result: "ok"},
	{name: "zone-outside", stage: harmless, result: "ok"},
	{name: "log-million", stage: harmless, result: "ok"},
})

// TestCorpusOnCluster: the manager runs hostile plugins that are in its folder. None writes anything, each failure is
// counted and logged with its plugin and its key, what can't be loaded is named, and other controllers go on.
func TestCorpusOnCluster(t *testing.T) {
	log := windlass.RecordLog(t)
	folder := t.TempDir()
	all := append([]attack(nil), answers...)
	left := []string{"simd", "manifest-deep", "initialize-eats", "import-exec"} // left out, each by an error
	for _, name := range left {
		all = append(all, attack{name: name})
	}
	all = append(all, unloaded...)
	for i := range all {
		a := &all[i]
		if err := os.WriteFile(filepath.Join(folder, a.name+".wasm"), a.moduleBytes(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := cluster.Start(t, cluster.Options{})
	recordings := t.TempDir()
	m := windlass.Start(t, c, windlass.Options{Configure: func(k *config.Configuration) {
		k.Controllers = []string{"*", "bootstrapsigner"}
		// An administrator's rights: what is refused here is refused by the host.
		k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
		k.PluginFolder = folder
		k.Recordings.Folder, k.Recordings.FolderFiles = recordings, int32(len(all))
		p := config.Plugin{Name: "loop"}
		p.Limits.Deadline = metav1.Duration{Duration: time.Second}
		k.Plugins = append(k.Plugins, p)
		for _, a := range all {
			if a.grant != nil {
				k.Plugins = append(k.Plugins, config.Plugin{Name: a.name, Grant: a.grant})
			}
		}
	}})
	for _, name := range left {
		if _, ok := log.With("Plugin isn't loaded", name); !ok {
			t.Errorf("no line of the log says that %s was left out", name)
		}
	}
	for _, a := range unloaded {
		line, ok := log.With("Plugin isn't loaded", a.name+".wasm", a.says)
		if !ok {
			line, _ = log.With(a.name + ".wasm")
			t.Errorf("no line of the log says that %s was left out, and %q; there is: %.2000s", a.name, a.says, line)
		}
		if _, ok := log.With(a.name, a.hides); ok && a.hides != "" {
			t.Errorf("a line about %s has %q", a.name, a.hides)
		}
		t.Logf("%.400s", line)
	}
	client, ctx := c.Client(), t.Context()
	create := func(name string, labels map[string]string) {
		t.Helper()
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"a": "b"}}
		if _, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Secrets(namespace).Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "loot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	windlass.Account(t, client, namespace)
	loot := plantSecrets(t, c)
	create("bystander", nil)
	for _, a := range answers {
		create(a.name+"-0", map[string]string{"hostile": a.name})
	}
	cluster.Eventually(t, time.Minute, "the root CA's config map", func() (bool, string) {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	before := clusterState(t, client)

	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			cluster.Eventually(t, time.Minute, "its first sync", func() (bool, string) {
				n := m.Count(t, "windlass_syncs_total", "controller", a.name+"-controller", "result", a.result)
				return n > 0, fmt.Sprintf("%v of %v syncs", n, m.Count(t, "windlass_syncs_total", "controller",
					a.name+"-controller"))
			})
			if a.says == "" {
				return
			}
			line := ""
			cluster.Eventually(t, time.Minute, "a line of the log names controller and key, and says it", func() (bool, string) {
				var ok bool
				if line, ok = log.With(`"Sync failed, will retry"`, a.says, `controller="`+a.name+`-controller"`,
					`key="`+namespace+"/"+a.name+`-0"`); ok {
					return true, ""
				}
				other, _ := log.With(`controller="`+a.name+`-controller"`, "err=")
				return false, fmt.Sprintf("%q isn't in %.2000s", a.says, other)
			})
			if _, ok := log.With(`controller="`+a.name+`-controller"`, a.hides); ok && a.hides != "" {
				t.Errorf("a line about it has %q", a.hides)
			}
			if len(line) > 16<<10 {
				t.Errorf("a line of %d bytes in the log", len(line))
			}
			t.Logf("%.300s", line)
		})
	}

	// Others don't notice: each new namespace gets its account while the hostile ones are tried again and again.
	fastest := time.Hour
	for n := range 5 {
		name := fmt.Sprintf("neighbour-%d", n)
		if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		from := time.Now()
		windlass.Account(t, client, name)
		took := time.Since(from)
		t.Logf("%s has its account after %v", name, took)
		if fastest = min(fastest, took); took > time.Minute {
			t.Errorf("%s waited %v for its account", name, took)
		}
	}
	if fastest > 5*time.Second { // other processes share the machine
		t.Errorf("the fastest of five namespaces waited %v for its account", fastest)
	}
	if after := clusterState(t, client); after != before {
		t.Errorf("the namespace was\n%s\nand is\n%s", before, after)
	}
	if n := m.Count(t, "windlass_dropped_log_bytes_total", "plugin", "log-million"); n < 50_000_000_000 {
		t.Errorf("%v bytes of log were counted as dropped", n)
	}
	events, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// of tens of thousands: aggregated, limited by object, and dropped when too many wait
	if n := len(events.Items); n > 100 {
		t.Errorf("%d events were written", n)
	}
	t.Logf("%d events were written", len(events.Items))
	for _, a := range unloaded {
		if n := m.Count(t, "windlass_syncs_total", "controller", a.name+"-controller"); n > 0 {
			t.Errorf("%s has had %v syncs", a.name, n)
		}
	}
	checkStolen(t, loot, m, log, recordings, events.Items)
	checkForged(t, client)
}

// clusterState returns all objects that somebody might have written to, as text.
func clusterState(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	var b strings.Builder
	for _, ns := range []string{namespace, "kube-system"} {
		maps, err := client.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range maps.Items {
			if ns == namespace || o.Name == "guest" {
				fmt.Fprintf(&b, "configmap %s/%s %s\n", ns, o.Name, o.ResourceVersion)
			}
		}
		secrets, err := client.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range secrets.Items {
			fmt.Fprintf(&b, "secret %s/%s %s\n", ns, o.Name, o.ResourceVersion)
		}
	}
	return b.String()
}
