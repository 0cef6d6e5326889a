package daemonset

import (
	"slices"

	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/intstr"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// planPods finds the places that lack a pod, and the pods that are too many where they are.
func (d *daemon) planPods() (create []*place, remove []*corev1.Pod) {
	surging := d.allowsSurge()
	for i := range d.places {
		at := &d.places[i]
		switch {
		case at.gone:
			// Pods that no scheduler can bind any more; the pod garbage collector doesn't see them.
			remove = appendPods(remove, at.pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })
		case at.run && len(at.pods) == 0:
			create = append(create, at)
		case !at.stay:
			remove = appendPods(remove, at.pods, nil)
		default:
			running, ended := d.running(at)
			remove = append(remove, ended...)

			switch {
			case len(running) == 0 && surging && at.run:
				create = append(create, at) // a surge doesn't wait for the end of what ends
			case len(running) > 1:
				slices.SortStableFunc(running, compareByAge)
				if surging {
					running = d.surplus(running)
				} else {
					running = running[1:]
				}
				remove = append(remove, running...)
			}
		}
	}
	return create, remove
}

// running separates the pods at a place that run, or are going to, from those that have ended and are to be replaced.
// Where they fail again and again this takes its time.
func (d *daemon) running(at *place) (running, ended []*corev1.Pod) {
	for _, p := range at.pods {
		switch {
		case p.Deleting():
		case p.Status.Phase == corev1.PodFailed:
			if wait := d.backoff.nextDelay(at.name, d.c.Now()); wait > 0 {
				if d.ds.Status.ObservedGeneration < d.ds.Generation {
					wait = 0 // once the status says that this generation is seen, it begins anew
				}
				d.c.After(wait)
				continue
			}
			d.c.Event(d.ds, corev1.EventTypeWarning, "FailedDaemonPod",
				"Found failed daemon pod "+p.Namespace+"/"+p.Name+" on node "+at.name+", will try to kill it")
			ended = append(ended, p)
		case p.Status.Phase == corev1.PodSucceeded:
			d.c.Event(d.ds, corev1.EventTypeNormal, "SucceededDaemonPod",
				"Found succeeded daemon pod "+p.Namespace+"/"+p.Name+" on node "+at.name+", will try to delete it")
			ended = append(ended, p)
		default:
			running = append(running, p)
		}
	}
	return running, ended
}

// surplus are the pods at one place, the oldest first, that a surge doesn't need: it needs the first old one until the
// first new one can do without it.
func (d *daemon) surplus(running []*corev1.Pod) (remove []*corev1.Pod) {
	var fresh, old *corev1.Pod
	for _, p := range running {
		is := p.Labels.Get(hashLabel) == d.hash
		if d.hash == "" { // the revision has lost its label: old pods may lack it as well
			is = d.updated(p)
		}
		switch {
		case is && fresh == nil:
			fresh = p
		case !is && old == nil:
			old = p
		default:
			remove = append(remove, p)
		}
	}
	if fresh != nil && old != nil && (!pod.Ready(old) || d.available(fresh)) {
		remove = append(remove, old)
	}
	return remove
}

// appendPods appends the pods that aren't being deleted and that which accepts, if it is given.
func appendPods(to, pods []*corev1.Pod, which func(*corev1.Pod) bool) []*corev1.Pod {
	for _, p := range pods {
		if !p.Deleting() && (which == nil || which(p)) {
			to = append(to, p)
		}
	}
	return to
}

// allowsSurge reports whether there may be two pods on a node.
func (d *daemon) allowsSurge() bool {
	n, _, err := d.updateBounds(1)
	return err == nil && n > 0
}

// updateBounds returns how many nodes may have a pod too many, and how many none that is available, while the pods of n
// nodes are updated.
func (d *daemon) updateBounds(n int32) (surge, unavailable int32, err error) {
	u := d.ds.Spec.UpdateStrategy.RollingUpdate
	if u == nil || d.ds.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return 0, 0, nil
	}
	if surge, err = intstr.Scaled(u.MaxSurge, n, true); err == nil {
		unavailable, err = intstr.Scaled(u.MaxUnavailable, n, true)
	}
	return surge, unavailable, err
}
