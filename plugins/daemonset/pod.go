package daemonset

import (
	"strconv"

	"github.com/windlass-dev/windlass/abi/wire"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// newPod is a pod of the template for a node. The scheduler binds it, hence the affinity to that node alone.
func (d *daemon) newPod(node string) *corev1.Pod {
	p := pod.New(d.ds, &d.ds.Spec.Template)
	p.Spec = d.spec
	p.Spec.Affinity = restrictToNode(d.spec.Affinity, node)
	p.Labels = d.newLabels()
	return p
}

// newLabels are the labels of a new pod: the template's with those that tell its pods from others'.
func (d *daemon) newLabels() wire.StringMap {
	l := d.ds.Spec.Template.Labels.Clone()
	if d.generation != "" {
		l.Set(generationLabel, d.generation)
	}
	if d.hash != "" {
		l.Set(hashLabel, d.hash)
	}
	return l
}

// restrictToNode returns the affinity with a node's name in place of the required node selector's terms. The
// preferences stay.
func restrictToNode(affinity *corev1.Affinity, node string) *corev1.Affinity {
	var a corev1.Affinity
	if affinity != nil {
		a = *affinity
	}
	var n corev1.NodeAffinity
	if a.NodeAffinity != nil {
		n = *a.NodeAffinity
	}
	var s corev1.NodeSelector
	if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		s = *n.RequiredDuringSchedulingIgnoredDuringExecution
	}
	s.NodeSelectorTerms = []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn,
			Values: []string{node}}},
	}}
	n.RequiredDuringSchedulingIgnoredDuringExecution, a.NodeAffinity = &s, &n
	return &a
}

// tolerations are the template's with those that every daemon pod has: trouble of its node is no reason for it to leave
// or not to come.
func tolerations(spec *corev1.PodSpec) []corev1.Toleration {
	all := append([]corev1.Toleration(nil), spec.Tolerations...)
	add := func(taint string, effect corev1.TaintEffect) {
		x := corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: effect}
		found := false
		for i := range all {
			if t := &all[i]; t.Key == x.Key && t.Operator == x.Operator && t.Effect == x.Effect && t.Value == "" {
				*t, found = x, true // for ever, if it was for some seconds
			}
		}
		if !found {
			all = append(all, x)
		}
	}
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if spec.HostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
	return all
}

// generation is the number that pods were told apart by before there were revisions; empty where the DaemonSet has
// none.
func generation(ds *appsv1.DaemonSet) string {
	if n, ok := decimal.Parse(ds.Annotations.Get(appsv1.DeprecatedTemplateGeneration)); ok {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// updated reports whether the pod is one of the template as it is now.
func (d *daemon) updated(p *corev1.Pod) bool {
	return d.hash != "" && p.Labels.Get(hashLabel) == d.hash || d.generation != "" &&
		p.Labels.Get(generationLabel) == d.generation
}
