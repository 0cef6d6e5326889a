package podgc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

var controllers = []string{"pod-garbage-collector-controller"}

const patience = 2 * time.Second

func start(t *testing.T, c *cluster.Cluster, threshold string) *windlass.Manager {
	t.Helper()
	return windlass.Start(t, c, windlass.Options{Controllers: controllers, Configure: func(k *config.Configuration) {
		k.Plugins = append(k.Plugins, config.Plugin{Name: "podgc", Settings: map[string]string{"terminated-pod-gc-threshold": threshold, "node-quarantine": patience.String()}})
	}})
}

func native(t *testing.T, c *cluster.Cluster, threshold string) (stop func()) {
	t.Helper()
	return c.Native(t, controllers, "--terminated-pod-gc-threshold="+threshold)
}

// Of the pods that have ended only so many stay, the same as with the native manager; the timer comes back.
func TestThreshold(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	fill := func(namespace string) *world {
		w := newWorld(t, c, namespace)
		for i := range 6 {
			name := fmt.Sprint("ended-", i)
			w.pod(name, "")
			phase, reason := corev1.PodSucceeded, ""
			if i == 5 {
				phase, reason = corev1.PodFailed, "Evicted"
			}
			w.end(name, phase, reason)
		}
		w.pod("waits", "")
		w.pod("runs", "node-0")
		return w
	}
	left := []string{"ended-2", "ended-3", "ended-4", "waits", "runs"}
	theirs := fill("native")
	stop := native(t, c, "3")
	theirs.names("the native manager has left three", left...)
	stop()
	want := theirs.look()
	theirs.delete(slices.Collect(maps.Keys(want))...)
	theirs.names("nothing")

	ours := fill("windlass")
	m := start(t, c, "3")
	ours.names("Windlass has left three", left...)
	if d := gocmp.Diff(want, ours.look()); d != "" {
		t.Errorf("other pods than with the native manager (-native +windlass):\n%s", d)
	}
	m.AwaitCount(t, 3, "pod_gc_collector_force_delete_pods_total", "reason", "terminated")
	first := deletions(t, c, "windlass", account)

	ours.end("waits", corev1.PodFailed, "")
	ours.names("one more has ended, one more goes", "ended-3", "ended-4", "waits", "runs")
	all := deletions(t, c, "windlass", account)
	if len(first) != 3 || len(all) != 4 {
		t.Fatalf("deleted %v, then %v: expected three, then one more", first, all)
	}
	if d := all[3].Time.Sub(all[0].Time); d < 19*time.Second || d > 35*time.Second {
		t.Errorf("the timer came back after %v, its period is 20 s", d)
	}
	windlass.ExpectRoles(t, c)
	m.Stop(t)
}

// Pods that no kubelet will ever end are marked and deleted as the native manager marks and deletes them.
func TestAgreesWithNative(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	silence(t, c)
	fill := func(namespace string) *world {
		w := newWorld(t, c, namespace)
		w.pod("waits", "")
		w.pod("unscheduled", "", finalizer)
		w.delete("unscheduled")
		w.pod("runs", "node-0")
		w.pod("ending", "node-0", finalizer)
		w.delete("ending")
		w.pod("staying", away)
		w.pod("going", away, finalizer)
		w.delete("going")
		w.node("lost")
		w.pod("orphan", "lost", finalizer)
		w.pod("lost", "lost")
		w.pod("done", "lost", finalizer)
		w.end("done", corev1.PodSucceeded, "")
		w.deleteNode("lost")
		return w
	}
	over := func(w *world) map[string]seen {
		w.eventually("pods are deleted", func(all map[string]seen) bool {
			_, lost := all["lost"]
			return !lost && all["unscheduled"].Phase == corev1.PodFailed && all["going"].Phase == corev1.PodFailed && all["orphan"].Deleting && all["done"].Deleting
		})
		return w.look()
	}
	ours := fill("windlass")
	m := start(t, c, "0")
	got := over(ours)
	for reason, n := range map[string]float64{"unscheduled": 1, "out-of-service": 1, "orphaned": 3} {
		m.AwaitCount(t, n, "pod_gc_collector_force_delete_pods_total", "reason", reason)
	}
	m.Stop(t)
	windlass.ExpectRoles(t, c)
	writes := map[string][]string{}
	for _, e := range c.Audit(t, cluster.Filter{Verbs: cluster.Writes, Users: []string{account}}) {
		writes[e.Name] = append(writes[e.Name], e.Verb+" "+e.Resource)
	}
	twice := []string{"patch pods/status", "delete pods"}
	if d := gocmp.Diff(map[string][]string{"unscheduled": twice, "going": twice, "orphan": twice, "lost": twice, "done": {"delete pods"}}, writes); d != "" {
		t.Errorf("writes (-want +got):\n%s", d)
	}
	ours.release()

	theirs := fill("native")
	stop := native(t, c, "0")
	want := over(theirs)
	stop()
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("the pods are not as after the native manager (-native +windlass):\n%s", d)
	}
}

// A node that goes while Windlass looks on: its pods go, not before it has been missed for a while and not while it may be there.
func TestNodes(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	w := newWorld(t, c, "default-1")
	m := start(t, c, "0")
	for i := range 2 {
		name := fmt.Sprint("n", i)
		w.node(name)
		for k := range 5 {
			w.pod(fmt.Sprint(name, "-", k), name)
		}
	}
	w.pod("runs", "node-0")

	t.Log("one node goes for good, one for a moment")
	w.deleteNode("n0")
	w.node("n0")
	gone := time.Now()
	w.deleteNode("n1")
	w.names("the pods of the node that is gone go", "n0-0", "n0-1", "n0-2", "n0-3", "n0-4", "runs")
	all := deletions(t, c, w.namespace, account)
	if len(all) != 5 {
		t.Errorf("deleted %v, expected the node's five pods", all)
	}
	for _, e := range all {
		if d := e.Time.Sub(gone); !strings.HasPrefix(e.Name, "n1-") || d < patience {
			t.Errorf("%v, %v after the node went; nodes are to be missed for %v", e, d, patience)
		}
	}
	asked := c.Audit(t, cluster.Filter{Verbs: []string{"get"}, Resources: []string{"nodes"}, Users: []string{account}})
	if len(asked) != 1 || asked[0].Name != "n1" || asked[0].Code != 404 {
		t.Errorf("asked %v, expected once for n1", asked)
	}

	t.Log("a pod comes to be on a node that never was")
	before := time.Now()
	w.pod("runs-2", "node-0")
	w.create("stray", "never")
	w.names("it goes", "n0-0", "n0-1", "n0-2", "n0-3", "n0-4", "runs", "runs-2")
	if l := deletions(t, c, w.namespace, account); len(l) != 6 || l[5].Name != "stray" || l[5].Time.Sub(before) < patience {
		t.Errorf("deleted %v, expected stray after %v", l, patience)
	}

	t.Log("a node goes while nobody looks")
	m.Stop(t)
	w.deleteNode("n0")
	m = start(t, c, "0")
	w.names("its pods go", "runs", "runs-2")
	m.AwaitCount(t, 5, "pod_gc_collector_force_delete_pods_total", "reason", "orphaned")
	windlass.ExpectRoles(t, c)
	m.Stop(t)
}

// deletions are a user's deletions of pods, oldest first.
func deletions(t *testing.T, c *cluster.Cluster, namespace, user string) []cluster.Event {
	t.Helper()
	return c.Audit(t, cluster.Filter{Verbs: []string{"delete"}, Resources: []string{"pods"}, Namespace: namespace, Users: []string{user}})
}
