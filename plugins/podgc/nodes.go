package podgc

import (
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// The key is a node's name. As long as the node is there and in service its pods are in neither view, and what happens
// to them wakes nobody.
var (
	// Whether a node is ready is no part of the guard below: a test on elements of the list would keep them whole, and
	// each heartbeat would wake the node.
	nodes = sdk.Select(nodeKind).Fields("status.conditions.type", "status.conditions.status")

	orphans = sdk.Select(pods, sdk.KeyValue("spec.nodeName")).Named("orphans").
		When(sdk.Not(sdk.On(nodes, sdk.Exists("")))).
		Fields(nodePodFields...).QuietOn(abi.QuietOwn)
	stranded = sdk.Select(pods, sdk.KeyValue("spec.nodeName"), sdk.Exists("metadata.deletionTimestamp")).Named("stranded").
			When(sdk.On(nodes, sdk.In("spec.taints.key", corev1.TaintNodeOutOfService))).
			Fields(nodePodFields...).QuietOn(abi.QuietOwn)

	nodePodFields = []string{"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.finalizers",
		"metadata.generation", "status.phase", "status.conditions.type", "status.conditions.status"}
)

// syncNode deletes the pods that are being deleted on a node that isn't ready and is said to be out of service, and all
// pods of a node that is gone: not before it has been missed for the quarantine time, for the cache may come to know of
// pods before it knows of their node, and not without asking the API server. Its state is when the node was first
// missed.
func syncNode(c *sdk.Call) error {
	lost := orphans.List(c)
	if len(lost) == 0 {
		if len(c.State()) > 0 {
			c.SetState(nil)
		}
		if n, ok := nodes.Get(c); ok && !isConditionTrue(n.Status.Conditions, string(corev1.NodeReady)) {
			return deletePods(c, stranded.List(c), outOfServicePod)
		}
		return nil
	}

	patience, err := time.ParseDuration(quarantine.Get(c))
	if err != nil {
		return err
	}

	missed := c.Now()
	if since, err := strconv.ParseInt(string(c.State()), 10, 64); err == nil {
		missed = metav1.UnixNano(since)
	}
	if wait := missed.Add(patience).Sub(c.Now()); wait > 0 {
		return recordMissing(c, missed, wait)
	}

	_, err = sdk.Get(c, nodeKind, "", c.Name())
	switch {
	case sdk.Failed(err, sdk.NotFound):
		if err := deletePods(c, lost, orphanedPod); err != nil {
			return err
		}
	case err != nil:
		return sdk.Errors("node ", c.Name(), ": ", err.Error())
	}

	// What is still there after another while, or comes to be there, is looked at anew.
	return recordMissing(c, c.Now(), patience)
}

// recordMissing keeps since when the node is missed, and has it looked for again.
func recordMissing(c *sdk.Call, since metav1.Time, wait time.Duration) error {
	c.SetState(strconv.AppendInt(nil, since.UnixNano(), 10))
	return c.After(wait)
}
