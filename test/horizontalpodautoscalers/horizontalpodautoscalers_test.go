package horizontalpodautoscalers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
)

const (
	controller = "horizontal-pod-autoscaler-controller"
	period     = time.Second
)

// settings has autoscalers synced every so often.
func settings(every time.Duration) func(*config.Configuration) {
	return func(k *config.Configuration) {
		k.Plugins = append(k.Plugins, config.Plugin{Name: "horizontalpodautoscaler", Settings: map[string]string{"horizontal-pod-autoscaler-sync-period": every.String()}})
	}
}

// usage is what the metrics say.
func usage(s *metricsapi.Server) {
	for _, app := range []string{"cpu-up", "cpu-steady", "cpu-down", "memory", "container", "above", "below", "rival", "rules-tolerance", "stateful", "old-version", "custom", "no-request"} {
		s.Use(app, "cpu", "90m")
		s.Use(app, "memory", "48Mi")
	}
	s.Use("cpu-up", "cpu", "150m")
	s.Use("cpu-down", "cpu", "20m")
	s.Use("memory", "memory", "100Mi")
	s.Use("rules-tolerance", "cpu", "93m")
	s.Use("stateful", "cpu", "180m")
	s.Use("old-version", "cpu", "180m")
	s.Use("custom", "cpu", "180m")
	s.Use("pods", "hits?verb=GET", "22500m")
	s.Say("services/db/queue", "25")
	s.Say("ingresses.networking.k8s.io/in/queue", "35")
	s.Say("metrics/queue", "20500m")
	s.Say("jobs?queue=a.b,zone in (e,z)", "12 13500m")
	s.Say("jobs?", "25 10")
	s.Say("idle?", "0")
}

// Windlass and the native manager scale the same, and say the same of it, whatever the metrics are and whatever is missing.
func TestAgreesWithNative(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	w := newWorld(t, c)
	usage(metricsapi.Serve(t, w.config))
	agree(t, c, w)
}

// They say the same where nobody serves any metrics.
func TestAgreesWithoutMetrics(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	// Upstream looks for the API first, Windlass for the kind: of what is wrong twice they tell different halves.
	agree(t, c, newWorld(t, c), "object-kind")
}

