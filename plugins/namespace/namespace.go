// Package namespace empties namespaces that are being deleted.
//
// When a namespace is being deleted, it deletes all that is in it, one resource after another, pods first and with
// their grace periods, asks what is left, says so in the namespace's conditions, and takes its finalizer away when
// nothing is left. While something is left it looks again, soon or after as long as the pods' grace periods need.
package namespace

import (
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// settling is how long nothing is done after a namespace was first seen to be deleted: until then API servers may still
// let objects into it.
const settling = 5 * time.Second

var (
	// What is in the namespace's status is this controller's business alone, and is read live.
	namespaces = sdk.Select(corev1.Namespaces, sdk.Exists("metadata.deletionTimestamp")).
			Fields("metadata.deletionTimestamp", "spec.finalizers", "status.phase", "status.conditions").Quiet("status")

	// The last pod's end wakes the namespace: nothing else is deleted before.
	anyPod = sdk.Select(pods, sdk.Join("metadata.namespace", namespaces, "metadata.name")).Named("any pod").When(
		sdk.On(namespaces, sdk.Exists(""))).Counted(1)
	ending = sdk.Select(pods, sdk.Join("metadata.namespace", namespaces, "metadata.name")).Named("ending pods").
		// what live lists show of pods, too
		Fields("metadata.finalizers", "spec.terminationGracePeriodSeconds", "status.phase").Lazy().Quiet()
)

// Plugin is the namespace module (pkg/controller/namespace). Upstream's resync (--namespace-sync-period) has nothing to
// find here: a namespace that isn't done has a timer or is held back after a failure.
var Plugin = &sdk.Plugin{
	Name:        "namespace",
	Version:     "1.0.0",
	Description: "Deletes all that is in a namespace that is being deleted, pods first, and then lets go of it.",
	Controllers: []*sdk.Controller{{
		Name:           "namespace-controller",
		Alias:          "namespace",
		Queue:          "namespace",
		ServiceAccount: "namespace-controller",
		Reads:          sdk.Views{namespaces, anyPod, ending},
		Writes: sdk.Writes{
			corev1.Namespaces.Verbs("get"), corev1.Namespaces.Sub("status", "update"),
			corev1.Namespaces.Sub("finalize", "update"),
			resource.Any.Verbs("list", "delete", "deletecollection"),
		},
		Workers: 10,
		Backoff: abi.Backoff{Max: int64(time.Minute)},
		Rate:    abi.Rate{QPS: 20, Burst: 100}, // a sync asks for some hundred things
		State:   true,
		Sync:    sync,
	}},
}

// sync deletes what is in the namespace, says in the namespace's status what remains and why, and takes the finalizer
// away when nothing does. Its state is since when the namespace is known to be deleted.
func sync(c *sdk.Call) error {
	seen, ok := namespaces.Get(c)
	if !ok || !settled(c) {
		return nil
	}

	ns, err := sdk.Get(c, corev1.Namespaces, "", seen.Name)
	if err != nil {
		return unlessGone(err)
	}
	if ns.UID != seen.UID || !ns.Deleting() {
		return nil // the name is another namespace's by now
	}

	if ns.Status.Phase != corev1.NamespaceTerminating {
		if err := updateNamespace(c, ns, "status", terminate); err != nil {
			return unlessGone(err)
		}
	}

	if len(ns.Spec.Finalizers) == 0 {
		return nil
	}
	f := deleteContent(c, ns)
	if f.updateConditions(ns, c.Now()) {
		_ = c.Do(sdk.UpdateStatus(ns)) // what is to be done doesn't depend on it, and the next sync says it again
	}

	switch {
	case len(f.errors) > 0:
		return sdk.Errors(strings.Join(f.errors, ", "))
	case f.estimate > 0:
		return c.After(time.Duration(f.estimate/2+1) * time.Second)
	}
	return unlessGone(updateNamespace(c, ns, "finalize", finalize))
}

// settled reports whether the namespace has been known to be deleted for long enough, and has it synced again if not.
// It goes by the host's clock alone.
func settled(c *sdk.Call) bool {
	n, err := strconv.ParseInt(string(c.State()), 10, 64)
	since := metav1.UnixNano(n)
	if err != nil || c.Now().Before(since) { // never seen, or the clock was set back
		since = c.Now()
		c.SetState(strconv.AppendInt(nil, since.UnixNano(), 10))
	}
	wait := since.Add(settling).Sub(c.Now())
	if wait > 0 {
		_ = c.After(wait)
	}
	return wait <= 0
}

// terminate says in the namespace's phase that it is being deleted.
func terminate(ns *corev1.Namespace) { ns.Status.Phase = corev1.NamespaceTerminating }

// finalize takes this controller's finalizer away.
func finalize(ns *corev1.Namespace) {
	var others []corev1.FinalizerName
	for _, f := range ns.Spec.Finalizers {
		if f != corev1.FinalizerKubernetes {
			others = append(others, f)
		}
	}
	ns.Spec.Finalizers = others
}

// conflicts is how often in a row others may get ahead of a write before the whole sync is tried again later.
const conflicts = 5

// updateNamespace changes the namespace as it is now: others may write to it meanwhile.
func updateNamespace(c *sdk.Call, ns *corev1.Namespace, subresource string, change func(*corev1.Namespace)) error {
	for i := 0; ; i++ {
		change(ns)
		err := c.Do(sdk.UpdateSub(subresource, ns))
		if i == conflicts || !sdk.Failed(err, sdk.Conflict) {
			return err
		}
		now, err := sdk.Get(c, corev1.Namespaces, "", ns.Name)
		if err != nil {
			return err
		}
		if now.UID != ns.UID {
			return &sdk.Error{Reason: sdk.NotFound, Message: "another namespace has the name now"}
		}
		*ns = *now
	}
}

// unlessGone is the error, none where it says that the namespace is gone: all is done then.
func unlessGone(err error) error {
	if sdk.Failed(err, sdk.NotFound) {
		return nil
	}
	return err
}
