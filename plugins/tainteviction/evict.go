package tainteviction

import (
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
func (r *round) evict(all []entry) error {
	if len(r.doomed) == 0 {
		return nil
	}
	var effects []sdk.Effect
	for _, d := range r.doomed {
		if e := &all[d.at]; !e.marked {
			r.tell(e, "Marking for deletion Pod ")
		}
		e := sdk.Delete(d.pod)
		if !isMarked(d.pod) {
			e = sdk.Sequence(mark(d.pod, r.c.Now()), e)
		}
		effects = append(effects, e)
	}

	outcomes, err := r.c.DoAll(sdk.Independent(effects...))
	for i, o := range outcomes[0].Members {
		e := &all[r.doomed[i].at]
		gone := o.Reason == sdk.NotFound || o.Reason == sdk.Conflict // of another UID
		switch {
		case o.Code == abi.CodeOK:
			deletions.Add(r.c, 1)
			durations.Took(r.c)
		case !gone:
			e.marked = true
			if err == nil {
				err = &sdk.Error{Reason: o.Reason, Message: "pod " + e.namespace + "/" + e.name + ": " + o.Message}
			}
			continue
		}
		e.due, e.marked = 0, false
	}
	return err
}

// isMarked reports whether the pod says already that it is deleted for a taint.
func isMarked(p *pod) bool {
	for i := range p.Status.Conditions {
		if x := &p.Status.Conditions[i]; x.Type == target {
			return x.Status == corev1.ConditionTrue && x.Reason == reason && x.Message == message && x.LastProbeTime == nil
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
			if x.LastProbeTime != nil {
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
