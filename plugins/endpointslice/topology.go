package endpointslice

import (
	"math"
	"strconv"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
)

const (
	controlPlane = "node-role.kubernetes.io/control-plane"
	master       = "node-role.kubernetes.io/master"

	// overload is by how much an endpoint may get more than its share.
	overload float64 = 0.2
)

// auto are the values of the annotation that ask for hints.
var auto = []string{"Auto", "auto"}

// zone is a zone's part in the cluster's capacity, and in a service's endpoints.
type zone struct {
	name      string
	milliCPU  int64
	desired   float64 // number of endpoints
	least     int
	most      int
	allocated int     // hints
	surplus   float64 // of hints, negative where they are wanted
	moves     int     // so many more hints to give away, negative where to get
}

// shareOut hints ready endpoints for zones in proportion to the zones' processors (k8s.io/endpointslice/topologycache).
// Most are for their own zone; as few as can be are for another one.
func (r *reconciler) shareOut(p *plan, t discoveryv1.AddressType) *notice {
	zones, total := capacities(cluster.List(r.call))
	endpoints := p.countReady()
	message := allocate(zones, total, endpoints)
	if message == "" {
		p.rewrite(func(s *discoveryv1.EndpointSlice) bool { return !countKeptHints(zones, s) })
		if !startInOwnZone(zones, p) {
			message = "One or more endpoints do not have a zone specified"
		}
	}
	if message != "" {
		r.hinted = false
		p.replaceHints(hasHints, clearHints)
		return disabled(message, t)
	}
	balance(zones)
	redistribute(zones, p)
	if r.hinted {
		return nil
	}
	r.hinted = true
	return &notice{corev1.EventTypeNormal, "TopologyAwareHintsEnabled",
		"Topology Aware Hints has been enabled, addressType: " + string(t)}
}

func disabled(message string, t discoveryv1.AddressType) *notice {
	return &notice{corev1.EventTypeWarning, "TopologyAwareHintsDisabled", message + ", addressType: " + string(t)}
}

// capacities are the zones of the nodes that are ready and bear no control plane, none where that isn't known of all of
// these nodes.
func capacities(nodes []*node) (zones []zone, total int64) {
	for _, n := range nodes {
		if n.Labels.Has(controlPlane) || n.Labels.Has(master) || !n.isReady() {
			continue
		}
		name, cpu := n.Labels.Get(corev1.LabelTopologyZone), n.Status.Allocatable.Get(corev1.ResourceCPU).MilliValue()
		if name == "" || cpu == 0 {
			return nil, 0
		}
		z := findZone(zones, name)
		if z == nil {
			zones = append(zones, zone{name: name})
			z = &zones[len(zones)-1]
		}
		z.milliCPU += cpu
		total += cpu
	}
	return zones, total
}

func findZone(zones []zone, name string) *zone {
	for i := range zones {
		if zones[i].name == name {
			return &zones[i]
		}
	}
	return nil
}

// allocate says how many endpoints each zone should have, or why it can't.
func allocate(zones []zone, total int64, endpoints int) string {
	if len(zones) < 2 || total == 0 {
		return "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
	}
	numbers := " (" + strconv.Itoa(endpoints) + " endpoints, " + strconv.Itoa(len(zones)) + " zones)"
	if len(zones) > endpoints {
		return "Insufficient number of endpoints" + numbers
	}
	spare := endpoints
	for i := range zones {
		z := &zones[i]
		z.desired = float64(z.milliCPU) / float64(total) * float64(endpoints)
		z.least = int(math.Ceil(z.desired * (1 / (1 + overload))))
		z.desired = max(z.desired, float64(z.least))
		if spare -= z.least; spare < 0 {
			return "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold" + numbers
		}
	}
	for i := range zones {
		zones[i].most = zones[i].least + spare
	}
	return ""
}

// countKeptHints counts the hints of a slice that can stay as it is. It can't where a ready endpoint has no hint or one
// for an unknown zone, or where a zone got more than leaves the others enough.
func countKeptHints(zones []zone, s *discoveryv1.EndpointSlice) bool {
	counts := make([]int, len(zones))
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if !equalBool(e.Conditions.Ready, true) {
			continue
		}
		if e.Hints == nil || len(e.Hints.ForZones) == 0 {
			return false
		}
	next:
		for k := range e.Hints.ForZones {
			for z := range zones {
				if zones[z].name == e.Hints.ForZones[k].Name {
					counts[z]++
					continue next
				}
			}
			return false
		}
	}

	for z, n := range counts {
		if n > 0 && zones[z].allocated+n > zones[z].most {
			return false
		}
	}

	for z, n := range counts {
		zones[z].allocated += n
	}
	return true
}

// startInOwnZone hints the endpoints that are written for their own zones. It tells whether all have one.
func startInOwnZone(zones []zone, p *plan) bool {
	return p.eachReady(func(e *discoveryv1.Endpoint) bool {
		if e.Zone == nil || *e.Zone == "" {
			return false
		}
		if z := findZone(zones, *e.Zone); z != nil {
			z.allocated++
		}
		e.Hints = forZone(*e.Zone)
		return true
	})
}

// balance says how many hints each zone gives away and gets: one at a time from the zone that has the most too many to
// the one that lacks the most.
func balance(zones []zone) {
	for i := range zones {
		zones[i].surplus = float64(zones[i].allocated) - zones[i].desired
	}
	for {
		from, to := &zones[0], &zones[0]
		for i := range zones {
			if z := &zones[i]; z.surplus > from.surplus {
				from = z
			} else if z.surplus < to.surplus {
				to = z
			}
		}
		if from.surplus < 0.5 || to.surplus > -0.5 || from.surplus < 1 && to.surplus > -1 {
			return
		}
		from.moves++
		from.surplus--
		to.moves--
		to.surplus++
	}
}

// redistribute hints endpoints of the zones that give for those that get.
func redistribute(zones []zone, p *plan) {
	p.eachReady(func(e *discoveryv1.Endpoint) bool {
		from := findZone(zones, *e.Zone)
		if from == nil || from.moves <= 0 {
			return true
		}
		for i := range zones {
			if to := &zones[i]; to.moves < 0 {
				e.Hints = forZone(to.name)
				from.moves--
				to.moves++
				return true
			}
		}
		return false
	})
}

// countReady returns the number of ready endpoints.
func (p *plan) countReady() (n int) {
	for _, slices := range [][]*discoveryv1.EndpointSlice{p.create, p.update, p.unchanged} {
		for _, s := range slices {
			for i := range s.Endpoints {
				if equalBool(s.Endpoints[i].Conditions.Ready, true) {
					n++
				}
			}
		}
	}
	return n
}

// eachReady calls do with the ready endpoints that are written, until it says no.
func (p *plan) eachReady(do func(*discoveryv1.Endpoint) bool) bool {
	for _, slices := range [][]*discoveryv1.EndpointSlice{p.create, p.update} {
		for _, s := range slices {
			for i := range s.Endpoints {
				if e := &s.Endpoints[i]; equalBool(e.Conditions.Ready, true) && !do(e) {
					return false
				}
			}
		}
	}
	return true
}
