package endpointslice

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/windlass-dev/windlass/differential/api"
)

// balances tell of a service's ready endpoints, by their types, how their hints are shared out.
func balances(all map[string]*discoveryv1.EndpointSlice, key string, capacity map[string]int64) map[string]string {
	byType := map[string]*hints{}
	for _, e := range all {
		if !isOf(e, key) {
			continue
		}
		t := string(e.AddressType)
		for i := range e.Endpoints {
			if x := &e.Endpoints[i]; x.Conditions.Ready == nil || !*x.Conditions.Ready {
				continue
			}
			if byType[t] == nil {
				byType[t] = &hints{zones: map[string]int{}}
			}
			byType[t].count(&e.Endpoints[i])
		}
	}
	out := map[string]string{}
	for t, h := range byType {
		out[t] = "hints of " + t + ": " + h.balance(capacity)
	}
	return out
}

// hints are those of a service's ready endpoints of one type.
type hints struct {
	zones map[string]int
	all   int
	none  int
}

func (h *hints) count(e *discoveryv1.Endpoint) {
	h.all++
	if e.Hints == nil || len(e.Hints.ForZones) == 0 {
		h.none++
		return
	}
	for _, z := range e.Hints.ForZones {
		h.zones[z.Name]++
	}
}

// balance reports how many endpoints have no hint, and by how much what the zones have got goes beyond what is theirs
// by their capacity. Of zones that want equally many either may get one, upstream's controller takes them from maps;
// these numbers are the same then.
func (h *hints) balance(capacity map[string]int64) string {
	total := int64(0)
	for _, c := range capacity {
		total += c
	}
	var surplus []string
	for zone, c := range capacity {
		desired := float64(c) / float64(total) * float64(h.all)
		desired = max(desired, math.Ceil(desired/1.2)) // what must be, for no endpoint to get a fifth more than the others
		surplus = append(surplus, fmt.Sprintf("%+.3f", float64(h.zones[zone])-desired))
	}
	for zone, n := range h.zones {
		if _, ok := capacity[zone]; !ok {
			surplus = append(surplus, fmt.Sprintf("%d for %s", n, zone))
		}
	}
	slices.Sort(surplus)
	return fmt.Sprint(surplus, " and ", h.none, " without")
}

// capacities are the zones' processors, as far as hints are shared out by them.
func capacities(c *api.Cluster) (map[string]int64, error) {
	all, err := c.List(nodes)
	zones := map[string]int64{}
	for _, o := range all {
		n := o.(*corev1.Node)
		_, control := n.Labels["node-role.kubernetes.io/control-plane"]
		_, master := n.Labels["node-role.kubernetes.io/master"]
		if !control && !master && isReady(n) {
			zones[n.Labels[corev1.LabelTopologyZone]] += n.Status.Allocatable.Cpu().MilliValue()
		}
	}
	return zones, err
}

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
