package daemonset

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// planUpdate finds the next pods to replace by such of the template as it is now: in place, or with a surge.
func (d *daemon) planUpdate() (create []*place, remove []*corev1.Pod, err error) {
	desired := int32(0)
	for i := range d.places {
		if d.places[i].run {
			desired++
		}
	}
	surge, unavailable, err := d.updateBounds(desired)
	if err != nil {
		return nil, nil, sdk.Errors("couldn't get unavailable numbers: ", err.Error())
	}
	if surge > 0 {
		create, remove = d.planSurge(int(surge), int(desired))
		return create, remove, nil
	}
	if desired > 0 {
		unavailable = max(1, unavailable) // else nothing would ever happen
	}
	return nil, d.replace(int(unavailable)), nil
}

// replace returns old pods to delete: all that aren't available, for they aren't missed, and others while no more than
// limit nodes go without.
func (d *daemon) replace(limit int) (remove []*corev1.Pod) {
	unavailable := 0
	var candidates []*corev1.Pod
	for i := range d.places {
		at := &d.places[i]
		if len(at.pods) == 0 && !at.run {
			continue
		}
		switch fresh, old, ok := d.generations(at); {
		case !ok, (fresh == nil) == (old == nil): // planPods creates or deletes one here
			unavailable++
		case fresh != nil:
			if !d.available(fresh) {
				unavailable++
			}
		case !d.available(old):
			unavailable++
			remove = append(remove, old)
		default:
			candidates = append(candidates, old)
		}
	}
	return append(remove, candidates[:min(max(0, limit-unavailable), len(candidates))]...)
}

// planSurge returns places for new pods beside old ones: wherever the old one isn't available, and others while no more
// than limit have two. An old pod goes when the new one is available; where it shouldn't be any more, when there are
// enough pods without it.
func (d *daemon) planSurge(limit, desired int) (create []*place, remove []*corev1.Pod) {
	surged, available := 0, 0
	var candidates []*place
	var misplaced []*corev1.Pod
	for i := range d.places {
		at := &d.places[i]
		fresh, old, ok := d.generations(at)
		if !ok {
			surged++ // planPods deletes some here
			continue
		}
		if old != nil && d.available(old) || old == nil && fresh != nil && d.available(fresh) {
			available++
		}
		switch {
		case old == nil: // nothing is to be done, or planPods does it
		case fresh != nil && d.available(fresh):
			remove = append(remove, old)
		case fresh != nil:
			surged++
		case !at.run && d.available(old):
			misplaced = append(misplaced, old)
		case !at.run:
			remove = append(remove, old)
		case d.available(old):
			candidates = append(candidates, at)
		default:
			create = append(create, at)
		}
	}

	remove = append(remove, misplaced[:min(max(0, available-desired), len(misplaced))]...)
	return append(create, candidates[:min(max(0, limit-surged), len(candidates))]...), remove
}

// generations are the new pod at a place and the old one; not ok if there are more than one of either.
func (d *daemon) generations(at *place) (fresh, old *corev1.Pod, ok bool) {
	for _, p := range at.pods {
		slot := &old
		switch {
		case p.Deleting():
			continue
		case d.updated(p):
			slot = &fresh
		}
		if *slot != nil {
			return nil, nil, false
		}
		*slot = p
	}
	return fresh, old, true
}
