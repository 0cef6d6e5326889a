package daemonset

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/plugins/shared/scheduling"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// place is a node, or where one was.
type place struct {
	name string
	pods []*corev1.Pod // that run there or are meant to, without those that ended and are being deleted
	run  bool          // a pod should run there
	stay bool          // a pod that runs there may go on
	gone bool          // there is no such node
}

// placePods finds the places of the pods.
func (d *daemon) placePods() error {
	if err := d.claimPods(); err != nil {
		return err
	}
	d.spec = d.ds.Spec.Template.Spec
	d.spec.Tolerations = tolerations(&d.spec)
	all := nodes.List(d.c)
	d.places = make([]place, len(all))
	for i, n := range all {
		d.places[i].name = n.Name
		d.places[i].run, d.places[i].stay = nodeShouldRun(&d.spec, n, comparisons.On(d.c))
	}
	for _, p := range d.pods {
		if pod.Terminal(p) && p.Deleting() {
			continue // it only waits for its finalizers
		}
		if name := targetNode(p); name != "" {
			at := d.placeOfNode(name, len(all))
			at.pods = append(at.pods, p)
		}
	}
	return nil
}

// placeOfNode returns the place of that name: one of the first n, which are sorted as all views are, or one of those
// that are gone.
func (d *daemon) placeOfNode(name string, n int) *place {
	i, found := slices.BinarySearchFunc(d.places[:n], name,
		func(at place, name string) int { return strings.Compare(at.name, name) })
	if found {
		return &d.places[i]
	}
	for i := n; i < len(d.places); i++ {
		if d.places[i].name == name {
			return &d.places[i]
		}
	}
	d.places = append(d.places, place{name: name, gone: true})
	return &d.places[len(d.places)-1]
}

// nodeShouldRun reports whether a pod should run on the node, and whether one that runs there may stay. Where compare
// is set tolerations compare numbers.
func nodeShouldRun(spec *corev1.PodSpec, n *scheduling.Node, compare bool) (run, stay bool) {
	if spec.NodeName != "" && spec.NodeName != n.Name || !scheduling.Attracted(spec, n) {
		return false, false
	}
	taints, tolerations := n.Spec.Taints, spec.Tolerations
	stay = !scheduling.Untolerated(taints, tolerations, corev1.TaintEffectNoExecute, compare)
	run = stay && !scheduling.Untolerated(taints, tolerations, corev1.TaintEffectNoSchedule, compare)
	return run, stay
}

// targetNode returns the node that the pod is on, or is meant for until the scheduler has seen it; empty where it says
// none.
func targetNode(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	required := scheduling.Required(&p.Spec)
	if required == nil {
		return ""
	}
	for i := range required.NodeSelectorTerms {
		fields := required.NodeSelectorTerms[i].MatchFields
		for j := range fields {
			if x := &fields[j]; x.Key == "metadata.name" && x.Operator == corev1.NodeSelectorOpIn {
				if len(x.Values) != 1 {
					return ""
				}
				return x.Values[0]
			}
		}
	}
	return ""
}

// compareByAge puts pods that have a node first, then the older ones.
func compareByAge(a, b *corev1.Pod) int {
	if x, y := a.Spec.NodeName != "", b.Spec.NodeName != ""; x != y {
		if x {
			return -1
		}
		return 1
	}
	if n := a.CreationTimestamp.Compare(b.CreationTimestamp); n != 0 {
		return n
	}
	return strings.Compare(a.Name, b.Name)
}
