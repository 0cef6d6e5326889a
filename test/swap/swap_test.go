// Package swap replaces controllers while they run.
package swap

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const namespace = "default"

// world is a cluster with a running manager whose plugins and controllers a test changes.
type world struct {
	t           testing.TB
	c           *cluster.Cluster
	client      kubernetes.Interface
	folder      string
	controllers []string
	bad         bool   // the configuration
	shadow      string // of replicaset
	placed      bool   // a module is to take replicaset's place
	configure   func(k *config.Configuration, replicaset *config.Plugin)
	wrap        func(*rest.Config)
	sources     []plugins.Source // nil: those of the configuration
	m           *windlass.Manager
}

func newWorld(t testing.TB, controllers ...string) *world {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	w := &world{t: t, c: c, client: c.Client(), folder: t.TempDir(), controllers: controllers}
	return w
}

func (w *world) beginManager() {
	w.t.Helper()
	w.m = windlass.Begin(w.t, w.c, windlass.Options{Wrap: w.wrap, Sources: w.sources,
		Configure: func(k *config.Configuration) {
			k.PluginFolder, k.Controllers = w.folder, w.controllers
			if w.bad {
				k.Plugins = append(k.Plugins, config.Plugin{Name: "nobody"})
			}
			// Modules that aren't built in get the rights of the one that they replace by the operator's word alone.
			p := config.Plugin{Name: "replicaset", ServiceAccount: "replicaset-controller", Shadow: w.shadow}
			if w.placed {
				p.File = "replicaset.wasm"
			}
			if w.configure != nil {
				w.configure(k, &p)
			}
			k.Plugins = append(k.Plugins, p)
		}})
}

func (w *world) startManager() {
	w.t.Helper()
	w.beginManager()
	w.m.AwaitReady(w.t)
	windlass.Account(w.t, w.client, namespace)
}

// variant is a module that does the same, with other bytes: a custom section is appended.
func variant(t testing.TB, name string, n int) []byte {
	wasm, ok := builtin.Module(name)
	if !ok {
		t.Fatalf("no built-in plugin %s: run make plugins", name)
	}
	return moduleWithNote(wasm, n)
}

// moduleWithNote returns a module with a note at its end, in a section that nothing reads.
func moduleWithNote(wasm []byte, n int) []byte {
	note := fmt.Sprintf("\x04noteversion %06d", n)
	return append(slices.Clone(wasm), append([]byte{0, byte(len(note))}, note...)...)
}

func digest(wasm []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(wasm)) }

// placeModule writes a module into the folder as a person would who knows how: beside, then renamed. From then on the
// configuration has replicaset in a file.
func (w *world) placeModule(name string, wasm []byte) {
	w.t.Helper()
	w.placed = true
	beside := filepath.Join(w.folder, ".new")
	if err := os.WriteFile(beside, wasm, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(beside, filepath.Join(w.folder, name+".wasm")); err != nil {
		w.t.Fatal(err)
	}
}

// built are the modules that build has compiled, by name: several tests use the same.
var built struct {
	sync.Mutex
	modules map[string][]byte
}

// buildVersion compiles a version of replicaset: one that traps, one that wants a pod more. It returns its bytes, and a
// file of the test's own that holds them.
func buildVersion(t *testing.T, name string) (wasm []byte, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name+".wasm")
	built.Lock()
	defer built.Unlock()

	wasm, ok := built.modules[name]
	if ok {
		if err := os.WriteFile(path, wasm, 0o600); err != nil {
			t.Fatal(err)
		}
		return wasm, path
	}

	module.Build(t, path, "test/swap/testdata/"+name)
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if built.modules == nil {
		built.modules = map[string][]byte{}
	}
	built.modules[name] = wasm
	return wasm, path
}

func brokenModule(t *testing.T) []byte {
	t.Helper()
	wasm, _ := buildVersion(t, "broken")
	return wasm
}

func (w *world) pluginStatus(name string) (p state.PluginStatus) {
	w.t.Helper()
	s := w.m.Status(w.t)
	return pluginOf(&s, name)
}

func pluginOf(s *state.Status, name string) (p state.PluginStatus) {
	for _, p := range s.Plugins {
		if p.Name == name {
			return p
		}
	}
	return p
}

func (w *world) eventually(what string, f func() (bool, string)) {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, what, f)
}

func (w *world) createDeployment(name string, replicas int32) {
	w.t.Helper()
	workload.CreateDeployment(w.t, w.client, namespace, workload.Deployment(name, replicas))
}

