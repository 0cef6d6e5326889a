package statefulset

import (
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// work is what is to be done for one pod: its claims are created, those that there are get their owners, and the pod is
// created, changed or deleted.
type work struct {
	pod    string
	verb   string // of the events about the pod: Create, Update, Delete
	silent bool   // its success is no news
	claims []need
	// claimsApart: what becomes of the claims is told of them alone, not as a failure of the pod.
	claimsApart bool
	owners      []owned
	ownersApart bool // likewise of the claims' owners
	effects     []sdk.Effect
	err         error // why there is nothing to do but to create claims
}

// need is a claim that the pod can't be without: one that is missing is created, one on its way out has to go first.
type need struct {
	claim *corev1.PersistentVolumeClaim
	going bool
}

// owned is a claim whose owners matter.
type owned struct {
	claim    *corev1.PersistentVolumeClaim
	conflict bool // somebody else controls it
	update   bool // it is to be written with other owners
}

func (w *work) isEmpty() bool {
	return len(w.claims) == 0 && len(w.owners) == 0 && len(w.effects) == 0 && w.err == nil
}

// isStuck reports whether the work can't succeed.
func (w *work) isStuck() bool {
	stuck := w.err != nil
	for i := range w.claims {
		stuck = stuck || w.claims[i].going
	}
	return stuck
}

// combinedEffect returns all of the work: the group of the claims where some are missing, then what follows once they
// are there, the pod's effects and the group of the owners.
func (w *work) combinedEffect() sdk.Effect {
	var rest []sdk.Effect
	if !w.isStuck() {
		rest = w.effects
		if update := w.updates(); len(update) > 0 && w.creates() {
			owners := sdk.Sequence(update...)
			sdk.Always()(&owners) // the claims are there, whatever becomes of the pod
			rest = append(rest, owners)
		} else if len(update) > 0 {
			rest = append([]sdk.Effect{sdk.Sequence(update...)}, rest...)
		}
	}
	var create []sdk.Effect
	for i := range w.claims {
		if !w.claims[i].going {
			create = append(create, sdk.Create(w.claims[i].claim))
		}
	}
	if len(create) == 0 {
		return sdk.Sequence(rest...)
	}
	return sdk.Sequence(sdk.Parallel(create...), sdk.Sequence(rest...))
}

// updates are the writes of the claims' owners.
func (w *work) updates() (l []sdk.Effect) {
	for i := range w.owners {
		if w.owners[i].update {
			l = append(l, sdk.Update(w.owners[i].claim))
		}
	}
	return l
}

// splitOutcomes takes the outcomes of combinedEffect apart.
func (w *work) splitOutcomes(o []abi.Outcome) (claims, owners, own []abi.Outcome) {
	if len(o) > 0 && w.missing() {
		claims, o = o[0].Members, o[1].Members
	}
	switch last := len(o) - 1; {
	case last < 0 || !w.changesOwners():
		return claims, nil, o
	case w.creates():
		return claims, o[last].Members, o[:last]
	}
	return claims, o[0].Members, o[1:]
}

// changesOwners reports whether a claim's owners are to be written.
func (w *work) changesOwners() bool {
	for i := range w.owners {
		if w.owners[i].update {
			return true
		}
	}
	return false
}

// missing reports whether claims are to be created.
func (w *work) missing() bool {
	for i := range w.claims {
		if !w.claims[i].going {
			return true
		}
	}
	return false
}

func (w *work) creates() bool { return w.verb == "Create" }

// deletionOf returns the work of deleting a pod.
func deletionOf(p *corev1.Pod) work {
	w := work{pod: p.Name, verb: "Delete"}
	w.effects = append(w.effects, sdk.Delete(p, sdk.Tolerate(abi.TolerateNotFound)))
	return w
}

// performWorks performs works now, because events tell how they went: one after another or, where the set waits for
// nobody, 1, 2, 4, … at once, while none fails. It returns how many have been done and the first failure.
func (r *rollout) performWorks(works []work) (done int, first error) {
	if r.inOrder {
		return r.performGroup(sdk.Sequence, works)
	}
	return r.performGroup(sdk.SlowStart, works)
}

// performGroup performs works as a group of that kind.
func (r *rollout) performGroup(group func(...sdk.Effect) sdk.Effect, works []work) (done int, first error) {
	if len(works) == 0 {
		return 0, nil
	}
	members := make([]sdk.Effect, len(works))
	for i := range works {
		members[i] = works[i].combinedEffect()
	}

	outcomes, err := r.c.DoAll(group(members...))
	if len(outcomes[0].Members) != len(works) {
		return 0, err
	}
	for i := range works {
		o := &outcomes[0].Members[i]
		if o.Code == abi.CodeSkipped {
			continue
		}
		if err := r.reportOutcome(&works[i], o.Members); err == nil {
			done++
		} else if first == nil {
			first = err
		}
	}
	return done, first
}

// reportOutcome sends events of how a work went, and returns its failure.
func (r *rollout) reportOutcome(w *work, outcomes []abi.Outcome) error {
	claims, owners, own := w.splitOutcomes(outcomes)
	if err := r.reportClaims(w, claims); err != nil {
		if !w.claimsApart {
			r.recordEvent(w.verb, w.pod, err)
		}
		return err
	}
	if w.err != nil {
		r.recordEvent(w.verb, w.pod, w.err)
		return w.err
	}
	failed := failure(own)
	if sdk.Failed(failed, sdk.AlreadyExists) {
		return failed // the cache doesn't show it yet
	}
	if err := r.reportOwners(w, owners); err != nil {
		return err
	}
	if failed != nil && !sdk.Failed(failed, sdk.Conflict) || failed == nil && !w.silent { // a stale cache is no news
		r.recordEvent(w.verb, w.pod, failed)
	}
	return failed
}

// failure is the failure of a sequence's effects, nil where there is none.
func failure(outcomes []abi.Outcome) error {
	for i := range outcomes {
		if o := &outcomes[i]; o.Code == abi.CodeFailed {
			return &sdk.Error{Reason: o.Reason, Message: o.Message}
		}
	}
	return nil
}

func (r *rollout) reportClaims(w *work, created []abi.Outcome) error {
	var errs []string
	for i := range w.claims {
		x := w.claims[i].claim
		if w.claims[i].going {
			errs = append(errs, "pvc "+x.Name+" is being deleted")
			continue
		}
		o := &created[0]
		created = created[1:]
		if o.Code == abi.CodeOK {
			r.c.Event(r.set, corev1.EventTypeNormal, "SuccessfulCreate",
				"Create Claim "+x.Name+" Pod "+w.pod+" in StatefulSet "+r.set.Name+" success")
			continue
		}
		if o.Reason != sdk.AlreadyExists {
			r.c.Event(r.set, corev1.EventTypeWarning, "FailedCreate",
				"Create Claim "+x.Name+" for Pod "+w.pod+" in StatefulSet "+r.set.Name+" failed error: "+o.Message)
		}
		errs = append(errs, "failed to create PVC "+x.Name+": "+o.Message)
	}

	switch len(errs) {
	case 0:
		return nil
	case 1:
		return sdk.Errors(errs[0])
	}
	return sdk.Errors("[" + strings.Join(errs, ", ") + "]")
}

// reportOwners sends events of claims whose owners the set doesn't decide, and returns the error of the first that
// couldn't be written.
func (r *rollout) reportOwners(w *work, updated []abi.Outcome) error {
	for i := range w.owners {
		x := &w.owners[i]
		if x.conflict {
			r.c.Event(r.set, corev1.EventTypeWarning, "ConflictingController", "PersistentVolumeClaim "+x.claim.Name+
				// sic: events are told apart by their text
				" has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim")
		}
		if !x.update {
			continue
		}
		o := &updated[0]
		updated = updated[1:]
		if o.Code == abi.CodeOK {
			continue
		}
		err := &sdk.Error{Reason: o.Reason, Message: "could not update claim " + x.claim.Name +
			" for delete policy ownerRefs: " + o.Message}
		if !w.ownersApart && o.Reason != sdk.Conflict { // a stale cache is no news
			r.recordEvent("Update", w.pod, err)
		}
		return err
	}
	return nil
}

// recordEvent records on the set what has been done to a pod, or why it failed.
func (r *rollout) recordEvent(verb, pod string, err error) {
	head := verb + " Pod " + pod + " in StatefulSet " + r.set.Name
	if err != nil {
		r.c.Event(r.set, corev1.EventTypeWarning, "Failed"+verb, head+" failed error: "+err.Error())
		return
	}
	r.c.Event(r.set, corev1.EventTypeNormal, "Successful"+verb, head+" successful")
}
