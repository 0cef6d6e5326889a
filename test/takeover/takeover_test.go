// Package takeover checks that a converged cluster passes from the native kube-controller-manager to Windlass, and back, without a write.
package takeover

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// controllers are all: both managers have them.
var controllers = builtin.Names()

// quiet is how long nothing must be written for a cluster to count as settled.
const quiet = 4 * time.Second

// Whoever takes over does nothing but what the native manager does when it is started again: all that lies still stays as it is, and a namespace that waits for a finalizer is swept
// over and over, as the native manager does without an end.
func TestTakeoverWritesNothing(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: nodes, Audit: true})
	client := c.Client()
	metrics := metricsapi.Serve(t, c.RESTConfig())
	web := workload.Web{Client: client, Namespace: namespace, Name: "web"}
	hard, scaled, owned := hard{client}, autoscaled{client, metrics}, owned{client}
	native := func() func() {
		return c.Native(t, controllers, "--horizontal-pod-autoscaler-sync-period="+period.String())
	}

	stop := native()
	eventually(t, "the native manager makes the service account", func() (bool, string) {
		return len(c.Audit(t, cluster.Filter{Verbs: []string{"create"}, Resources: []string{"serviceaccounts"}, Namespace: namespace, Codes: []int{201}})) > 0, ""
	})
	do(t, web.Create(t.Context(), 20))
	scaled.create(t)
	hard.create(t)
	owned.create(t)
	converge(t, web, 20, "web:1")
	do(t, web.Image(t.Context(), "web:2"))
	converge(t, web, 20, "web:2")
	scaled.rest(t, 2)
	settle(t, c)
	stop()

	t.Log("from native to native")
	since, asked := time.Now(), metrics.Requests()
	stop = native()
	awaitWork(t, c, metrics, since, asked)
	settle(t, c)
	stop()
	var again []string
	for _, e := range writes(t, c, since) {
		again = append(again, what(e))
		if !sweep(e) && !refused(e) { // its own affair
			t.Logf("the native manager, started again, wrote: %v", e)
		}
	}

	t.Log("from native to Windlass")
	since, asked = time.Now(), metrics.Requests()
	w := windlass.Start(t, c, windlass.Options{Controllers: controllers, Configure: func(k *config.Configuration) {
		k.Plugins = append(k.Plugins, config.Plugin{Name: "horizontalpodautoscaler", Settings: map[string]string{"horizontal-pod-autoscaler-sync-period": period.String()}})
	}})
	for _, name := range controllers {
		eventually(t, name+" syncs", func() (bool, string) {
			return w.Count(t, "windlass_syncs_total", "controller", name, "result", "ok") > 0, "no sync yet"
		})
	}
	awaitWork(t, c, metrics, since, asked)
	settle(t, c)
	expectNoWrites(t, c, since, again)

	do(t, web.Scale(t.Context(), 30))
	converge(t, web, 30, "web:2")
	do(t, web.Undo(t.Context(), "1"))
	converge(t, web, 30, "web:1")
	hard.goOn(t, "main:3")
	hard.goOn(t, "main:2") // a revision of the native manager's
	scaled.goOn(t, "100m", 4)
	scaled.goOn(t, "5m", 2)
	owned.goOn(t, "windlass")
	settle(t, c)
	w.Stop(t)
	windlass.ExpectRoles(t, c)

	t.Log("from Windlass to native")
	since, asked = time.Now(), metrics.Requests()
	stop = native()
	awaitWork(t, c, metrics, since, asked)
	settle(t, c)
	expectNoWrites(t, c, since, again)
	do(t, web.Scale(t.Context(), 10)) // it does work, and so it did have the chance to write
	converge(t, web, 10, "web:1")
	hard.goOn(t, "main:3") // one of ours
	scaled.goOn(t, "100m", 4)
	owned.goOn(t, "native")
	hard.finish(t)
	owned.finish(t)
	stop()
}

// awaitWork waits until whoever runs since then has looked at what it must look at by the clock or only once: all autoscalers' metrics, twice, and the namespace that ends.
func awaitWork(t *testing.T, c *cluster.Cluster, metrics *metricsapi.Server, since time.Time, asked int) {
	t.Helper()
	eventually(t, "the autoscalers are synced", func() (bool, string) {
		return metrics.Requests() >= asked+2*measured, ""
	})
	eventually(t, "the namespace that ends is swept", func() (bool, string) {
		return slices.ContainsFunc(writes(t, c, since), sweep), ""
	})
}

// sweep tells whether a write is one of those that the namespace controller repeats as long as something is left: the native one does so too, whether or not it is the one that began.
func sweep(e cluster.Event) bool {
	return e.Namespace == ending && e.Verb == "deletecollection" && e.User == "system:serviceaccount:kube-system:namespace-controller"
}

// refused tells whether a write is that of a config map with the root certificates, which the native manager tries whenever it starts and finds a namespace without one: admission
// lets nothing into a namespace that ends.
func refused(e cluster.Event) bool {
	return e.Namespace == ending && e.Verb == "create" && e.Name == "kube-root-ca.crt" && e.Code == http.StatusForbidden && !e.Denied
}

// what names a write without its time.
func what(e cluster.Event) string {
	return strings.Join([]string{e.Verb, e.Group, e.Resource, e.Namespace, e.Name, e.User}, " ")
}

// writes are those of controllers: what they do to objects of users, without the tokens that a manager asks for.
func writes(t *testing.T, c *cluster.Cluster, since time.Time) (all []cluster.Event) {
	for _, e := range c.Audit(t, cluster.Filter{Verbs: cluster.Writes, Since: since}) {
		controller := strings.HasPrefix(e.User, "system:serviceaccount:kube-system:") || e.User == "system:kube-controller-manager"
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
	for _, e := range writes(t, c, since) {
		if !slices.Contains(again, what(e)) {
			t.Errorf("the takeover wrote: %v", e)
		}
	}
}

// settle waits until no controller has written for a while, sweeps aside.
func settle(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	windlass.Settle(t, quiet, func(since time.Time) []cluster.Event { return slices.DeleteFunc(writes(t, c, since), sweep) })
}

func converge(t *testing.T, web workload.Web, n int32, image string) {
	t.Helper()
	eventually(t, image, func() (bool, string) {
		done, seen, err := web.Converged(t.Context(), n, image)
		if err != nil {
			return false, err.Error()
		}
		return done, seen
	})
}

func eventually(t *testing.T, what string, condition func() (bool, string)) {
	t.Helper()
	windlass.Eventually(t, 2*time.Minute, what, condition)
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
