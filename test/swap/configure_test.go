package swap

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/test/cluster"
)

var all = []string{"*"}

// everything and reads are grants' rules.
var (
	everything = config.Rule{APIGroups: all, Resources: all, Verbs: all}
	reads      = config.Rule{APIGroups: all, Resources: all, Verbs: []string{"get", "list", "watch"}}
)

// createSet makes a set of pods, with no deployment above it.
func (w *world) createSet(name string, replicas int32, labels map[string]string) {
	w.t.Helper()
	w.createSetIn(namespace, name, replicas, labels)
}

func (w *world) createSetIn(namespace, name string, replicas int32, labels map[string]string) {
	w.t.Helper()
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c:1"}}}}}}
	if _, err := w.client.AppsV1().ReplicaSets(namespace).Create(w.t.Context(), set, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) resizeSet(name string, replicas int32) {
	w.t.Helper()
	w.eventually("the set is resized", func() (bool, string) {
		set, err := w.client.AppsV1().ReplicaSets(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		set.Spec.Replicas = &replicas
		_, err = w.client.AppsV1().ReplicaSets(namespace).Update(w.t.Context(), set, metav1.UpdateOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

func (w *world) controller() (state string, workers int) {
	w.t.Helper()
	for _, c := range w.m.Status(w.t).Controllers {
		if c.Name == "replicaset-controller" {
			return c.State, c.Workers
		}
	}
	return "", 0
}

// replace puts another version in and waits until it runs.
func (w *world) replace(n int) {
	w.t.Helper()
	before := w.pluginStatus("replicaset").Digest
	w.placeModule("replicaset", variant(w.t, "replicaset", n))
	w.m.Reload()
	w.eventually("the new version runs", func() (bool, string) {
		p := w.pluginStatus("replicaset")
		return p.Digest != before, fmt.Sprintf("%+v", p)
	})
}

func (w *world) syncCount(result string) float64 {
	return w.m.Count(w.t, "windlass_syncs_total", "controller", "replicaset-controller", "result", result)
}

// However often a plugin is replaced, it has one burst of requests and one minute's deletes; another bound in the
// configuration holds at once, without a swap.
func TestLimitsOutliveVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "replicaset", "serviceaccount")
	const qps, burst, sets, swaps, many = 1, 5, 60, 4, 10
	api, deletes, workers := config.API{QPS: qps, Burst: burst}, int32(3), int32(0)
	w.configure = func(_ *config.Configuration, p *config.Plugin) {
		p.API, p.Workers = api, workers
		p.Budget.DeletesPerMinute = deletes
	}

	w.startManager()
	began := time.Now()
	for n := range sets {
		name := fmt.Sprint("one-", n)
		w.createSet(name, 1, map[string]string{"app": name})
	}

	for n := range swaps {
		w.replace(n)
	}
	sent := 0
	for _, e := range w.c.Audit(t, cluster.Filter{Verbs: cluster.Writes,
		Users: []string{"system:serviceaccount:kube-system:replicaset-controller"}}) {
		if e.Resource != "events" {
			sent++
		}
	}

	allowed := burst + 1 + int(time.Since(began).Seconds()*qps)
	if sent < burst || sent > allowed || allowed >= 2*sets {
		t.Errorf("%d requests with %d swaps, the rate allows %d", sent, swaps, allowed)
	}

	api, workers = config.API{QPS: 1000, Burst: 1000}, 7
	w.m.Reload()
	w.createSet("web", many, map[string]string{"app": "web"})
	w.awaitPods("web", many)
	w.resizeSet("web", 0)
	w.awaitPods("web", many-int(deletes))
	for n := range swaps {
		w.replace(swaps + n)
	}

	if n := w.countPods("web"); n != many-int(deletes) {
		t.Errorf("%d pods are left of %d, the budget is %d deletes", n, many, deletes)
	}
	deletes = 0
	w.m.Reload()
	w.awaitPods("web", 0)
	if _, n := w.controller(); n != 7 {
		t.Errorf("%d workers", n)
	}
	if n := w.m.Count(t, "windlass_plugin_swaps_total", "plugin", "replicaset", "result", "reconfigured"); n != 0 {
		t.Errorf("%v swaps for other bounds", n)
	}
}

// The present grant binds whichever version runs: also the one that a failed one's roll-back brings back, and at once.
// What it refuses speaks against no version.
func TestTheGrantBinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "replicaset", "serviceaccount")
	var grant []config.Rule
	w.configure = func(_ *config.Configuration, p *config.Plugin) { p.Grant = grant }
	w.startManager()
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		w.createSet(name, 1, map[string]string{"app": name})
	}
	for _, name := range names {
		w.awaitPods(name, 1)
	}
	good := w.pluginStatus("replicaset").Digest

	t.Log("a version that traps comes together with a narrower grant")
	grant = []config.Rule{reads}
	w.placeModule("replicaset", brokenModule(t))
	w.m.Reload()
	w.eventually("it is rolled back", func() (bool, string) {
		p := w.pluginStatus("replicaset")
		return p.Digest == good && len(p.Failed) == 1, fmt.Sprintf("%+v", p)
	})
	for _, name := range names {
		w.resizeSet(name, 2)
	}
	w.eventually("what it wants is refused", func() (bool, string) {
		n := w.syncCount("refused")
		return n > 40,
			fmt.Sprint(n)
	})
	for _, name := range names {
		if n := w.countPods(name); n != 1 {
			t.Errorf("%s has %d pods: the wider grant came back", name, n)
		}
	}
	if s, _ := w.controller(); s != "Running" {
		t.Errorf("it is %s for what the grant refuses", s)
	}

	t.Log("a version under a grant that refuses what it wants is not rolled back")
	from := w.syncCount("refused")
	w.replace(1)
	next := w.pluginStatus("replicaset")
	w.eventually("what it wants is refused", func() (bool, string) {
		n := w.syncCount("refused")
		return n >= from+4,
			fmt.Sprint(n)
	})
	if p := w.pluginStatus("replicaset"); p.Digest != next.Digest || !p.Trial || p.Before != good {
		t.Errorf("%+v, expected %s on trial", p, next.Digest)
	}

	t.Log("a grant of nothing idles it at once, a wider one wakes it: both leave the version on trial")
	grant = []config.Rule{}
	w.m.Reload()
	w.eventually("it idles", func() (bool, string) { s, _ := w.controller(); return s == "Idle", s })
	grant = nil
	w.m.Reload()
	for _, name := range names {
		w.awaitPods(name, 2)
	}
	if p := w.pluginStatus("replicaset"); p.Digest != next.Digest || len(p.Failed) > 0 {
		t.Errorf("%+v, expected %s", p, next.Digest)
	}
}

// How syncs are recorded changes without a restart.
func TestRecordingsAreReconfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "replicaset", "serviceaccount")
	folder := filepath.Join(t.TempDir(), "saved")
	size, saved, grant := "0", "", []config.Rule(nil)
	w.configure = func(k *config.Configuration, p *config.Plugin) {
		k.Recordings.Bytes, k.Recordings.Folder = resource.MustParse(size), saved
		p.Grant = grant
	}

	w.startManager()
	recorded := func() int {
		t.Helper()
		b := w.m.Get(t, "/debug/recordings/replicaset-controller")
		f, err := record.Parse(b)
		if err != nil {
			t.Fatalf("%v: %.200s", err, b)
		}
		return len(f.Syncs)
	}

	w.createSet("web", 2, map[string]string{"app": "web"})
	w.awaitPods("web", 2)
	if n := recorded(); n != 0 {
		t.Errorf("%d syncs are recorded, though none should be", n)
	}

	size, saved = "1Mi", folder
	w.m.Reload()
	w.eventually("the configuration is applied", func() (bool, string) {
		w.resizeSet("web", 3+int32(time.Now().UnixNano()%2))
		n := recorded()
		return n > 0, fmt.Sprint(n)
	})

	files := func() int {
		l, err := filepath.Glob(filepath.Join(folder, "*"+record.Extension))
		if err != nil {
			t.Fatal(err)
		}
		return len(l)
	}

	grant = []config.Rule{reads}
	w.m.Reload()
	w.eventually("a failed sync is saved", func() (bool, string) {
		w.resizeSet("web", 8+int32(time.Now().UnixNano()%2))
		n := files()
		return n > 0, fmt.Sprint(n)
	})
	size = "0"
	w.m.Reload()
	w.eventually("nothing is recorded any more", func() (bool, string) { n := recorded(); return n == 0, fmt.Sprint(n) })
}

