package deployment

import (
	"github.com/windlass-dev/windlass/abi"
)

// recreate lets all old pods end before it makes new ones.
func (r *rollout) recreate() error {
	for _, rs := range r.old {
		r.resizeSet(rs, 0, false)
	}
	if r.sized || r.oldPods() {
		r.progress()
		return nil
	}
	if r.new == nil {
		if err := r.createNewSet(); err != nil {
			return err
		}
	}
	r.resizeSet(r.new, r.want, false)
	if r.progress() {
		r.cleanUp()
	}
	return nil
}

// oldPods reports whether pods of old sets still run.
func (r *rollout) oldPods() bool {
	uids := make([]string, len(r.old))
	for i, rs := range r.old {
		if rs.Status.Replicas > 0 {
			return true
		}
		uids[i] = string(rs.UID)
	}
	return len(uids) > 0 && len(running.Ask(r.c,
		abi.Ask{Namespace: r.d.Namespace, Path: "controller.uid", Values: uids})) > 0
}
