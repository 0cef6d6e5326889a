package tainteviction

import (
	"cmp"
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// What a pod's condition says of the eviction.
const (
	target  = string(corev1.DisruptionTarget)
	reason  = "DeletionByTaintManager"
	message = "Taint manager: deleting due to NoExecute taint"
)

// evict deletes the pods whose time has come, each marked before. A failure stops no other pod: it is tried again until
// the pod is gone, or may stay.
func (r *round) evict(due []*entry) (first error) {
	for _, e := range due {
		if !e.marked {
			r.tell(e, "Marking for deletion Pod ")
		}
	}
	for len(due) > 0 {
		n := min(len(due), atOnce)
		if err := r.remove(due[:n]); err != nil && first == nil {
			first = err
		}
		due = due[n:]
	}
	return first
}

// atOnce is how many pods are read and deleted at once.
const atOnce = 100

// remove reads pods, and marks and deletes those that are still there. What has become of each is written down.
func (r *round) remove(due []*entry) error {
	live := make([]*pod, len(due))
	reads := make([]sdk.Effect, len(due))
	for i, e := range due {
		live[i] = e.pod()
		reads[i] = sdk.Live(live[i])
	}
	read, err := r.c.DoAll(sdk.Independent(reads...))

	var deletes []sdk.Effect
	var deleted []*entry
	for i, o := range read[0].Members {
		if o.Code != abi.CodeOK {
			err = r.failed(due[i], &o, err)
			continue
		}
		e := sdk.Delete(live[i])
		if !isMarked(live[i]) {
			e = sdk.Sequence(mark(live[i], r.c.Now()), e)
		}
		deletes, deleted = append(deletes, e), append(deleted, due[i])
	}
	if len(deletes) == 0 {
		return err
	}

	outcomes, failure := r.c.DoAll(sdk.Independent(deletes...))
	err = cmp.Or(err, failure)
	for i, o := range outcomes[0].Members {
		if o.Code != abi.CodeOK {
			err = r.failed(deleted[i], &o, err)
			continue
		}
		deletions.Add(r.c, 1)
		durations.Took(r.c)
		deleted[i].rest()
	}
	return err
}

// failed has the pod tried again, unless it is gone, or has passed its name on to another one. It returns the first
// error.
func (r *round) failed(e *entry, o *abi.Outcome, first error) error {
	if o.Reason == sdk.NotFound || o.Reason == sdk.Conflict {
		e.rest()
		return first
	}
	e.marked = true
	if first == nil {
		first = &sdk.Error{Reason: o.Reason, Message: "pod " + e.namespace + "/" + e.name + ": " + o.Message}
	}
	return first
}

// isMarked reports whether the pod says already that it is deleted for a taint.
func isMarked(p *pod) bool {
	for i := range p.Status.Conditions {
		if x := &p.Status.Conditions[i]; x.Type == target {
			return x.Status == corev1.ConditionTrue && x.Reason == reason && x.Message == message && x.LastProbeTime.IsZero()
		}
	}
	return false
}

// mark is the patch of the pod's status that says why it goes. The UID in it keeps it from another pod of that name; the
// conditions stay in their order, of which the new one is the last.
func mark(p *pod, now metav1.Time) sdk.Effect {
	b := append(make([]byte, 0, 512), `{"metadata":{"uid":`...)
	b = wire.AppendQuoted(b, string(p.UID))
	b = append(b, `},"status":{"$setElementOrder/conditions":[`...)
	listed := false
	for i := range p.Status.Conditions {
		x := &p.Status.Conditions[i]
		listed = listed || x.Type == target
		b = append(wire.AppendQuoted(append(b, `{"type":`...), x.Type), "},"...)
	}
	if !listed {
		b = append(b, `{"type":"`+target+`"},`...)
	}
	b[len(b)-1] = ']'

	b = append(b, `,"conditions":[{"type":"`+target+`","status":"True","reason":"`+reason+`","message":"`+message+`"`...)
	if p.Generation != 0 {
		b = strconv.AppendInt(append(b, `,"observedGeneration":`...), p.Generation, 10)
	}

	was, there := "", false
	for i := range p.Status.Conditions {
		if x := &p.Status.Conditions[i]; x.Type == target {
			was, there = string(x.Status), true
			if !x.LastProbeTime.IsZero() {
				b = append(b, `,"lastProbeTime":null`...)
			}
		}
	}
	if !there || was != string(corev1.ConditionTrue) { // else it stays as old as it is
		b = wire.AppendQuoted(append(b, `,"lastTransitionTime":`...), now.Truncate().String())
	}

	e := sdk.Patch(p, abi.StrategicPatch, append(b, "}]}}"...))
	e.Subresource = "status"
	return e
}
