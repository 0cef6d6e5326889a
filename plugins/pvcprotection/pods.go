package pvcprotection

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
)

// pods are those that have the key's claim among their volumes: any number that name it, and the one that it was made
// for. Both are asked for twice, of the cache as it is and of one that is as new as the claim's last change.
type pods struct {
	naming, namingNow *sdk.View[pod, *pod]
	owner, ownerNow   *sdk.View[pod, *pod]
}

var (
	onNode = sdk.Exists("spec.nodeName")
	// A pod that is deleted with no time left is done with by its kubelet, or nobody waits for that: only its finalizers
	// may keep it, and they may wait for the claim that was made for it.
	hasTime = sdk.Any(sdk.Not(deleting), sdk.Not(sdk.In("metadata.deletionGracePeriodSeconds", "0")))
	running = sdk.All(sdk.Not(sdk.In("status.phase", "Failed", "Succeeded")), sdk.Any(
		sdk.Not(deleting),
		sdk.Exists("status.initContainerStatuses.state.running"),
		sdk.Exists("status.containerStatuses.state.running"),
		sdk.Exists("status.ephemeralContainerStatuses.state.running")))

	// keeping are the pods that keep a claim from being deleted, using those that use one that isn't.
	keeping = selectPods("keeping", sdk.On(claims, deleting), onNode, sdk.All(onNode, hasTime))
	using   = selectPods("using", sdk.On(claims, sdk.Not(deleting)), running, running)
)

// selectPods selects the pods of claims for which when holds.
func selectPods(name string, when, naming, owner sdk.Condition) *pods {
	named := func() *sdk.View[pod, *pod] {
		return sdk.Select(podKind, sdk.KeyNamespace(), sdk.KeyName("spec.volumes.persistentVolumeClaim.claimName"), naming)
	}
	owned := func() *sdk.View[pod, *pod] {
		return sdk.Select(podKind, sdk.KeyNamespace(), sdk.Join("metadata.uid", claims, "controller.uid"),
			sdk.Exists("spec.volumes.ephemeral"), owner).Fields("spec.volumes.name", "spec.volumes.ephemeral")
	}
	return &pods{
		naming:    named().Named(name + " by name").When(when).Counted(1),
		owner:     owned().Named(name + " as owner").When(when),
		namingNow: named().Named(name + " by name now").Lazy().Quiet(),
		ownerNow:  owned().Named(name + " as owner now").Lazy().Quiet(),
	}
}

func (p *pods) views() sdk.Views { return sdk.Views{p.naming, p.owner, p.namingNow, p.ownerNow} }

// there reports whether the cache shows such a pod.
func (p *pods) there(c *sdk.Call, claim *claim) bool {
	return p.naming.Count(c) > 0 || ownsAny(p.owner.List(c), claim)
}

// thereNow reports whether there is such a pod. The cache may not have come to know of it yet, so it has to have
// reached what the API server had once the claim was as it is now: then no pod can have come to use a claim that is
// being deleted. For all claims of a namespace one list says so.
func (p *pods) thereNow(c *sdk.Call, claim *claim) bool {
	question := abi.Ask{Namespace: claim.Namespace, Fresh: true, Shared: true}
	if ownsAny(p.ownerNow.Ask(c, question), claim) {
		return true
	}
	question.Count = true
	_, n := p.namingNow.AskFirst(c, question)
	return n > 0
}

// ownsAny reports whether the claim was made for a volume of one of these pods, which all own it.
func ownsAny(owners []*pod, claim *claim) bool {
	for _, p := range owners {
		for i := range p.Spec.Volumes {
			if v := &p.Spec.Volumes[i]; v.VolumeSource.Ephemeral != nil && p.Name+"-"+v.Name == claim.Name {
				return true
			}
		}
	}
	return false
}
