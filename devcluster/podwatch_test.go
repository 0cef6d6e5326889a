package main

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func boundPod(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-it"}, Spec: corev1.PodSpec{NodeName: "node-0"},
		Status: corev1.PodStatus{Phase: corev1.PodPending}}
	if change != nil {
		change(p)
	}
	return p
}

// A pod of which nothing has come is told of again, less and less often; once its kubelet has done its part it isn't.
func TestPodWatchReminds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := watch.NewFake()
		w := newPodWatch(inner)
		defer w.Stop()
		began := time.Now()
		inner.Add(boundPod("web", nil))

		var at []time.Duration
		for range 4 {
			e := <-w.ResultChan()
			if p := e.Object.(*corev1.Pod); p.Name != "web" {
				t.Fatalf("told of %s", p.Name)
			}
			at = append(at, time.Since(began).Truncate(time.Second))
		}

		if at[0] != 0 || at[1] < 3*time.Second || at[1] > 5*time.Second || at[3]-at[2] <= at[2]-at[1] {
			t.Errorf("told at %v", at)
		}
		inner.Modify(boundPod("web", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }))
		if e := <-w.ResultChan(); e.Object.(*corev1.Pod).Status.Phase != corev1.PodRunning {
			t.Errorf("told of %+v", e.Object)
		}

		select {
		case e := <-w.ResultChan():
			t.Errorf("told again of a pod that runs: %+v", e)
		case <-time.After(10 * time.Minute):
		}
	})
}

// The server's events are taken though nobody reads, stay in order, and are told before the end.
func TestPodWatchTakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := watch.NewFake() // without a buffer
		w := newPodWatch(inner)
		defer w.Stop()
		for range 10000 {
			inner.Add(boundPod("first", nil))
		}
		inner.Delete(boundPod("last", nil))
		inner.Stop()
		n, last := 0, watch.Event{}
		for e := range w.ResultChan() {
			n, last = n+1, e
		}
		if n != 10001 || last.Type != watch.Deleted {
			t.Errorf("%d events, the last %+v", n, last)
		}
	})
}

func TestWaitsForKubelet(t *testing.T) {
	now, grace, none := metav1.Now(), int64(30), int64(0)
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"pending":   {nil, true},
		"not bound": {func(p *corev1.Pod) { p.Spec.NodeName = "" }, false},
		"running":   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, false},
		"running of a job": {func(p *corev1.Pod) {
			p.Status.Phase, p.OwnerReferences = corev1.PodRunning, []metav1.OwnerReference{{Kind: "Job"}}
		}, true},
		"deleted": {func(p *corev1.Pod) {
			p.Status.Phase, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = corev1.PodRunning, &now, &grace
		}, true},
		"let go": {func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &none }, false},
		"done":   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false},
	} {
		if got := waitsForKubelet(boundPod("x", c.change)); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
