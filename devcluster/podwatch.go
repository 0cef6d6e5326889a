package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// remindingPods reminds KWOK of pods. It looks at a pod when it changes, and then passes over it for good if it doesn't
// hold the node's lease yet (with a thousand nodes that takes seconds), or if its write fails; and a watch that it
// reads too slowly is cut off by the server. So its watch of pods takes what comes at once, and tells it again of pods
// that wait for it.
type remindingPods struct{ corev1client.PodInterface }

func (c remindingPods) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := c.PodInterface.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	return newPodWatch(w), nil
}

// Delete lets a pod go that was told to end. KWOK names a pod by its name alone, and may do so once more when the pod
// has gone and another has its name: that one stays.
func (c remindingPods) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	p, err := c.PodInterface.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if p.DeletionTimestamp == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	o.Preconditions = &metav1.Preconditions{UID: &p.UID}
	return c.PodInterface.Delete(ctx, name, o)
}

// How long after KWOK was told of a pod it is told again: more patiently each time, for it may have good reason.
const (
	remindFirst = 3 * time.Second
	remindMost  = time.Minute
)

// podWatch is a watch of pods without a bound on what may wait to be read, which repeats what has come to nothing.
type podWatch struct {
	inner  watch.Interface
	result chan watch.Event
	stop   func()

	waiting []watch.Event
	open    map[types.UID]*openPod // told to the reader, who has something to do about them
}

// openPod is a pod that waits for its kubelet.
type openPod struct {
	event watch.Event
	next  time.Time
	after time.Duration
}

func newPodWatch(inner watch.Interface) *podWatch {
	stopped := make(chan struct{})
	w := &podWatch{inner: inner, result: make(chan watch.Event), stop: sync.OnceFunc(func() {
		close(stopped)
	}), open: map[types.UID]*openPod{}}
	go w.run(stopped)
	return w
}

func (w *podWatch) ResultChan() <-chan watch.Event { return w.result }
func (w *podWatch) Stop()                          { w.stop() }

func (w *podWatch) run(stopped <-chan struct{}) {
	defer close(w.result)
	defer w.inner.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	in := w.inner.ResultChan()
	for {
		var out chan<- watch.Event
		var first watch.Event
		if len(w.waiting) > 0 {
			out, first = w.result, w.waiting[0]
		} else if in == nil {
			return
		}
		select {
		case <-stopped:
			return
		case e, ok := <-in:
			if !ok {
				in = nil // what has come is still told
				continue
			}
			w.waiting = append(w.waiting, e)
		case out <- first:
			w.waiting = w.waiting[1:]
			w.noteEvent(first)
		case <-tick.C:
			w.remindReader()
		}
	}
}

// noteEvent notes what the reader knows now.
func (w *podWatch) noteEvent(e watch.Event) {
	p, ok := e.Object.(*corev1.Pod)
	if !ok {
		return // a bookmark, or an error
	}
	if e.Type == watch.Deleted || !waitsForKubelet(p) {
		delete(w.open, p.UID)
		return
	}
	o := w.open[p.UID]
	if o == nil || o.event.Object != e.Object { // it has changed
		o = &openPod{event: watch.Event{Type: watch.Modified, Object: p}, after: remindFirst}
		w.open[p.UID] = o
	}
	o.next = time.Now().Add(o.after)
	o.after = min(2*o.after, remindMost)
}

// remindReader repeats what the reader was told of pods that have waited long. While it has more to read it has not
// forgotten anything.
func (w *podWatch) remindReader() {
	if len(w.waiting) > 0 {
		return
	}
	now := time.Now()
	for _, o := range w.open {
		if now.After(o.next) {
			w.waiting = append(w.waiting, o.event)
		}
	}
}

// waitsForKubelet reports whether one of the stages is about the pod. One that was deleted with no grace has been let
// go already: finalizers keep it.
func waitsForKubelet(p *corev1.Pod) bool {
	switch {
	case p.Spec.NodeName == "":
		return false
	case p.DeletionTimestamp != nil:
		return p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds > 0
	case p.Status.Phase == corev1.PodPending:
		return true
	case p.Status.Phase == corev1.PodRunning:
		for _, o := range p.OwnerReferences {
			if o.Kind == "Job" {
				return true
			}
		}
	}
	return false
}
