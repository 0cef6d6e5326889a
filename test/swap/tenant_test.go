package swap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
)

// asBuiltIn has a module come with the binary, in the place of the one that does.
type asBuiltIn struct {
	plugins.Builtin
	t          testing.TB
	name, path string
}

func (s asBuiltIn) Modules() (all []*plugins.Plugin, errs []error) {
	all, errs = s.Builtin.Modules()
	p, err := plugins.File(s.path)
	if err != nil {
		s.t.Error(err)
	}
	p.Name, p.Origin = s.name, plugins.OriginBuiltin
	all = slices.DeleteFunc(all, func(x *plugins.Plugin) bool { return x.Name == s.name })
	return append(all, p), errs
}

// What objects contain stops no controller: of a built-in one only their keys fail, which is told, and its health stays
// well though all do; a new version on trial isn't rolled back for them; and those of one namespace don't quarantine a
// plugin that isn't built in.
func TestTenantsStopNoController(t *testing.T) {
	t.Parallel()
	const name, traps = "replicaset-controller", 10 // of each namespace
	w := newWorld(t, "deployment", "replicaset", "serviceaccount")
	wasm, path := buildVersion(t, "poisoned")
	w.sources = []plugins.Source{asBuiltIn{t: t, name: "replicaset", path: path}, plugins.Folder(w.folder)}
	w.configure = func(_ *config.Configuration, p *config.Plugin) {
		p.Limits.Deadline = metav1.Duration{Duration: time.Second}
	}
	w.startManager()
	controllerStatus := func() (c state.ControllerStatus, seen string) {
		for _, c := range w.m.Status(t).Controllers {
			if c.Name == name {
				return c, fmt.Sprintf("%+v", c)
			}
		}
		return c, "there is no " + name
	}
	healthy := func() {
		t.Helper()
		if code, b := w.m.Do(t, http.MethodGet, "/healthz?verbose"); code != http.StatusOK {
			t.Errorf("health: %d %s", code, b)
		}
	}

	create := func(namespace, name string, replicas int32) {
		t.Helper()
		w.createSetIn(namespace, name, replicas, map[string]string{"app": name})
	}
	bad := 0
	for i := range 3 {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("team-", i)}}
		if _, err := w.client.CoreV1().Namespaces().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for j := range traps {
			for _, kind := range []string{"trap", "overreach"} {
				create(n.Name, fmt.Sprintf("%s-%d", kind, j), 0)
			}
			bad += 2
		}
		create(n.Name, "endless-0", 0)
		bad++
	}
	t.Log("others go on")
	for i := range 10 {
		create(namespace, fmt.Sprint("good-", i), 1)
	}
	for i := range 10 {
		w.awaitPods(fmt.Sprint("good-", i), 1)
	}
	w.eventually("the keys are set aside, and tried again", func() (bool, string) {
		c, seen := controllerStatus()
		return c.Aside == bad && c.Syncs.Failed > int64(2*bad), seen
	})
	if c, seen := controllerStatus(); c.State != "Running" || c.Failing != bad {
		t.Error(seen)
	}
	healthy()
	w.toldAside("team-0/trap-0", "trap", "unreachable")
	w.toldAside("team-1/overreach-0", "refused", "configmaps")
	w.toldAside("team-2/endless-0", "trap", "deadline exceeded")
	count := func(metric string) float64 { return w.m.Count(t, metric, "controller", name) }
	if n, degraded := count("windlass_keys_set_aside"), count("windlass_controller_degraded"); n != float64(bad) ||
		degraded != 0 {
		t.Errorf("metrics: %v keys set aside, degraded %v", n, degraded)
	}

	t.Log("nothing is left but what fails")
	w.deleteSets(namespace, "good-")
	w.eventually("it is degraded", func() (bool, string) {
		c, seen := controllerStatus()
		return c.State == "Degraded", seen
	})
	healthy()
	if n := count("windlass_controller_degraded"); n != 1 {
		t.Errorf("metric: degraded %v", n)
	}
	if !slices.ContainsFunc(w.m.Status(t).Troubles, func(x state.Trouble) bool {
		return x.Level == state.Bad && x.About == name && strings.Contains(x.What, "is degraded")
	}) {
		t.Errorf("the status tells %+v", w.m.Status(t).Troubles)
	}

	t.Log("another version, which isn't built in, fails on the same objects")
	for i := range 60 { // whose syncs end its trial
		create(namespace, fmt.Sprint("idle-", i), 0)
	}
	w.eventually("it isn't degraded any more", func() (bool, string) {
		c, seen := controllerStatus()
		return c.State == "Running", seen
	})
	before := w.pluginStatus("replicaset").Digest
	next := moduleWithNote(wasm, 1)
	for i := range 3 {
		w.deleteSets(fmt.Sprint("team-", i), "overreach-") // which would count against one that isn't built in
	}
	w.placeModule("replicaset", next)
	w.m.Reload()
	w.awaitTrial(next, before)
	w.eventually("the trial is over", func() (bool, string) {
		s := w.m.Status(t)
		x := lastSwap(&s)
		return x.Result != "on trial", fmt.Sprintf("%+v", x)
	})
	if s := w.m.Status(t); lastSwap(&s).Result != "ok" {
		t.Fatalf("its trial ended with %+v", lastSwap(&s))
	}
	trapped := func() float64 { return w.m.Count(t, "windlass_syncs_total", "controller", name, "result", "trap") }
	failed := trapped()
	w.eventually("it has failed often", func() (bool, string) {
		n := trapped() - failed
		return n > 3*traps, fmt.Sprint(n)
	})
	if c, seen := controllerStatus(); c.State != "Running" {
		t.Error(seen)
	}
	healthy()

	t.Log("one that fails on all is rolled back")
	w.placeModule("replicaset", brokenModule(t))
	w.m.Reload()
	w.eventually("it is rolled back", func() (bool, string) {
		p := w.pluginStatus("replicaset")
		return p.Digest == digest(next) && len(p.Failed) == 1, fmt.Sprintf("%+v", p)
	})
}

// deleteSets deletes a namespace's sets by the beginning of their names.
func (w *world) deleteSets(namespace, prefix string) {
	w.t.Helper()
	sets := w.client.AppsV1().ReplicaSets(namespace)
	all, err := sets.List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range all.Items {
		name := all.Items[i].Name
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if err := sets.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// toldAside checks what the status tells of a key that is set aside.
func (w *world) toldAside(key, result, says string) {
	w.t.Helper()
	var keys state.Keys
	b := w.m.Get(w.t, "/windlass/v1/keys?key="+key)
	if err := json.Unmarshal(b, &keys); err != nil {
		w.t.Fatal(err)
	}
	if !slices.ContainsFunc(keys.Keys, func(k controller.Stuck) bool {
		return k.Key == key && k.State == controller.SetAside && k.Result == result && strings.Contains(k.Error, says) &&
			k.Tries > 0 && !k.Next.IsZero()
	}) {
		w.t.Errorf("of %s is told: %s", key, b)
	}
}
