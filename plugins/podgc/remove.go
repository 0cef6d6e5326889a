package podgc

import (
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// deletePods deletes pods at once, each marked as failed before if it hasn't ended: others look at its phase, which no
// kubelet is going to set. A failure stops no other pod.
func deletePods(c *sdk.Call, doomed []*Pod, reason string) error {
	var effects []sdk.Effect
	var removed []*Pod
	for _, p := range doomed {
		if p.awaitsFinalizers() {
			continue
		}
		e := sdk.Delete(p, sdk.Grace(0), sdk.Tolerate(abi.TolerateNotFound))
		if !p.terminal() {
			e = sdk.Sequence(markFailed(p, reason == orphanedPod, c.Now()), e)
		}
		effects, removed = append(effects, e), append(removed, p)
	}

	if len(effects) == 0 {
		return nil
	}
	outcomes, err := c.DoAll(sdk.Independent(effects...))
	for i, o := range outcomes[0].Members {
		if o.Code == abi.CodeOK {
			continue
		}
		failures.Add(c, 1, removed[i].Namespace, reason)
		if err == nil {
			err = &sdk.Error{Reason: o.Reason, Message: reason + " pods: " + o.Message}
		}
	}

	for i := 0; i < len(removed); {
		n := 1
		for i+n < len(removed) && removed[i+n].Namespace == removed[i].Namespace {
			n++
		}
		deletions.Add(c, float64(n), removed[i].Namespace, reason)
		i += n
	}

	return err
}

// markFailed is the patch of the pod's status that says that it has failed, and where told to that it was disrupted.
// The UID in it keeps it from another pod of that name.
func markFailed(p *Pod, disrupted bool, now metav1.Time) sdk.Effect {
	b := append(make([]byte, 0, 384), `{"metadata":{"uid":`...)
	b = wire.AppendQuoted(b, string(p.UID))
	b = append(b, `},"status":{"phase":"`+string(corev1.PodFailed)+`"`...)
	b = appendGeneration(b, p)
	if disrupted {
		b = append(b, `,"conditions":[{"type":"`+disruptionTarget+
			`","status":"True","reason":"DeletionByPodGC","message":"PodGC: node no longer exists"`...)
		b = appendGeneration(b, p)
		if !isConditionTrue(p.Status.Conditions, disruptionTarget) { // else it stays as old as it is
			b = wire.AppendQuoted(append(b, `,"lastTransitionTime":`...), now.Truncate().String())
		}
		b = append(b, "}]"...)
	}
	e := sdk.Patch(p, abi.StrategicPatch, append(b, "}}"...), sdk.Tolerate(abi.TolerateNotFound))
	e.Subresource = "status"
	return e
}

// appendGeneration returns which generation of the pod the status speaks of.
func appendGeneration(b []byte, p *Pod) []byte {
	if p.Generation == 0 {
		return b
	}
	return strconv.AppendInt(append(b, `,"observedGeneration":`...), p.Generation, 10)
}
