// Package daemonsets checks what only a cluster shows of the daemonset controller: its part in a life of nodes and roll-outs, and that managers can take turns.
package daemonsets

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

var controllers = []string{"daemonset-controller", "serviceaccount-controller"}

const (
	namespace = "default"
	label     = appsv1.DefaultDaemonSetUniqueLabelKey
)

// world is a cluster with what the tests do to it.
type world struct {
	t      testing.TB
	c      *cluster.Cluster
	client kubernetes.Interface
}

func start(t *testing.T, nodes int) *world {
	c := cluster.Start(t, cluster.Options{Nodes: nodes, Audit: true})
	return &world{t: t, c: c, client: c.Client()}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// account waits until pods may be created.
func (w *world) account() {
	w.t.Helper()
	windlass.Account(w.t, w.client, namespace)
}

func (w *world) create(ds *appsv1.DaemonSet) {
	w.t.Helper()
	_, err := w.client.AppsV1().DaemonSets(namespace).Create(w.t.Context(), ds, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) change(name string, f func(*appsv1.DaemonSet)) {
	w.t.Helper()
	w.must(retry.RetryOnConflict(workload.Conflicts, func() error {
		ds, err := w.client.AppsV1().DaemonSets(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		f(ds)
		_, err = w.client.AppsV1().DaemonSets(namespace).Update(w.t.Context(), ds, metav1.UpdateOptions{})
		return err
	}))
}

func (w *world) changeNode(name string, f func(*corev1.Node)) {
	w.t.Helper()
	w.must(retry.RetryOnConflict(workload.Conflicts, func() error {
		n, err := w.client.CoreV1().Nodes().Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		f(n)
		_, err = w.client.CoreV1().Nodes().Update(w.t.Context(), n, metav1.UpdateOptions{})
		return err
	}))
}

// converge waits until n nodes have an available pod of the template as it is, and nothing else is there.
func (w *world) converge(name string, n int32) *appsv1.DaemonSet {
	w.t.Helper()
	var ds *appsv1.DaemonSet
	windlass.Eventually(w.t, time.Minute, fmt.Sprintf("%s on %d nodes", name, n), func() (bool, string) {
		var err error
		if ds, err = w.client.AppsV1().DaemonSets(namespace).Get(w.t.Context(), name, metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		s := ds.Status
		done := s.ObservedGeneration == ds.Generation && s.DesiredNumberScheduled == n && s.CurrentNumberScheduled == n && s.UpdatedNumberScheduled == n &&
			s.NumberReady == n && s.NumberAvailable == n && s.NumberUnavailable == 0 && s.NumberMisscheduled == 0 && len(w.pods(name)) == int(n)
		return done, fmt.Sprintf("generation %d, %d pods, status %+v", ds.Generation, len(w.pods(name)), s)
	})
	return ds
}

func (w *world) pods(name string) []corev1.Pod {
	w.t.Helper()
	l, err := w.client.CoreV1().Pods(namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	w.must(err)
	return l.Items
}

func (w *world) revisions(name string) map[string]int64 {
	w.t.Helper()
	l, err := w.client.AppsV1().ControllerRevisions(namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	w.must(err)
	all := map[string]int64{}
	for _, r := range l.Items {
		all[r.Labels[label]] = r.Revision
	}
	return all
}

// current is the revision with the highest number.
func (w *world) current(name string) (current appsv1.ControllerRevision) {
	w.t.Helper()
	l, err := w.client.AppsV1().ControllerRevisions(namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	w.must(err)
	for _, r := range l.Items {
		if r.Revision >= current.Revision {
			current = r
		}
	}
	return current
}

func set(name string) *appsv1.DaemonSet {
	l := map[string]string{"app": name}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: l},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: l},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent:1"}}},
			},
		},
	}
}

// rich is a DaemonSet with what JSON may get wrong: numbers that no float holds, characters that HTML escapes, empty and defaulted things.
func rich(name string, port int32) *appsv1.DaemonSet {
	ds := set(name)
	ds.Annotations = map[string]string{"note": "<a & b>"}
	seconds, big := int64(9223372036854775807), int64(9007199254740993)
	mode, yes := int32(0o644), true
	ds.Spec.Template.Annotations = map[string]string{"note": "<a & b> \u2028 ü \\ \"", "empty": ""}
	ds.Spec.Template.Spec = corev1.PodSpec{
		HostNetwork:                   true,
		TerminationGracePeriodSeconds: &big,
		Tolerations: []corev1.Toleration{
			{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &big},
		},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}}}}}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 5, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}}}}},
		}},
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(bool)},
		InitContainers:  []corev1.Container{{Name: "init", Image: "init:1", Command: []string{"sh", "-c", "a && b > c"}}},
		Containers: []corev1.Container{{
			Name: "agent", Image: "agent:1", Args: []string{"", "--x=<&>"},
			Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: port, HostPort: port}},
			Env: []corev1.EnvVar{{Name: "EMPTY"}, {Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
				{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu", Divisor: resource.MustParse("1m")}}}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("0.5"), "memory": resource.MustParse("1536Mi")},
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("2e9")}},
			LivenessProbe:   &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/a?b&c", Port: intstr.FromString("metrics")}}},
			ReadinessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}, PeriodSeconds: 3},
			SecurityContext: &corev1.SecurityContext{Privileged: &yes},
			VolumeMounts:    []corev1.VolumeMount{{Name: "host", MountPath: "/host"}, {Name: "config", MountPath: "/config"}},
		}},
		Volumes: []corev1.Volume{
			{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: &mode, LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
	}
	return ds
}

