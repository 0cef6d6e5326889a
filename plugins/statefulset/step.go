package statefulset

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/intstr"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// forEachOrdinal visits the ordinals that the set should have, in order, while visit says so. A pod that isn't there is
// nil.
func (r *rollout) forEachOrdinal(visit func(n int64, p *corev1.Pod) bool) {
	next := 0
	for n := r.first; n < r.behind; n++ {
		var p *corev1.Pod
		if next < len(r.replicas) && ordinal(r.replicas[next]) == n {
			p = r.replicas[next]
			next++
		}
		if !visit(n, p) {
			return
		}
	}
}

// reconcilePods creates what is missing, deletes what has ended so that it can be created again, and sets right what
// isn't as the set wants it. In order it goes no further than the first pod that isn't available, and in no case beyond
// one that can't be set right.
func (r *rollout) reconcilePods() (wait bool, err error) {
	var todo []work
	r.forEachOrdinal(func(n int64, p *corev1.Pod) bool {
		var w work
		if p == nil {
			w = r.createPod(n, &wait)
		} else {
			w = r.correct(n, p, &wait)
		}
		if !w.isEmpty() {
			todo = append(todo, w)
			wait = wait || w.isStuck()
		}
		return !wait && len(todo) < burst
	})
	if _, err = r.performWorks(todo); err == nil && len(todo) == burst {
		wait = true
		return wait, r.c.After(1) // to go on with the rest
	}
	return wait, err
}

// createPod makes a pod with its claims. One that is to be deleted with a former pod of that name has to go first.
func (r *rollout) createPod(n int64, wait *bool) (w work) {
	*wait = r.inOrder
	former := &corev1.Pod{}
	former.Name = r.podName(n)
	if policy := r.set.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil &&
		policy.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
		for i := range r.templates {
			if x := r.findClaim(i, n); x != nil && isStaleClaim(x, former) {
				return w
			}
		}
	}
	w.pod, w.verb = former.Name, "Create"
	r.needClaims(&w, n)
	p, err := r.buildPod(n)
	if err != nil {
		w.err = err
		return w
	}
	w.effects = append(w.effects, sdk.Create(p))
	r.retention(former, n).settleOwners(&w, n)
	return w
}

// correct sets right what there is of a pod.
func (r *rollout) correct(n int64, p *corev1.Pod, wait *bool) (w work) {
	if pod.Terminal(p) {
		*wait = r.inOrder
		if !p.Deleting() {
			w = deletionOf(p)
		}
		return w
	}

	w.pod, w.verb, w.silent = p.Name, "Update", true
	retention, pending := r.retention(p, n), p.Status.Phase == corev1.PodPending
	if pending {
		w.claimsApart = true
		r.needClaims(&w, n)
		retention.settleOwners(&w, n)
	}

	if r.inOrder && (p.Deleting() || !isRunningAndReady(p) || !r.available(p)) {
		*wait = true
		if r.holdsUp(n, p) {
			if replaceUnready.On(r.c) {
				return deletionOf(p)
			}
			r.tellHoldUp(p)
		}
		return w
	}

	named, stored := p.Name == r.podName(n) && p.Labels.Get(appsv1.StatefulSetPodNameLabel) == p.Name,
		r.hasClaimVolumes(p, n)
	if named && stored && (pending || retention.allOwnersMet(n)) {
		return w
	}

	w.silent = false
	former := p.Name
	if former != r.podName(n) { // web-01, say: its claims are the pod's that it should be
		p = sdk.Copy(p)
		p.Name = r.podName(n)
		retention.pod, w.pod = p, p.Name
	}
	if !pending {
		if !stored {
			r.needClaims(&w, n)
		}
		if !retention.allOwnersMet(n) {
			retention.settleOwners(&w, n)
		}
	}
	if !stored {
		w.effects = append(w.effects, sdk.Patch(p, abi.StrategicPatch, r.storagePatch(n)))
	}

	switch {
	case named:
	case p.Name != former:
		w.err = sdk.Errors("pod ", former, " isn't named ", p.Name, ", and a pod can't be renamed")
	default:
		p = sdk.Copy(p)
		p.Labels = p.Labels.Clone()
		identify(p, n)
		w.effects = append(w.effects, sdk.Update(p))
	}
	return w
}