// A shadow sees what the plugin may see, and nothing else: a pod without the granted label is no orphan that it would
// adopt.
func TestShadowSeesNoMoreThanTheGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "replicaset", "serviceaccount")
	w.shadow = "builtin:replicaset"
	w.configure = func(_ *config.Configuration, p *config.Plugin) {
		sets, pods := everything, everything
		sets.Resources = []string{"replicasets", "replicasets/status", "events"}
		pods.Resources, pods.Selector = []string{"pods"}, metav1.LabelSelector{MatchLabels: map[string]string{"seen": "yes"}}
		p.Grant = []config.Rule{sets, pods}
	}

	w.startManager()
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c:1"}}}}
	if _, err := w.client.CoreV1().Pods(namespace).Create(t.Context(), orphan, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	w.createSet("web", 2, map[string]string{"app": "web", "seen": "yes"})
	w.awaitPods("web", 3)
	w.resizeSet("web", 4)
	w.awaitPods("web", 5)
	w.eventually("the shadow has synced", func() (bool, string) {
		n := w.m.Count(t, "windlass_shadow_syncs_total", "controller", "replicaset-controller")
		return n >= 3, fmt.Sprint(n)
	})
	if d := w.differences(); len(d) > 0 {
		t.Errorf("the shadow, which is the same code, answers otherwise: %+v", d)
	}

	o, err := w.client.CoreV1().Pods(namespace).Get(t.Context(), "orphan", metav1.GetOptions{})
	if err != nil || len(o.OwnerReferences) > 0 {
		t.Errorf("the orphan was adopted: %v %v", o.OwnerReferences, err)
	}
}
