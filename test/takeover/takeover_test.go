// Package takeover checks that a converged cluster passes from the native kube-controller-manager to Windlass, and
// back, without a write, and that each goes on from what the other one has left. What the controllers are put through
// is in their plugins' folders: the scripts of life.yaml that have a place midway; see test/life.
package takeover

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
)

func TestMain(m *testing.M) { life.Main(m) }

// controllers are all: both managers have them.
var controllers = builtin.Names()

// quiet is how long nothing must be written for a cluster to count as settled.
const quiet = 4 * time.Second

// Whoever takes over does nothing but what the native manager does when it is started again: all that lies still
// stays as it is, and a namespace that waits for a finalizer is swept over and over, as the native manager does
// without an end.
func TestTakeoverWritesNothing(t *testing.T) {
	w := newWorld(t)
	stop := w.startNative()
	w.playPart(0)
	waitForRest(t, w.c)
	stop()

	t.Log("from native to native")
	since, asked := time.Now(), w.stage.Metrics.Requests()
	stop = w.startNative()
	w.awaitWork(since, asked)
	waitForRest(t, w.c)
	stop()
	var again []string
	for _, e := range controllerWrites(t, w.c, since) {
		again = append(again, writeName(e))
		if !isSweep(e) && !refused(e) { // its own affair
			t.Logf("the native manager, started again, wrote: %v", e)
		}
	}

	t.Log("from native to Windlass")
	since, asked = time.Now(), w.stage.Metrics.Requests()
	m := w.windlass()
	w.awaitWork(since, asked)
	waitForRest(t, w.c)
	expectNoWrites(t, w.c, since, again)
	w.playPart(1)
	waitForRest(t, w.c)
	m.Stop(t)
	windlass.ExpectRoles(t, w.c)

	t.Log("from Windlass to native")
	since, asked = time.Now(), w.stage.Metrics.Requests()
	stop = w.startNative()
	w.awaitWork(since, asked)
	waitForRest(t, w.c)
	expectNoWrites(t, w.c, since, again)
	w.playPart(2) // it does work, and so it did have the chance to write
	stop()
}

// world is a cluster on which scripts are played in three parts.
type world struct {
	*testing.T
	c       *cluster.Cluster
	stage   *life.Stage
	lives   []*life.Life
	scripts map[string]*life.Script // by namespace
}

