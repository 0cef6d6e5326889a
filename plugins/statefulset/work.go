package statefulset

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// work is what is to be done for one pod: first its claims are created, then the effects follow one another.
type work struct {
	pod     string
	verb    string // of the events about the pod: Create, Update, Delete
	silent  bool   // its success is no news
	claims  []*corev1.PersistentVolumeClaim
	err     error // why there is nothing to do but to create claims
	effects []sdk.Effect
	owned   []string // by effect, the claim that it gives owners; "" for the pod
}

func (w *work) empty() bool { return len(w.claims) == 0 && len(w.effects) == 0 && w.err == nil }

func (w *work) add(e sdk.Effect, claim string) {
	w.effects, w.owned = append(w.effects, e), append(w.owned, claim)
}

// remove is the work of deleting a pod.
func remove(p *corev1.Pod) work {
	w := work{pod: p.Name, verb: "Delete"}
	w.add(sdk.Delete(p, sdk.Tolerate(abi.TolerateNotFound)), "")
	return w
}

// do does works now, because events tell how they went: one after another or, where the set waits for nobody, 1, 2, 4, … at once, while none fails. It gives how many
// have been done and the first failure.
func (r *rollout) do(works []work) (done int, first error) {
	if len(works) == 0 {
		return 0, nil
	}
	members := make([]sdk.Effect, len(works))
	for i := range works {
		w := &works[i]
		var steps []sdk.Effect
		if len(w.claims) > 0 {
			create := make([]sdk.Effect, len(w.claims))
			for j, x := range w.claims {
				create[j] = sdk.Create(x)
			}
			steps = append(steps, sdk.Parallel(create...))
		}
		if w.err == nil {
			steps = append(steps, w.effects...)
		}
		members[i] = sdk.Sequence(steps...)
	}
	group := sdk.SlowStart(members...)
	if r.inOrder {
		group = sdk.Sequence(members...)
	}
	outcomes, err := r.c.DoAll(group)
	if len(outcomes[0].Members) != len(works) {
		return 0, err
	}
	for i := range works {
		o := &outcomes[0].Members[i]
		if o.Code == abi.CodeSkipped {
			continue
		}
		if err := r.tell(&works[i], o.Members); err == nil {
			done++
		} else if first == nil {
			first = err
		}
	}
	return done, first
}

// tell tells in events how a work went, and gives its failure.
func (r *rollout) tell(w *work, steps []abi.Outcome) error {
	if len(w.claims) > 0 {
		err := r.tellClaims(w, steps[0].Members)
		steps = steps[1:]
		if err != nil {
			r.event(w, err)
			return err
		}
	}
	if w.err != nil {
		r.event(w, w.err)
		return w.err
	}
	for i := range steps {
		if steps[i].Code != abi.CodeFailed {
			continue
		}
		err := &sdk.Error{Reason: steps[i].Reason, Message: steps[i].Message}
		told := *w
		told.silent = false
		if claim := w.owned[i]; claim != "" {
			told.verb = "Update"
			err.Message = "could not update claim " + claim + " for delete policy ownerRefs: " + err.Message
		}
		// A stale cache is no news.
		if err.Reason != sdk.Conflict && err.Reason != sdk.AlreadyExists {
			r.event(&told, err)
		}
		return err
	}
	r.event(w, nil)
	return nil
}

func (r *rollout) tellClaims(w *work, created []abi.Outcome) error {
	text := ""
	for i, x := range w.claims {
		switch o := &created[i]; {
		case o.Code == abi.CodeOK:
			r.c.Event(r.set, corev1.EventTypeNormal, "SuccessfulCreate", "Create Claim "+x.Name+" Pod "+w.pod+" in StatefulSet "+r.set.Name+" success")
		default:
			if o.Reason != sdk.AlreadyExists {
				r.c.Event(r.set, corev1.EventTypeWarning, "FailedCreate", "Create Claim "+x.Name+" for Pod "+w.pod+" in StatefulSet "+r.set.Name+" failed error: "+o.Message)
			}
			if text != "" {
				text += ", "
			}
			text += "failed to create PVC " + x.Name + ": " + o.Message
		}
	}
	if text == "" {
		return nil
	}
	return sdk.Errors(text)
}

// event tells of a pod's work on the set.
func (r *rollout) event(w *work, err error) {
	head := w.verb + " Pod " + w.pod + " in StatefulSet " + r.set.Name
	switch {
	case w.silent:
	case err != nil:
		r.c.Event(r.set, corev1.EventTypeWarning, "Failed"+w.verb, head+" failed error: "+err.Error())
	default:
		r.c.Event(r.set, corev1.EventTypeNormal, "Successful"+w.verb, head+" successful")
	}
}
