package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
)

// hoarder is a module that holds more memory than its plugin may, by what no single sync is refused for.
type hoarder struct {
	attack
	budget int64 // of the plugin, in bytes
	use    budget.Use
}

// syncsAtOnce is how many syncs of a hoarder may run, and how many keys it has.
const syncsAtOnce = 30

var hoarders = []hoarder{
	{attack{name: "hoards", stage: atSync, says: "plugins[hoards].budget.memory",
		about: fmt.Sprintf("Takes 32 MiB in each of %d syncs at once, and holds them while it lists at one request in ten seconds.",
			syncsAtOnce), build: hoards,
	}, 100 << 20, budget.Instances},
	{attack{name: "wakes", stage: atEffects, says: "plugins[wakes].budget.memory",
		about: "Wakes 10,000 keys in each sync, which do the same.", build: wakes}, 10 << 20, budget.Keys},
	{attack{name: "states", stage: atEffects, says: "plugins[states].budget.memory",
		about: "Keeps half of what a key may keep, for each key.", build: states}, 12 << 20, budget.State},
}

func hoards(t testing.TB) []byte {
	list := abi.AppendPerform(nil, &abi.PerformRequest{Effects: []abi.Effect{{Kind: abi.EffectList,
		Resource: "v1/configmaps", Namespace: namespace}}})
	return assembleText(t, "hoards", fmt.Sprintf(`(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (data (i32.const 8192) "%s")
  (func (export "windlass_sync") (result i64)
    (drop (memory.grow (i32.const 513)))
    (memory.fill (i32.const 65536) (i32.const 1) (i32.const 33554432))
    (loop $l (drop (call $perform (i32.const 8192) (i32.const %d))) (br $l))
    (i64.const 0)))
`, module.Escape(list), len(list)), func(c *abi.Controller) {
		c.Workers = syncsAtOnce
		c.Writes[0].Verbs = append(c.Writes[0].Verbs, "list")
	})
}

func wakes(t testing.TB) []byte {
	var r abi.SyncResponse
	for n := range 10_000 {
		r.Effects = append(r.Effects, abi.Effect{Kind: abi.EffectWake, Wake: &abi.Wake{
			Key: abi.KeyRef{Namespace: namespace, Name: fmt.Sprint("new-", n)}}})
	}
	return answering(t, "wakes", &r)
}

func states(t testing.TB) []byte {
	return answering(t, "states", &abi.SyncResponse{State: make([]byte, abi.StateMax/2)})
}

// answering makes a module that always answers this.
func answering(t testing.TB, name string, r *abi.SyncResponse) []byte {
	b := abi.AppendResponse(nil, r)
	return assembleText(t, name, fmt.Sprintf(`(module
  (memory (export "memory") 64)
  (; plugin ;)
  (data (i32.const 65536) "%s")
  (func (export "windlass_sync") (result i64) (i64.const 0x%08x%08x)))
`, module.Escape(b), 65536, len(b)), nil)
}

// TestMemoryIsSummed: what a plugin holds is bounded as a whole, whatever it is and however many of its syncs hold it;
// what is over the bound fails the sync that asks for it, with the bound's name, and others go on.
func TestMemoryIsSummed(t *testing.T) {
	log := windlass.RecordLog(t)
	folder := t.TempDir()
	for i := range hoarders {
		a := &hoarders[i]
		if err := os.WriteFile(filepath.Join(folder, a.name+".wasm"), a.moduleBytes(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := cluster.Start(t, cluster.Options{})
	client, ctx := c.Client(), t.Context()

	m := windlass.Start(t, c, windlass.Options{Configure: func(k *config.Configuration) {
		k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
		k.PluginFolder = folder
		for _, a := range hoarders {
			p := config.Plugin{Name: a.name, API: config.API{QPS: 0.1, Burst: 1}}
			p.Budget.Memory = *resource.NewQuantity(a.budget, resource.BinarySI)
			k.Plugins = append(k.Plugins, p)
		}
	}})
	if _, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, a := range hoarders {
		for n := range syncsAtOnce {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(a.name, "-", n),
				Labels: map[string]string{"hostile": a.name}}}
			if _, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, o, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}

	for _, a := range hoarders {
		t.Run(a.name, func(t *testing.T) {
			most := 0.0
			cluster.Eventually(t, time.Minute, "a sync that is refused more", func() (bool, string) {
				if held := m.Count(t, "windlass_plugin_memory_bytes", "plugin", a.name); held > float64(a.budget)+1<<20 {
					t.Fatalf("%v bytes are held, of %d", held, a.budget)
				}
				most = max(most, m.Count(t, "windlass_plugin_memory_bytes", "plugin", a.name, "use", a.use.String()))
				line, ok := log.With(`"Sync failed, will retry"`, a.says, `controller="`+a.name+`-controller"`)
				return ok, line
			})
			t.Logf("%.1f MiB are held as %v", most/(1<<20), a.use)
			if most == 0 {
				t.Errorf("nothing is held as %v", a.use)
			}
		})
	}
	if p := m.Status(t).Process.Memory; p.Held == 0 || p.Held > p.Limit {
		t.Errorf("all plugins hold %d bytes of %d", p.Held, p.Limit)
	}
	windlass.Account(t, client, namespace)
}