func (w *world) scaleDeployment(name string, replicas int) {
	w.t.Helper()
	workload.ScaleDeployment(w.t, w.client, namespace, name, replicas)
}

func (w *world) countPods(name string) (n int) {
	w.t.Helper()
	return workload.CountPods(w.t, w.client, namespace, name)
}

func (w *world) awaitPods(name string, n int) {
	w.t.Helper()
	workload.AwaitPods(w.t, w.client, namespace, name, n)
}

// podWrites counts the pods that replicaset made and deleted.
func (w *world) podWrites(verb string) (n int) {
	for _, e := range w.c.Audit(w.t, cluster.Filter{Verbs: []string{verb}, Resources: []string{"pods"},
		Users: []string{"system:serviceaccount:kube-system:replicaset-controller"}}) {
		if e.Code < 300 {
			n++
		}
	}
	return n
}

// A controller is replaced again and again while its key is busy: no key is lost, no pod is made or deleted twice, the
// other controllers run on.
func TestSwapUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "deployment", "replicaset", "serviceaccount")
	w.startManager()
	w.createDeployment("web", 20)
	w.awaitPods("web", 20)
	before := w.pluginStatus("replicaset").Digest
	up, down := 20, 0
	now := 20
	for n := range 12 {
		target := 5 + 10*((n+1)%3)
		w.scaleDeployment("web", target)
		if target > now {
			up += target - now
		} else {
			down += now - target
		}
		now = target
		w.placeModule("replicaset", variant(t, "replicaset", n))
		w.m.Reload()
		w.eventually("the new version runs", func() (bool, string) {
			p := w.pluginStatus("replicaset")
			return p.Digest != before, fmt.Sprintf("%+v", p)
		})
		before = w.pluginStatus("replicaset").Digest
		w.awaitPods("web", target)
	}
	if c, d := w.podWrites("create"), w.podWrites("delete"); c != up || d != down {
		t.Errorf("%d pods were made and %d deleted, expected %d and %d", c, d, up, down)
	}
	for _, c := range w.m.Status(t).Controllers {
		if c.State != "Running" {
			t.Errorf("%+v", c)
		}
	}

	t.Log("the file goes: the built-in version comes back by itself, for the folder is watched")
	if err := os.Remove(filepath.Join(w.folder, "replicaset.wasm")); err != nil {
		t.Fatal(err)
	}
	w.eventually("the built-in version runs", func() (bool, string) {
		p := w.pluginStatus("replicaset")
		return p.Origin == "builtin:replicaset", fmt.Sprintf("%+v", p)
	})
	w.scaleDeployment("web", 3)
	w.awaitPods("web", 3)
	windlass.ExpectRoles(t, w.c)
}

// A version that traps is taken back by itself, and not tried again.
func TestRollBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "deployment", "replicaset", "serviceaccount")
	w.startManager()
	w.createDeployment("web", 5)
	w.awaitPods("web", 5)
	good := w.pluginStatus("replicaset").Digest
	w.placeModule("replicaset", brokenModule(t))
	w.m.Reload()
	w.eventually("it is rolled back", func() (bool, string) {
		p := w.pluginStatus("replicaset")
		return p.Digest == good && len(p.Failed) == 1, fmt.Sprintf("%+v", p)
	})
	if s := w.pluginStatus("replicaset").Failed[0]; !strings.Contains(s, "replicaset") || !strings.Contains(s, "trap") &&
		!strings.Contains(s, "unreachable") {
		t.Errorf("the version failed for %q", s)
	}
	w.scaleDeployment("web", 8)
	w.awaitPods("web", 8)
	w.m.Reload()
	w.eventually("the manager says why the file isn't what runs", func() (bool, string) {
		s := w.m.Status(t).Refused
		return strings.Contains(s, "failed before"), s
	})
	if n := w.m.Count(t, "windlass_plugin_swaps_total", "plugin", "replicaset", "result", "rolled-back"); n != 1 {
		t.Errorf("%v roll-backs, expected one", n)
	}

	t.Log("the file has a version that works: of the one that failed nothing is said any longer")
	w.placeModule("replicaset", variant(t, "replicaset", 1))
	w.m.Reload()
	w.nothingWrong()
	t.Log("a shadow that can't be loaded is told of until it is taken away")
	w.shadow = filepath.Join(t.TempDir(), "liar.wasm")
	wasm := variant(t, "replicaset", 2)
	liar := bytes.Replace(wasm, []byte(`"serviceAccount":"replicaset-controller"`),
		[]byte(`"serviceAccount":"replicaset-controllex"`), 1)
	if err := os.WriteFile(w.shadow, liar, 0o600); err != nil || bytes.Equal(wasm, liar) {
		t.Fatal(err)
	}
	w.m.Reload()
	w.eventually("it is told of", func() (bool, string) {
		p := w.pluginStatus("replicaset")
		return len(p.Failed) == 1 && strings.Contains(p.Failed[0], "differs from the manifest that the module returns"),
			fmt.Sprintf("%+v", p)
	})
	w.shadow = ""
	w.m.Reload()
	w.nothingWrong()
}