func image(i string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.Containers[0].Image = i }
}

// TestLife is a DaemonSet's, as the upstream service account with the bootstrap role alone.
func TestLife(t *testing.T) {
	w := start(t, 4)
	windlass.Start(t, w.c, windlass.Options{Controllers: controllers})
	w.account()
	ctx := t.Context()
	nodes := w.client.CoreV1().Nodes()

	w.create(set("agent"))
	w.converge("agent", 4)
	for _, p := range w.pods("agent") {
		if p.Spec.NodeName == "" || p.Labels["pod-template-generation"] != "1" {
			t.Errorf("pod %s on %q with labels %v", p.Name, p.Spec.NodeName, p.Labels)
		}
	}

	t.Log("a node comes")
	_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late", Labels: map[string]string{corev1.LabelOSStable: "linux"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}}}, metav1.CreateOptions{})
	w.must(err)
	w.changeNode("late", func(n *corev1.Node) { n.Spec.Taints = nil }) // admission's: not ready
	w.converge("agent", 5)

	t.Log("taints")
	w.changeNode("late", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
	})
	w.converge("agent", 4)
	w.changeNode("late", func(n *corev1.Node) { n.Spec.Taints = nil })
	w.converge("agent", 5)
	w.changeNode("late", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "full", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.change("agent", func(ds *appsv1.DaemonSet) { metav1.SetMetaDataAnnotation(&ds.ObjectMeta, "look", "again") }) // as upstream, nobody wakes it for that
	windlass.Eventually(t, time.Minute, "a misscheduled pod", func() (bool, string) {
		ds, err := w.client.AppsV1().DaemonSets(namespace).Get(ctx, "agent", metav1.GetOptions{})
		w.must(err)
		return ds.Status.NumberMisscheduled == 1 && ds.Status.DesiredNumberScheduled == 4, fmt.Sprintf("%+v", ds.Status)
	})
	w.changeNode("late", func(n *corev1.Node) { n.Spec.Taints = nil })
	w.converge("agent", 5)

	t.Log("labels")
	w.change("agent", func(ds *appsv1.DaemonSet) {
		ds.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelTopologyRegion: "region-1"}
	})
	w.converge("agent", 4)
	w.changeNode("late", func(n *corev1.Node) { n.Labels[corev1.LabelTopologyRegion] = "region-1" })
	w.converge("agent", 5)

	t.Log("a pod fails")
	victim := w.pods("agent")[0]
	_, err = w.client.CoreV1().Pods(namespace).Patch(ctx, victim.Name, types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`), metav1.PatchOptions{}, "status")
	w.must(err)
	windlass.Eventually(t, time.Minute, "another pod in its place", func() (bool, string) {
		for _, p := range w.pods("agent") {
			if p.Name == victim.Name {
				return false, "it is still there"
			}
		}
		return true, ""
	})
	w.converge("agent", 5)
	w.event("FailedDaemonPod")

	t.Log("a node goes")
	w.must(nodes.Delete(ctx, "late", metav1.DeleteOptions{}))
	for _, p := range w.pods("agent") {
		if p.Spec.NodeName == "late" { // no pod garbage collector runs here
			w.must(w.client.CoreV1().Pods(namespace).Delete(ctx, p.Name, *metav1.NewDeleteOptions(0)))
		}
	}
	w.converge("agent", 4)

	t.Log("roll-outs")
	before := w.revisions("agent")
	w.change("agent", image("agent:2"))
	w.converge("agent", 4)
	after := w.revisions("agent")
	if len(after) != len(before)+1 {
		t.Errorf("revisions %v, before the roll-out %v", after, before)
	}
	w.change("agent", image("agent:1"))
	w.converge("agent", 4)
	if back := w.revisions("agent"); len(back) != len(after) {
		t.Errorf("a roll-back made a new revision: %v, before %v", back, after)
	}
	windlass.ExpectRoles(t, w.c)
}

// event waits for an event with this reason.
func (w *world) event(reason string) {
	w.t.Helper()
	windlass.Eventually(w.t, time.Minute, "an event "+reason, func() (bool, string) {
		l, err := w.client.CoreV1().Events(namespace).List(w.t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
		w.must(err)
		return len(l.Items) > 0 && l.Items[0].Source.Component == "daemonset-controller", fmt.Sprint(len(l.Items))
	})
}

// During a surge each node always has an available pod, and no more than the surge have two; in place no more nodes than allowed go without.
func TestRollOutsKeepTheirBounds(t *testing.T) {
	w := start(t, 6)
	windlass.Start(t, w.c, windlass.Options{Controllers: controllers})
	w.account()
	two, none := intstr.FromInt32(2), intstr.FromInt32(0)

	for _, x := range []struct {
		name      string
		strategy  appsv1.RollingUpdateDaemonSet
		fewest    int // nodes with a ready pod
		mostTwice int // nodes with two
	}{
		{"surging", appsv1.RollingUpdateDaemonSet{MaxSurge: &two, MaxUnavailable: &none}, 6, 2},
		{"replacing", appsv1.RollingUpdateDaemonSet{MaxSurge: &none, MaxUnavailable: &two}, 4, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := &world{t: t, c: w.c, client: w.client}
			ds := set(x.name)
			ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &x.strategy}
			ds.Spec.MinReadySeconds = 1
			w.create(ds)
			w.converge(x.name, 6)
			list, err := w.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + x.name})
			w.must(err)
			watch, err := w.client.CoreV1().Pods(namespace).Watch(t.Context(), metav1.ListOptions{LabelSelector: "app=" + x.name, ResourceVersion: list.ResourceVersion})
			w.must(err)
			defer watch.Stop()
			pods := map[string]corev1.Pod{}
			for _, p := range list.Items {
				pods[p.Name] = p
			}
			w.change(x.name, image("agent:2"))
			fewest, mostTwice, events, fresh := 6, 0, 0, 0
			timeout := time.After(3 * time.Minute)
			for fresh < 6 || len(pods) > 6 {
				select {
				case e := <-watch.ResultChan():
					p, ok := e.Object.(*corev1.Pod)
					if !ok {
						t.Fatalf("watch: %v", e)
					}
					events++
					if pods[p.Name] = *p; e.Type == "DELETED" {
						delete(pods, p.Name)
					}
				case <-timeout:
					t.Fatalf("not done within three minutes: %d new pods of %d", fresh, len(pods))
				}
				ready, all := map[string]bool{}, map[string]int{}
				fresh = 0
				for _, p := range pods {
					if p.DeletionTimestamp != nil {
						continue
					}
					node := p.Spec.NodeName
					if node == "" {
						node = p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
					}
					all[node]++
					for _, c := range p.Status.Conditions {
						if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
							ready[node] = true
							if p.Spec.Containers[0].Image == "agent:2" {
								fresh++
							}
						}
					}
				}
				twice := 0
				for _, n := range all {
					if n > 1 {
						twice++
					}
				}
				fewest, mostTwice = min(fewest, len(ready)), max(mostTwice, twice)
			}
			t.Logf("%d events; at least %d nodes with a ready pod, at most %d with two", events, fewest, mostTwice)
			if fewest < x.fewest || mostTwice > x.mostTwice {
				t.Errorf("at least %d nodes had a ready pod, at most %d two; want %d and %d", fewest, mostTwice, x.fewest, x.mostTwice)
			}
			w.converge(x.name, 6)
		})
	}
}

// A converged cluster passes from the native manager to Windlass, and back, without a write: the revisions are the same, byte for byte.
func TestTakeover(t *testing.T) {
	w := start(t, 3)
	stop := w.c.Native(w.t, controllers)
	w.account()
	w.create(rich("native", 9100))
	w.converge("native", 3)
	w.change("native", image("agent:2"))
	w.converge("native", 3)
	windlass.Settle(w.t, quiet, w.writes)
	stop()

	t.Log("from native to Windlass")
	since := time.Now()
	m := windlass.Start(t, w.c, windlass.Options{Controllers: controllers})
	windlass.Eventually(t, time.Minute, "a sync of the DaemonSet", func() (bool, string) {
		return m.Count(t, "windlass_syncs_total", "controller", "daemonset-controller", "result", "ok") > 0, "none"
	})
	windlass.Settle(w.t, quiet, w.writes)
	w.expectNoWrites(since)

	t.Log("a lost revision of the native manager's")
	before := w.current("native")
	w.must(w.client.AppsV1().ControllerRevisions(namespace).Delete(t.Context(), before.Name, metav1.DeleteOptions{}))
	windlass.Eventually(t, time.Minute, "the revision is there again", func() (bool, string) {
		r := w.current("native")
		return r.UID != before.UID && r.Revision == before.Revision, r.Name
	})
	if r := w.current("native"); r.Name != before.Name || r.Labels[label] != before.Labels[label] || !bytes.Equal(r.Data.Raw, before.Data.Raw) {
		t.Errorf("it is another: %s %v %s, was %s %v %s", r.Name, r.Labels, r.Data.Raw, before.Name, before.Labels, before.Data.Raw)
	}
	windlass.Settle(w.t, quiet, w.writes)
	for _, e := range w.writes(since) {
		if e.Resource != "controllerrevisions" {
			t.Errorf("it came back with %v", e)
		}
	}

	w.create(rich("ours", 9200))
	w.converge("ours", 3)
	for _, name := range []string{"ours", "native"} {
		w.change(name, image("agent:3"))
		w.converge(name, 3)
	}
	w.change("native", image("agent:1"))
	w.converge("native", 3)
	if r := w.revisions("native"); len(r) != 3 {
		t.Errorf("the native manager's first revision was not found again: %v", r)
	}
	windlass.Settle(w.t, quiet, w.writes)
	m.Stop(t)
	windlass.ExpectRoles(t, w.c)

	t.Log("from Windlass to native")
	since = time.Now()
	stop = w.c.Native(w.t, controllers)
	windlass.Eventually(t, time.Minute, "the native manager reads", func() (bool, string) {
		return len(w.c.Audit(t, cluster.Filter{Verbs: []string{"list", "get", "create"}, Users: []string{"system:kube-controller-manager"}, Since: since})) > 0, "nothing"
	})
	windlass.Settle(w.t, quiet, w.writes)
	w.expectNoWrites(since)
	w.change("ours", image("agent:1")) // it does work, and finds our first revision
	w.converge("ours", 3)
	if r := w.revisions("ours"); len(r) != 2 {
		t.Errorf("our first revision was not found again: %v", r)
	}
	stop()
}

// quiet is how long nothing must be written for a cluster to count as settled.
const quiet = 3 * time.Second

// user is the daemonset controller, whoever runs it.
const user = "system:serviceaccount:kube-system:daemon-set-controller"

func (w *world) writes(since time.Time) (all []cluster.Event) {
	for _, e := range w.c.Audit(w.t, cluster.Filter{Verbs: cluster.Writes, Users: []string{user}, Since: since}) {
		if !strings.Contains(e.Resource, "reviews") {
			all = append(all, e)
		}
	}
	return all
}

func (w *world) expectNoWrites(since time.Time) {
	w.t.Helper()
	for _, e := range w.writes(since) {
		w.t.Errorf("the takeover wrote: %v", e)
	}
}
