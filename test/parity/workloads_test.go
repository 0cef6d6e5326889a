package parity

import (
	"testing"

	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/windlass"
)

// workloadControllers run where the scripts below are played: nobody collects there what an owner leaves behind,
// or sweeps a namespace that is on its way out.
var workloadControllers = []string{"deployment-controller", "replicaset-controller", "endpointslice-controller",
	"endpoints-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller"}

// workloads are scripts in Go: what they assert, of each step on the way among other things, holds of both managers.
var workloads = []*part{
	scripted("deployment", "rolling-update", "vary", rollingUpdate),
	scripted("deployment", "recreate-held", "", recreate),
	scripted("deployment", "proportional-scaling", "", proportionalScaling),
	scripted("deployment", "progress-deadline", "", progressDeadline),
	scripted("deployment", "min-ready-seconds", "vary", minReadySeconds),
	scripted("deployment", "pause", "vary", pauseRollout),
	scripted("deployment", "rollback", "vary", rollback),
	scripted("deployment", "history-limit", "vary", historyLimit),
	scripted("deployment", "annotations", "", annotations),
	scripted("deployment", "collision", "", collision),
	scripted("deployment", "adopt-set", "", adoptSet),
	scripted("deployment", "deleting-deployment", "", deletingDeployment),
	scripted("replicaset", "adopt-pods", "", adoptPods),
	scripted("replicaset", "deleting-set", "", deletingSet),
	scripted("deployment", "sizes", "vary", scaleAndMend),
	scripted("replicaset", "deletion-cost", "", deletionCost),
	scripted("replicaset", "terminating-replicas", "", terminatingReplicas),
	scripted("replicaset", "quota", "vary", quotaOfPods),
	scripted("deployment", "quota-of-a-roll-out", "vary", quotaOfRollout),
	scripted("serviceaccount", "accounts-and-bundles", "", accountsAndBundles),
	scripted("deployment", "ending-namespace", "vary", endingNamespace),
}

func scripted(plugin, name, counts string, run func(*space)) *part {
	return &part{plugin, &life.Script{Name: name, Counts: counts}, func(t *testing.T, s *side, namespace string) {
		run(newSpace(t, s.cluster, namespace, s.name == "native"))
	}}
}

// playWorkloads plays them.
func playWorkloads(t *testing.T, b *book) {
	all := b.selected(workloads)
	if len(all) == 0 {
		return
	}
	native, ours := newSides(t)
	playSides(t, "all", all, native, ours, func(t *testing.T,
		s *side) {
		s.startManager(t, workloadControllers, nil, false)
	})
	t.Run("same", func(t *testing.T) { compare(t, b, all, native, ours) })
	native.manager.stop()
	ours.manager.stop()
	if b.coversAll(workloads) {
		t.Run("restart", func(t *testing.T) { restart(t, ours.cluster) })
	}
	windlass.ExpectRoles(t, ours.cluster)
}