// nothingWrong waits until the host has nothing to complain of, but that there are controllers which it doesn't run.
func (w *world) nothingWrong() {
	w.t.Helper()
	w.eventually("nothing is wrong", func() (bool, string) {
		s := w.m.Status(w.t)
		wrong := slices.DeleteFunc(s.Troubles, func(x state.Trouble) bool {
			return strings.Contains(x.What,
				"no controller here handles")
		})
		return len(wrong) == 0 && len(pluginOf(&s, "replicaset").Failed) == 0,
			fmt.Sprintf("%+v %+v", wrong, pluginOf(&s, "replicaset"))
	})
}

// What a version that was rolled back still answers isn't written.
func TestRolledBackVersionsWriteNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "replicaset", "serviceaccount")
	reached, released := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(reached) })
	release := sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	w.wrap = func(c *rest.Config) {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return trip(func(r *http.Request) (*http.Response, error) {
				switch {
				case r.Method != http.MethodGet:
				case strings.HasSuffix(r.URL.Path, "/replicasets/late"):
					once()
					<-released
				case strings.HasSuffix(r.URL.Path, "/replicasets/trap"):
					<-reached
				}
				return next.RoundTrip(r)
			})
		})
	}
	w.startManager()
	w.createSet("late", 0, map[string]string{"app": "late"})
	w.createSet("trap", 0, map[string]string{"app": "trap"})
	good := w.pluginStatus("replicaset").Digest
	halfway, _ := buildVersion(t, "halfway")
	w.placeModule("replicaset", halfway)
	w.m.Reload()
	w.eventually("it is rolled back", func() (bool, string) {
		p := w.pluginStatus("replicaset")
		return p.Digest == good && len(p.Failed) == 1, fmt.Sprintf("%+v", p)
	})

	failed := w.syncCount("error")
	release()
	w.eventually("its late answer is dealt with", func() (bool, string) {
		pods, errors := w.countPods("late"), w.syncCount("error")
		return pods > 0 || errors > failed, fmt.Sprintf("%d pods, %v syncs have failed", pods, errors-failed)
	})
	if n := w.countPods("late"); n > 0 {
		t.Errorf("it has made %d pods after it was rolled back", n)
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Controllers come and go with the list in the configuration; a bad edit changes nothing and is told of.
func TestEnablement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "deployment", "serviceaccount")
	w.startManager()
	w.createDeployment("web", 4)
	w.controllers = []string{"deployment", "replicaset", "serviceaccount"}
	w.m.Reload()
	w.awaitPods("web", 4)

	t.Log("a controller is turned off")
	w.controllers = []string{"deployment", "serviceaccount"}
	w.m.Reload()
	w.eventually("it is gone", func() (bool, string) {
		p := w.pluginStatus("replicaset")
		return p.Name == "",
			fmt.Sprintf("%+v", p)
	})
	w.scaleDeployment("web", 6)
	w.eventually("its set is scaled", func() (bool, string) {
		l, err := w.client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(l.Items) == 1 && *l.Items[0].Spec.Replicas == 6, fmt.Sprint(err)
	})
	if n := w.countPods("web"); n != 4 {
		t.Errorf("%d pods, though nobody makes any", n)
	}

	t.Log("a bad edit")
	w.controllers, w.bad = []string{"deployment", "replicaset", "serviceaccount"}, true
	w.m.Reload()
	w.eventually("it is refused", func() (bool, string) {
		s := w.m.Status(t).Refused
		return strings.Contains(s, `plugins[0].name: no plugin "nobody"`), s
	})
	if w.pluginStatus("replicaset").Name != "" || w.pluginStatus("deployment").Name == "" {
		t.Error("a bad edit has changed what runs")
	}
	w.bad = false
	w.m.Reload()
	w.awaitPods("web", 6)
	w.eventually("nothing is refused any more", func() (bool, string) { s := w.m.Status(t).Refused; return s == "", s })
}

