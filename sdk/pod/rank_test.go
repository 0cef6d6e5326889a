package pod

import (
	"slices"
	"testing"
	"time"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

var now = metav1.Unix(1_800_000_000, 0)

func ago(d time.Duration) metav1.Time { return now.Add(-d) }

// healthyPod returns a pod that has nothing against it: running on a node, ready for an hour, a day old.
func healthyPod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{}
	p.Name, p.CreationTimestamp = name, ago(24*time.Hour)
	p.UID = metav1.UID(name)
	p.Spec.NodeName = "n"
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour)}}
	for _, f := range change {
		f(p)
	}
	return p
}

func noNode(p *corev1.Pod)   { p.Spec.NodeName = "" }
func pending(p *corev1.Pod)  { p.Status.Phase = corev1.PodPending }
func unknown(p *corev1.Pod)  { p.Status.Phase = corev1.PodUnknown }
func notReady(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionFalse }
func costs(s string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations.Set(corev1.PodDeletionCost, s) }
}
func node(n string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = n } }
func readyFor(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Conditions[1].LastTransitionTime = ago(d) }
}
func readySinceUnset(p *corev1.Pod) { p.Status.Conditions[1].LastTransitionTime = metav1.Time{} }
func old(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = ago(d) }
}
func restarts(n ...int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, r := range n {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{RestartCount: r})
		}
	}
}
func initRestarts(sidecar bool, n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.Container{Name: "init"}
		if sidecar {
			always := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = []corev1.Container{c}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: n}}
	}
}

func TestRank(t *testing.T) {
	related := []*corev1.Pod{healthyPod("r1", node("full")), healthyPod("r2", node("full")),
		healthyPod("r3", node("half")),
		healthyPod("r4", node("empty"), func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
		})}

	for _, x := range []struct {
		rule   string
		first  []func(*corev1.Pod)
		second []func(*corev1.Pod)
		exact  bool // compared with a zero now
	}{
		{rule: "without a node", first: mods(noNode), second: mods(pending, notReady)},
		{rule: "pending before unknown", first: mods(pending), second: mods(unknown, notReady)},
		{rule: "unknown before running", first: mods(unknown), second: mods(notReady)},
		{rule: "not ready", first: mods(notReady, costs("5")), second: mods(costs("-5"))},
		{rule: "cheaper", first: mods(costs("-5"), node("empty")), second: mods(node("full"))},
		{rule: "cheaper by number, not text", first: mods(costs("9")), second: mods(costs("10"))},
		{rule: "more neighbours", first: mods(node("full")), second: mods(node("half"), readyFor(time.Minute))},
		{rule: "neighbours that have ended don't count", first: mods(node("half")), second: mods(node("empty"))},
		{rule: "ready only lately", first: mods(readyFor(time.Minute)), second: mods(readyFor(time.Hour), restarts(5))},
		{rule: "ready since nobody knows when", first: mods(readySinceUnset), second: mods(readyFor(time.Second))},
		{rule: "ready for about as long: by UID", first: mods(readyFor(60 * time.Minute)),
			second: mods(readyFor(50 * time.Minute))},
		{rule: "ready a little later, exactly", first: mods(readyFor(50 * time.Minute)),
			second: mods(readyFor(60 * time.Minute)), exact: true},
		{rule: "restarted more often, by the worst container", first: mods(restarts(0, 3)), second: mods(restarts(2, 2))},
		{rule: "restarts before sidecars'", first: mods(restarts(1)), second: mods(initRestarts(true, 9))},
		{rule: "sidecars restarted more often", first: mods(initRestarts(true, 1)),
			second: mods(initRestarts(false, 9), old(time.Second))},
		{rule: "younger", first: mods(old(time.Hour)), second: mods(old(24 * time.Hour))},
		{rule: "about as old: by UID", first: mods(old(24 * time.Hour)), second: mods(old(23 * time.Hour))},
		{rule: "a little younger, exactly", first: mods(old(23 * time.Hour)), second: mods(old(24 * time.Hour)), exact: true},
		{rule: "of unknown age", first: mods(func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.Time{}
		}), second: mods(old(time.Second))},
	} {
		t.Run(x.rule, func(t *testing.T) {
			a, b := healthyPod("a", x.first...), healthyPod("b", x.second...)
			at := now
			if x.exact {
				at = metav1.Time{}
			}
			for _, pods := range [][]*corev1.Pod{{a, b}, {b, a}} {
				if Rank(pods, related, at); pods[0] != a {
					t.Errorf("b goes before a")
				}
			}
		})
	}
}

func mods(f ...func(*corev1.Pod)) []func(*corev1.Pod) { return f }

func TestCost(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "7": 7, "-7": -7, "+7": 0, "07": 0, "-07": -7, "7x": 0,
		"2147483647": 2147483647, "2147483648": 0, "-2147483648": -2147483648, "-2147483649": 0, "99999999999999999999": 0,
		"/": 0, ":": 0, "-": 0, " 7": 0} {
		if got := deletionCost(healthyPod("a", costs(text))); got != want {
			t.Errorf("cost of %q is %d, want %d", text, got, want)
		}
	}
}

// Alike pods stay in the order they came in, whatever their number: a sync that is run again chooses the same.
func TestRankIsStable(t *testing.T) {
	var pods []*corev1.Pod
	for range 100 {
		pods = append(pods, healthyPod("same"))
	}
	want := slices.Clone(pods)
	if Rank(pods, nil, now); !slices.Equal(pods, want) {
		t.Error("pods that are alike changed places")
	}
}