// settleCondemned returns the claims of pods that are about to go the owners that they should have then.
func (r *rollout) settleCondemned() (wait bool, err error) {
	var todo []work
	for _, p := range r.condemned {
		n := ordinal(p)
		if retention := r.retention(p, n); !retention.allOwnersMet(n) {
			w := work{pod: p.Name, silent: true, ownersApart: true}
			retention.settleOwners(&w, n)
			todo = append(todo, w)
		}
	}
	_, err = r.performWorks(todo)
	return false, err
}

// scaleDown deletes the pods that are too many: in order the highest, once it is gone the next. A pod that isn't
// available is deleted only when all below it are.
func (r *rollout) scaleDown() (wait bool, err error) {
	todo := make([]work, 0, len(r.condemned))
	for i, p := range r.condemned {
		if r.inOrder {
			if p.Deleting() || !(isRunningAndReady(p) && r.available(p)) && r.anyUnavailable(r.condemned[i+1:]) {
				return true, nil
			}
		} else if p.Deleting() {
			continue
		}
		todo = append(todo, deletionOf(p))
		if r.inOrder {
			wait = true
			break
		}
	}
	_, err = r.performWorks(todo)
	return wait, err
}

func (r *rollout) anyUnavailable(pods []*corev1.Pod) bool {
	for _, p := range pods {
		if r.unavailable(p) {
			return true
		}
	}
	return false
}

// maxUnavailable is how many pods may be unavailable during a roll-out.
func (r *rollout) maxUnavailable() (int, error) {
	u := r.set.Spec.UpdateStrategy.RollingUpdate
	if u == nil {
		return 1, nil
	}
	n, err := intstr.Scaled(u.MaxUnavailable, int32(r.behind-r.first), false)
	return max(1, int(n)), err
}

// deleteNextOutdated deletes pods of other revisions, from the highest ordinal down to the partition, as long as no
// more than the set allows are unavailable. Where order doesn't matter, those that are unavailable anyway go first, and
// all at once.
func (r *rollout) deleteNextOutdated() error {
	size := int32(r.behind - r.first)
	partition := int64(0)
	if u := r.set.Spec.UpdateStrategy.RollingUpdate; u != nil && u.Partition != nil {
		partition = int64(*u.Partition)
	}

	most, err := r.maxUnavailable()
	if err != nil {
		return err
	}

	budget := most - (int(size) - len(r.replicas))
	var sick, well []*corev1.Pod
	for i := len(r.replicas) - 1; i >= 0; i-- {
		p := r.replicas[i]
		unavailable := r.unavailable(p)
		if unavailable {
			budget--
		}
		switch {
		case !r.outdated(p) || ordinal(p)-r.first < partition || p.Deleting():
		case unavailable:
			sick = append(sick, p)
		default:
			well = append(well, p)
		}
	}

	lacking.Add(r.c, float64(most-budget), string(r.set.Spec.PodManagementPolicy))
	victims := well[:min(len(well), max(0, budget))]
	if !r.inOrder {
		victims = append(sick, victims...)
	}

	todo := make([]work, len(victims))
	for i, p := range victims {
		todo[i] = deletionOf(p)
	}
	n, err := r.performWorks(todo)
	r.status.CurrentReplicas -= int32(n)
	return err
}

// deleteOneOutdated is deleteNextOutdated where the gate severalUnavailable is off: it deletes the highest pod of
// another revision, down to the partition, once all pods above it are available.
func (r *rollout) deleteOneOutdated() error {
	n, partition := r.behind, int64(0)
	if u := r.set.Spec.UpdateStrategy.RollingUpdate; u != nil && u.Partition != nil {
		partition = int64(*u.Partition)
	}

	for i := len(r.replicas) - 1; i >= 0; i-- {
		p := r.replicas[i]
		n--
		if ordinal(p) != n || n-r.first < partition {
			return nil // one that is missing has just been made
		}
		if r.outdated(p) && !p.Deleting() {
			done, err := r.performWorks([]work{deletionOf(p)})
			r.status.CurrentReplicas -= int32(done)
			return err
		}
		if r.unavailable(p) {
			return nil
		}
	}
	return nil
}