// A plugin that isn't built in and traps with all its keys, in several namespaces, is set aside by name, the others run
// on, and a new version brings it back.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "deployment", "replicaset", "serviceaccount")
	w.placeModule("replicaset", brokenModule(t))
	w.startManager()
	w.createDeployment("a", 1)
	for _, n := range []string{"b", "c", "d"} {
		if _, err := w.client.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		workload.CreateDeployment(t, w.client, n, workload.Deployment(n, 1))
	}
	stateOf := func() string {
		for _, c := range w.m.Status(t).Controllers {
			if c.Name == "replicaset-controller" {
				return c.State
			}
		}
		return ""
	}
	w.eventually("it is quarantined", func() (bool, string) { return stateOf() == "Quarantined", stateOf() })
	if code, _ := w.m.Do(t, http.MethodGet, "/healthz/replicaset-controller"); code == http.StatusOK {
		t.Error("its health check passes")
	}
	if code, b := w.m.Do(t, http.MethodGet, "/healthz/deployment-controller"); code != http.StatusOK {
		t.Errorf("another controller isn't healthy: %d %s", code, b)
	}
	w.createDeployment("e", 2)
	w.eventually("the others run on", func() (bool, string) {
		l, err := w.client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=e"})
		return err == nil && len(l.Items) == 1, fmt.Sprint(err)
	})

	if !slices.ContainsFunc(w.m.Status(t).Troubles, func(x state.Trouble) bool {
		return x.Level == state.Bad && strings.Contains(x.What, "is quarantined") && strings.Contains(x.Do, "One key is tried in")
	}) {
		t.Errorf("the status tells %+v", w.m.Status(t).Troubles)
	}

	t.Log("a command releases it, and it fails again")
	if code, b := w.m.Do(t, http.MethodPost,
		"/windlass/v1/controllers/replicaset-controller/release"); code != http.StatusOK {
		t.Fatalf("%d %s", code, b)
	}
	w.eventually("it is quarantined again", func() (bool, string) { return stateOf() == "Quarantined", stateOf() })

	t.Log("a version that works")
	w.placeModule("replicaset", variant(t, "replicaset", 1))
	w.m.Reload()
	w.awaitPods("e", 2)
	w.eventually("it runs", func() (bool, string) { return stateOf() == "Running", stateOf() })
}

// A shadow that wants one pod more shows exactly that, and writes nothing; one that is the same shows nothing.
func TestShadow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "deployment", "replicaset", "serviceaccount")
	w.shadow = "builtin:replicaset"
	w.startManager()
	w.createDeployment("web", 3)
	w.awaitPods("web", 3)
	w.eventually("the shadow has synced", func() (bool, string) {
		n := w.m.Count(t, "windlass_shadow_syncs_total", "controller", "replicaset-controller")
		return n >= 1, fmt.Sprint(n)
	})
	if n := w.m.Count(t, "windlass_shadow_differences_total", "controller", "replicaset-controller"); n != 0 {
		t.Errorf("%v differences of the same code: %+v", n, w.differences())
	}

	_, w.shadow = buildVersion(t, "onemore")
	before := w.podWrites("create")
	w.m.Reload()
	w.eventually("it is the shadow, and has answered otherwise", func() (bool, string) {
		all := w.differences()
		return len(all) > 0, fmt.Sprintf("%+v %s", all, w.m.Status(t).Refused)
	})
	d := w.differences()[0]
	if d.Controller != "replicaset-controller" || !strings.HasPrefix(d.Key, "default/web-") ||
		strings.Count(d.Text, "create v1/pods") != 1 || !strings.Contains(d.Text, "+") {
		t.Errorf("the difference is %+v, expected one pod more", d)
	}
	if after := w.podWrites("create"); after != before || w.countPods("web") != 3 {
		t.Errorf("%d pods were created under the shadow, there are %d", after-before, w.countPods("web"))
	}
	w.scaleDeployment("web", 5)
	w.awaitPods("web", 5)

	note := func() bool {
		return slices.ContainsFunc(w.m.Status(t).Troubles, func(x state.Trouble) bool {
			return strings.Contains(x.What,
				"its shadow answers differently")
		})
	}
	if !note() {
		t.Error("no note of the differences")
	}
	w.shadow = ""
	w.m.Reload()
	w.nothingWrong()
	if len(w.differences()) == 0 {
		t.Error("what it answered is forgotten")
	}
}

func (w *world) differences() (all []controller.Difference) {
	w.t.Helper()
	if err := json.Unmarshal(w.m.Get(w.t, "/windlass/v1/differences"), &all); err != nil {
		w.t.Fatal(err)
	}
	return all
}
