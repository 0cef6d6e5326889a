package daemonset

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/scheduling"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

var (
	updatedNodes = sdk.Key(scheduling.Nodes).Fields(scheduling.NodeFields...).
			QuietOn(abi.QuietDelete) // the other controller sees to that
	allSets = sdk.Select(appsv1.DaemonSets).Quiet().
		Fields("spec.template.spec.nodeName", "spec.template.spec.nodeSelector", "spec.template.spec.hostNetwork",
			"spec.template.spec.tolerations",
			"spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
			"status.numberMisscheduled")
	podsOnNode = sdk.Select(resource.MetadataOf("", "v1", "pods"),
		sdk.Join("spec.nodeName", updatedNodes, "metadata.name")).Quiet().
		Fields(podOwner...)
	// podsForNode aren't bound yet; the scheduler can bind them to this node alone.
	podsForNode = sdk.Select(resource.MetadataOf("", "v1", "pods"), sdk.Not(sdk.Exists("spec.nodeName")),
		sdk.Join(fieldsOf+".values", updatedNodes, "metadata.name")).Quiet().
		Named("pods for the node").Fields(podOwner...)

	podOwner = []string{"metadata.ownerReferences.uid", "metadata.ownerReferences.controller"}
)

// syncNode wakes the DaemonSets that a new node, or a node with other labels or taints, concerns. So a node's change is
// no sync of every DaemonSet, with all its nodes and pods.
func syncNode(c *sdk.Call) error {
	n, ok := updatedNodes.Get(c)
	if !ok {
		return nil
	}
	there, pending := podsOnNode.List(c), podsForNode.List(c)
	for _, ds := range allSets.List(c) {
		spec := ds.Spec.Template.Spec
		spec.Tolerations = tolerations(&spec)
		run, _ := nodeShouldRun(&spec, n, comparisons.On(c))
		scheduled := controls(ds, there)
		if run && !scheduled || (scheduled || controls(ds, pending)) && (!run || ds.Status.NumberMisscheduled > 0) {
			c.Add(sdk.Wake(0, ds))
		}
	}
	return nil
}

func controls(ds *appsv1.DaemonSet, pods []*resource.Metadata) bool {
	for _, p := range pods {
		if metav1.IsControlledBy(&p.ObjectMeta, &ds.ObjectMeta) {
			return true
		}
	}
	return false
}