func newWorld(t *testing.T) *world {
	t.Helper()
	lives, err := life.All("../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	lives = life.Of("", lives)
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	w := &world{T: t, c: c, stage: life.NewStage(t, c), lives: lives, scripts: map[string]*life.Script{}}
	w.stage.RestrainKubelets(t)
	w.stage.Metrics = metricsapi.Serve(t, c.RESTConfig())
	for _, l := range lives {
		n := 0
		for _, s := range l.Scripts() {
			if parts := len(s.Parts()); parts == 3 {
				w.scripts[l.Plugin+"-"+s.Name] = s
				n++
			} else if parts != 1 {
				t.Errorf("%s/%s has %d parts: managers change twice here", l.Plugin, s.Name, parts)
			}
		}
		if n == 0 { // its work is done when it is taken over
			w.scripts[l.Plugin+"-"+l.Work.Name] = &l.Work
		}
	}
	return w
}

// playPart plays a part of all scripts, at a time.
func (w *world) playPart(part int) {
	w.Helper()
	ok := w.Run(fmt.Sprint("part-", part+1), func(t *testing.T) {
		for namespace, script := range w.scripts {
			if part >= len(script.Parts()) {
				continue
			}
			t.Run(namespace, func(t *testing.T) {
				t.Parallel()
				w.stage.PlayPart(t, script, part, namespace)
			})
		}
	})
	if !ok {
		w.FailNow()
	}
}

func (w *world) startNative() (stop func()) {
	w.Helper()
	var flags []string
	for _, l := range w.lives {
		for k, v := range l.Settings {
			flags = append(flags, "--"+k+"="+v)
		}
	}
	return w.c.Native(w, controllers, flags...)
}

// windlass returns when each controller has synced.
func (w *world) windlass() *windlass.Manager {
	w.Helper()
	m := windlass.Start(w.T, w.c, windlass.Options{Controllers: controllers, Configure: func(k *config.Configuration) {
		k.Plugins = append(k.Plugins, life.Configured(w.lives, false)...)
	}})
	for _, name := range controllers {
		eventually(w.T, name+" syncs", func() (bool, string) {
			n := m.Count(w, "windlass_syncs_total", "controller", name, "result", "ok")
			return n > 0, "no sync yet"
		})
	}
	return m
}

// awaitWork waits until whoever runs since then has looked at what it must look at by the clock or only once: all
// autoscalers' metrics, twice, and the namespace that ends.
func (w *world) awaitWork(since time.Time, asked int) {
	w.Helper()
	const metrics = 4 // are asked for in each period
	eventually(w.T, "the autoscalers are synced", func() (bool, string) {
		n := w.stage.Metrics.Requests()
		return n >= asked+2*metrics, fmt.Sprint(n-asked, " requests")
	})
	eventually(w.T, "the namespace that ends is swept", func() (bool, string) {
		return slices.ContainsFunc(controllerWrites(w.T, w.c, since), isSweep), ""
	})
}

// isSweep reports whether a write is one of those that the namespace controller repeats as long as something is left:
// the native one does so too, whether or not it is the one that began.
func isSweep(e cluster.Event) bool {
	return e.Verb == "deletecollection" && e.User == "system:serviceaccount:kube-system:namespace-controller"
}

// refused reports whether a write is that of a config map with the root certificates, which the native manager tries
// whenever it starts and finds a namespace without one: admission lets nothing into a namespace that ends.
func refused(e cluster.Event) bool {
	return e.Verb == "create" && e.Name == "kube-root-ca.crt" && e.Code == http.StatusForbidden && !e.Denied
}

// writeName names a write without its time.
func writeName(e cluster.Event) string {
	return strings.Join([]string{e.Verb, e.Group, e.Resource, e.Namespace, e.Name, e.User}, " ")
}

// controllerWrites returns the writes of controllers: what they do to objects of users, without the tokens that a
// manager asks for.
func controllerWrites(t *testing.T, c *cluster.Cluster, since time.Time) (all []cluster.Event) {
	for _, e := range c.Audit(t, cluster.Filter{Verbs: cluster.Writes, Since: since}) {
		controller := strings.HasPrefix(e.User, "system:serviceaccount:kube-system:") ||
			e.User == "system:kube-controller-manager"
		switch e.Resource {
		case "leases", "serviceaccounts/token", "tokenreviews", "subjectaccessreviews":
			continue
		case "serviceaccounts":
			if e.Namespace == "kube-system" && e.User == "system:kube-controller-manager" {
				continue // the accounts that the manager makes for its controllers
			}
		}
		if controller {
			all = append(all, e)
		}
	}
	return all
}

// expectNoWrites fails the test if there was a write but those that the native manager makes again whenever it starts.
func expectNoWrites(t *testing.T, c *cluster.Cluster, since time.Time, again []string) {
	t.Helper()
	for _, e := range controllerWrites(t, c, since) {
		if !slices.Contains(again, writeName(e)) {
			t.Errorf("the takeover wrote: %v", e)
		}
	}
}

// waitForRest waits until no controller has written for a while, sweeps aside.
func waitForRest(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	windlass.Settle(t, quiet, func(since time.Time) []cluster.Event {
		return slices.DeleteFunc(controllerWrites(t, c, since),
			isSweep)
	})
}

func eventually(t *testing.T, what string, condition func() (bool, string)) {
	t.Helper()
	cluster.Eventually(t, 2*time.Minute, what, condition)
}