// agree runs Windlass, then the native manager on the same world, and compares what became of it, but for some autoscalers.
func agree(t *testing.T, c *cluster.Cluster, w world, but ...string) {
	t.Helper()
	w.apply(t, targets)
	ready(t, w)

	since := time.Now()
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{controller}, Configure: settings(period)})
	w.apply(t, autoscalers)
	settle(t, c)
	m.Stop(t)
	ours, told := w.look(t), w.events(t, since)
	if len(ours) < 70 || len(told) < 20 {
		t.Errorf("there is little to compare: %d objects, events of %d autoscalers", len(ours), len(told))
	}
	windlass.ExpectRoles(t, c)

	w.wipe(t, autoscalers)
	w.reset(t)
	must(t, w.client.CoreV1().Events(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	since = time.Now()
	stop := c.Native(t, []string{controller}, "--horizontal-pod-autoscaler-sync-period="+period.String())
	w.apply(t, autoscalers)
	settle(t, c)
	stop()
	theirs, theyTold := w.look(t), w.events(t, since)
	for _, name := range but {
		delete(ours, "HorizontalPodAutoscaler "+name)
		delete(theirs, "HorizontalPodAutoscaler "+name)
		delete(told, name)
		delete(theyTold, name)
	}
	if d := cmp.Diff(theirs, ours); d != "" {
		t.Errorf("Windlass scales otherwise than the native manager (-native +windlass):\n%s", d)
	}
	if d := cmp.Diff(theyTold, told); d != "" {
		t.Errorf("Windlass tells otherwise than the native manager (-native +windlass):\n%s", d)
	}
}

// An autoscaler's life: it follows its spec at once and its metrics by the clock, and ends with all that was known of it.
func TestLife(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	w := newWorld(t, c)
	s := metricsapi.Serve(t, w.config)
	usage(s)
	w.apply(t, targets)
	ready(t, w)
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{controller}, Configure: settings(time.Hour)})
	hpas, deployments := w.client.AutoscalingV2().HorizontalPodAutoscalers(namespace), w.client.AppsV1().Deployments(namespace)
	replicas := func(name string, want int32) {
		t.Helper()
		windlass.Eventually(t, time.Minute, fmt.Sprintf("%s has %d replicas", name, want), func() (bool, string) {
			d, err := deployments.Get(t.Context(), name, metav1.GetOptions{})
			must(t, err)
			return *d.Spec.Replicas == want, fmt.Sprint(*d.Spec.Replicas)
		})
	}
	condition := func(name string, of autoscalingv2.HorizontalPodAutoscalerConditionType, reason string) {
		t.Helper()
		windlass.Eventually(t, time.Minute, name+": "+reason, func() (bool, string) {
			h, err := hpas.Get(t.Context(), name, metav1.GetOptions{})
			must(t, err)
			for _, c := range h.Status.Conditions {
				if c.Type == of && c.Reason == reason {
					return true, ""
				}
			}
			return false, fmt.Sprint(h.Status.Conditions)
		})
	}
	patch := func(name, body string) {
		t.Helper()
		_, err := hpas.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		must(t, err)
	}

	t.Log("its spec is followed at once, and its own status wakes nobody")
	w.apply(t, one(t, "external-average"))
	replicas("external-average", 4)
	asked := s.Requests()
	patch("external-average", `{"spec":{"maxReplicas":3}}`)
	replicas("external-average", 3)
	condition("external-average", autoscalingv2.AbleToScale, "SucceededRescale")
	if n := s.Requests(); n != asked {
		t.Errorf("the metrics were asked for %d times more: a target above its limit needs none", n-asked)
	}
	m.Stop(t)

	t.Log("its metrics are followed by the clock")
	m = windlass.Start(t, c, windlass.Options{Controllers: []string{controller}, Configure: settings(period)})
	patch("external-average", `{"spec":{"maxReplicas":9,"behavior":{"scaleDown":{"stabilizationWindowSeconds":0}}}}`)
	replicas("external-average", 4)
	s.Say("jobs?", "85")
	replicas("external-average", 9)
	s.Say("jobs?", "11")
	replicas("external-average", 2)

	t.Log("metrics that are gone are a reason to stay")
	s.Say("jobs?", "")
	condition("external-average", autoscalingv2.ScalingActive, "FailedGetExternalMetric")
	replicas("external-average", 2)

	t.Log("two for the same pods are one too many")
	w.apply(t, one(t, "rival-a"))
	condition("rival-a", autoscalingv2.ScalingActive, "ValidMetricFound")
	w.apply(t, one(t, "rival-b"))
	condition("rival-a", autoscalingv2.ScalingActive, "AmbiguousSelector")
	condition("rival-b", autoscalingv2.ScalingActive, "AmbiguousSelector")
	must(t, hpas.Delete(t.Context(), "rival-a", metav1.DeleteOptions{}))
	condition("rival-b", autoscalingv2.ScalingActive, "ValidMetricFound")

	t.Log("metrics")
	windlass.Eventually(t, time.Minute, "two autoscalers are counted", func() (bool, string) {
		n := m.Count(t, "horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers")
		return n == 2, fmt.Sprint(n)
	})
	if n := m.Count(t, "horizontal_pod_autoscaler_controller_desired_replicas", "namespace", namespace, "hpa_name", "rival-b"); n != 2 {
		t.Errorf("rival-b should have %v replicas according to desired_replicas", n)
	}
	for _, of := range []string{"metric_computation_total", "reconciliations_total", "reconciliation_duration_seconds"} {
		if n := m.Count(t, "horizontal_pod_autoscaler_controller_"+of, "action", "scale_up", "error", "none"); n == 0 {
			t.Errorf("%s counts nothing", of)
		}
	}
	windlass.ExpectRoles(t, c)
}

// one is the text of one autoscaler.
func one(t *testing.T, name string) string {
	t.Helper()
	for _, text := range strings.Split(autoscalers, "---\n") {
		if strings.Contains(text, "metadata: {name: "+name+"}") {
			return text
		}
	}
	t.Fatalf("there is no autoscaler %s", name)
	return ""
}

// ready waits until all pods are.
func ready(t *testing.T, w world) {
	t.Helper()
	windlass.Eventually(t, time.Minute, "the pods are ready", func() (bool, string) {
		list, err := w.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		for _, p := range list.Items {
			is := false
			for _, c := range p.Status.Conditions {
				is = is || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}
			if !is {
				return false, p.Name + fmt.Sprint(p.Status.Conditions)
			}
		}
		return len(list.Items) > 0, ""
	})
}

// settle waits until nothing has been scaled nor said for some syncs.
func settle(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	windlass.Settle(t, 6*period, func(since time.Time) []cluster.Event {
		writes := c.Audit(t, cluster.Filter{Verbs: []string{"create", "update", "patch"}, Since: since, Resources: []string{"horizontalpodautoscalers", "horizontalpodautoscalers/status",
			"deployments/scale", "statefulsets/scale", "engines/scale"}})
		return slices.DeleteFunc(writes, func(e cluster.Event) bool { return strings.HasPrefix(e.Name, "rival") }) // upstream names the two by turns, and writes that each time
	})
}
