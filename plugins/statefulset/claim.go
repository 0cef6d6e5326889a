package statefulset

import (
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
)

// claimTemplates are a set's, of those with one name the last.
func claimTemplates(set *appsv1.StatefulSet) (kept []*corev1.PersistentVolumeClaim) {
	all := set.Spec.VolumeClaimTemplates
next:
	for i := range all {
		for j := range kept {
			if kept[j].Name == all[i].Name {
				kept[j] = &all[i]
				continue next
			}
		}
		kept = append(kept, &all[i])
	}
	return kept
}

// claimName is the name of a pod's claim from one of the set's templates.
func (r *rollout) claimName(template int, n int64) string {
	return r.templates[template].Name + "-" + r.set.Name + "-" + strconv.FormatInt(n, 10)
}

// askClaims asks for the claims of all pods that this sync may have to do with.
func (r *rollout) askClaims() {
	if len(r.templates) == 0 {
		return
	}
	var names []string
	add := func(n int64) {
		for i := range r.templates {
			names = append(names, r.claimName(i, n))
		}
	}
	missing := 0
	r.forEachOrdinal(func(n int64, p *corev1.Pod) bool {
		add(n)
		if p == nil {
			missing++
		}
		return missing < burst && (p != nil || !r.inOrder)
	})
	for _, p := range r.condemned {
		add(ordinal(p))
	}
	r.claims = claims.Ask(r.c, abi.Ask{Namespace: r.set.Namespace, Names: names})
}

// findClaim returns a pod's claim, nil where there is none.
func (r *rollout) findClaim(template int, n int64) *corev1.PersistentVolumeClaim {
	name, from, to := r.claimName(template, n), 0, len(r.claims)
	for from < to { // they come in the order of their names
		if mid := (from + to) / 2; r.claims[mid].Name < name {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from == len(r.claims) || r.claims[from].Name != name {
		return nil
	}
	return r.claims[from]
}

// buildClaim returns a pod's claim as it should be made.
func (r *rollout) buildClaim(template int, n int64) *corev1.PersistentVolumeClaim {
	x := sdk.Copy(r.templates[template])
	x.Namespace, x.Name = r.set.Namespace, r.claimName(template, n)
	x.Labels = x.Labels.Clone()
	if s := r.set.Spec.Selector; s != nil {
		for _, l := range s.MatchLabels {
			x.Labels.Set(l.Key, l.Value)
		}
	}
	return x
}

// needClaims has the work begin with the claims that are missing, and stops it at those on their way out.
func (r *rollout) needClaims(w *work, n int64) {
	for i := range r.templates {
		switch x := r.findClaim(i, n); {
		case x == nil:
			w.claims = append(w.claims, need{claim: r.buildClaim(i, n)})
		case x.Deleting():
			w.claims = append(w.claims, need{claim: x, going: true})
		}
	}
}

// retention is who should own the claims of a pod by the set's policy: with its owner a claim is deleted.
type retention struct {
	r          *rollout
	pod        *corev1.Pod
	bySet      bool
	byPod      bool
	indefinite bool // nobody should
}

func (r *rollout) retention(p *corev1.Pod, n int64) retention {
	w := retention{r: r, pod: p, indefinite: true}
	if policy := r.set.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		scaled, deleted := policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
		w.byPod = scaled && !r.hasOrdinal(n)
		w.bySet = deleted && !w.byPod
		w.indefinite = !scaled && !deleted
	}
	return w
}

// refersTo reports whether the reference means an object of o's kind and name, this one or a former one.
func refersTo(ref *metav1.OwnerReference, o sdk.Object) bool {
	k := o.GetResource()
	return ref.Name == o.GetObjectMeta().Name && ref.Kind == k.Kind && ref.APIVersion == k.APIVersion()
}

// isStaleClaim reports whether the claim belongs to a former object of o's name.
func isStaleClaim(x *corev1.PersistentVolumeClaim, o sdk.Object) bool {
	for i := range x.OwnerReferences {
		if ref := &x.OwnerReferences[i]; refersTo(ref, o) {
			return ref.UID != o.GetObjectMeta().UID
		}
	}
	return false
}

// conflicts reports whether somebody else controls the claim whom the policy would deprive of it.
func (w retention) conflicts(x *corev1.PersistentVolumeClaim) bool {
	if w.indefinite {
		return false
	}
	for i := range x.OwnerReferences {
		switch ref := &x.OwnerReferences[i]; {
		case refersTo(ref, w.r.set):
			if ref.UID != w.r.set.UID {
				return true
			}
		case refersTo(ref, w.pod):
			if ref.UID != w.pod.UID {
				return true
			}
		case controls(ref):
			return true
		}
	}
	return false
}

func controls(ref *metav1.OwnerReference) bool { return ref.Controller != nil && *ref.Controller }

// ownersMet reports whether the claim has the owners that it should have. One that belongs to a former set or pod isn't
// touched.
func (w retention) ownersMet(x *corev1.PersistentVolumeClaim) bool {
	if isStaleClaim(x, w.r.set) || isStaleClaim(x, w.pod) {
		return true
	}
	bySet, byPod, idle := false, false, false
	for i := range x.OwnerReferences {
		ref := &x.OwnerReferences[i]
		bySet = bySet || ref.UID == w.r.set.UID
		byPod = byPod || ref.UID == w.pod.UID
		idle = idle || !controls(ref) && (ref.UID == w.r.set.UID || ref.UID == w.pod.UID)
	}
	if w.conflicts(x) {
		return !bySet && !byPod
	}
	return !idle && bySet == w.bySet && byPod == w.byPod
}

// allOwnersMet reports whether all claims of the pod that there are have their owners.
func (w retention) allOwnersMet(n int64) bool {
	for i := range w.r.templates {
		if x := w.r.findClaim(i, n); x != nil && !w.ownersMet(x) {
			return false
		}
	}
	return true
}

// settleOwners has the work give the claims their owners.
func (w retention) settleOwners(todo *work, n int64) {
	for i := range w.r.templates {
		x := w.r.findClaim(i, n)
		if x == nil {
			continue
		}

		conflict := w.conflicts(x)
		if w.ownersMet(x) {
			if conflict {
				todo.owners = append(todo.owners, owned{claim: x, conflict: true})
			}
			continue
		}

		x = sdk.Copy(x)
		refs := make([]metav1.OwnerReference, 0, len(x.OwnerReferences)+1)
		for _, ref := range x.OwnerReferences {
			if !refersTo(&ref, w.r.set) && !refersTo(&ref, w.pod) {
				refs = append(refs, ref)
			}
		}

		switch {
		case conflict:
		case w.bySet:
			refs = append(refs, owner.Ref(w.r.set))
		case w.byPod:
			refs = append(refs, owner.Ref(w.pod))
		}
		x.OwnerReferences = refs
		todo.owners = append(todo.owners, owned{claim: x, conflict: conflict, update: true})
	}
}
