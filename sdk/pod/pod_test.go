package pod

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi/wire"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

func TestPredicates(t *testing.T) {
	deleted := now
	for _, x := range []struct {
		phase                         corev1.PodPhase
		deleting                      bool
		active, terminating, terminal bool
	}{
		{phase: corev1.PodPending, active: true},
		{phase: corev1.PodRunning, active: true},
		{phase: corev1.PodUnknown, active: true},
		{phase: "", active: true},
		{phase: corev1.PodSucceeded, terminal: true},
		{phase: corev1.PodFailed, terminal: true},
		{phase: corev1.PodRunning, deleting: true, terminating: true},
		{phase: corev1.PodFailed, deleting: true, terminal: true},
	} {
		p := healthyPod("a")
		p.Status.Phase = x.phase
		if x.deleting {
			p.DeletionTimestamp = &deleted
		}
		if Active(p) != x.active || Terminating(p) != x.terminating || Terminal(p) != x.terminal {
			t.Errorf("%q, deleting %t: active %t, terminating %t, terminal %t",
				x.phase, x.deleting, Active(p), Terminating(p), Terminal(p))
		}
	}
}

func TestAvailable(t *testing.T) {
	for _, x := range []struct {
		name     string
		pod      *corev1.Pod
		min      int32
		want     bool
		nextWait time.Duration
	}{
		{"not ready", healthyPod("a", notReady), 0, false, 0},
		{"no conditions", &corev1.Pod{}, 0, false, 0},
		{"at once", healthyPod("a", readyFor(0)), 0, true, 0},
		{"not yet", healthyPod("a", readyFor(9*time.Second)), 10, false, time.Second},
		{"just now", healthyPod("a", readyFor(10*time.Second)), 10, true, 0},
		{"long since", healthyPod("a"), 10, true, 0},
		{"since nobody knows when", healthyPod("a", readySinceUnset), 10, false, 0},
		{"at once, since nobody knows when", healthyPod("a", readySinceUnset), 0, true, 0},
	} {
		if got := Available(x.pod, x.min, now); got != x.want {
			t.Errorf("%s: available %t", x.name, got)
		}
		if got := NextAvailabilityCheck([]*corev1.Pod{x.pod}, x.min, now); got != x.nextWait {
			t.Errorf("%s: next check in %v, want %v", x.name, got, x.nextWait)
		}
	}

	pods := []*corev1.Pod{healthyPod("a", readyFor(3*time.Second)), healthyPod("b", readyFor(7*time.Second)),
		healthyPod("c", readyFor(5*time.Second)), healthyPod("d", notReady)}
	if got := NextAvailabilityCheck(pods, 10, now); got != 3*time.Second {
		t.Errorf("the first of several becomes available in %v", got)
	}
}

// What a newer API server has put into a template, and nobody here knows, arrives in the pod.
func TestNewKeepsUnknownFields(t *testing.T) {
	spec := wire.AppendString(nil, 9999, "new in the pod")
	container := wire.AppendString(wire.AppendString(nil, 1, "c"), 9998, "new in the container")
	spec = wire.AppendBytes(spec, 2, container)
	template := wire.AppendBytes(nil, 2, spec)
	set := wire.AppendBytes(nil, 2, wire.AppendBytes(nil, 3, template)) // spec.template
	rs := &appsv1.ReplicaSet{}
	if err := resource.Decode(set, rs); err != nil {
		t.Fatal(err)
	}
	sent := &corev1.Pod{}
	if err := resource.Decode(resource.Append(nil, New(rs, &rs.Spec.Template)), sent); err != nil {
		t.Fatal(err)
	}
	if want := string(wire.AppendString(nil, 9999, "new in the pod")); string(sent.Spec.XUnknown) != want {
		t.Errorf("the pod's unknown fields are %q, want %q", sent.Spec.XUnknown, want)
	}
	if want := string(wire.AppendString(nil, 9998, "new in the container")); len(sent.Spec.Containers) != 1 ||
		string(sent.Spec.Containers[0].XUnknown) != want {
		t.Errorf("the container's unknown fields are lost: %v", sent.Spec.Containers)
	}
}

func TestPrefix(t *testing.T) {
	long := string(make([]byte, 252))
	for name, want := range map[string]string{"web": "web-", long: long + "-", long + "x": long + "x"} {
		if got := namePrefix(name); got != want {
			t.Errorf("prefix of %d characters has %d", len(name), len(got))
		}
	}
}
