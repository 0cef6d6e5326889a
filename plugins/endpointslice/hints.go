package endpointslice

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
)

// notice is an event on the service, told once the slices are written.
type notice struct{ eventType, reason, message string }

func (n *notice) recordEvent(r *reconciler) {
	if n != nil {
		r.call.Event(r.service, n.eventType, n.reason, n.message)
	}
}

// addHints puts hints into the endpoints of a plan: for which zones or nodes each is. That may make slices of the plan
// change that else wouldn't.
func (r *reconciler) addHints(p *plan, t discoveryv1.AddressType) *notice {
	if r.topologyMode() == "Auto" {
		return r.shareOut(p, t)
	}
	var n *notice
	if r.hinted {
		r.hinted = false
		n = disabled("Topology Aware Hints has been disabled", t)
	}
	switch d := r.distribution(); d {
	case "":
		p.replaceHints(hasHints, clearHints)
	default:
		c := closest{nodes: d == corev1.ServiceTrafficDistributionPreferSameNode}
		p.replaceHints(c.missing, c.hintClosest)
	}
	return n
}

// topologyMode returns in the words of the metric whether the annotation asks for hints that share out the zones'
// capacity.
func (r *reconciler) topologyMode() string {
	v, ok := r.service.Annotations.Lookup(corev1.DeprecatedAnnotationTopologyAwareHints)
	if !ok {
		v = r.service.Annotations.Get(corev1.AnnotationTopologyMode)
	}
	if v == auto[0] || v == auto[1] {
		return "Auto"
	}
	return "Disabled"
}

// distribution is the traffic distribution in use, empty where there is none. The annotation goes before it.
func (r *reconciler) distribution() string {
	d := r.service.Spec.TrafficDistribution
	if d == nil || r.topologyMode() == "Auto" {
		return ""
	}
	switch *d {
	case corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
		corev1.ServiceTrafficDistributionPreferSameNode:
		return *d
	}
	return ""
}

// replaceHints hints all endpoints that are written; an unchanged slice is written when one of its endpoints is wrong.
func (p *plan) replaceHints(wrong func(*discoveryv1.Endpoint) bool, hint func(*discoveryv1.Endpoint)) {
	p.rewrite(func(s *discoveryv1.EndpointSlice) bool {
		for i := range s.Endpoints {
			if wrong(&s.Endpoints[i]) {
				return true
			}
		}
		return false
	})
	for _, slices := range [][]*discoveryv1.EndpointSlice{p.create, p.update} {
		for _, s := range slices {
			for i := range s.Endpoints {
				hint(&s.Endpoints[i])
			}
		}
	}
}

// rewrite makes an update of each unchanged slice that is wrong.
func (p *plan) rewrite(wrong func(*discoveryv1.EndpointSlice) bool) {
	n := 0
	for _, s := range p.unchanged {
		if !wrong(s) {
			p.unchanged[n] = s
			n++
			continue
		}
		u := *s
		u.Endpoints = append([]discoveryv1.Endpoint(nil), s.Endpoints...)
		p.update = append(p.update, &u)
	}
	p.unchanged = p.unchanged[:n]
}

func hasHints(e *discoveryv1.Endpoint) bool { return e.Hints != nil }

func clearHints(e *discoveryv1.Endpoint) { e.Hints = nil }

// closest hints each ready endpoint for its own zone, and for its own node where told to
// (k8s.io/endpointslice/trafficdist). Others keep the hints they have.
type closest struct{ nodes bool }

func (c closest) missing(e *discoveryv1.Endpoint) bool {
	if !equalBool(e.Conditions.Ready, true) {
		return false
	}
	h := e.Hints
	if h == nil {
		h = &discoveryv1.EndpointHints{}
	}
	if zone := e.Zone; zone == nil && len(h.ForZones) > 0 ||
		zone != nil && (len(h.ForZones) != 1 || h.ForZones[0].Name != *zone) {
		return true
	}
	node := c.hintedNode(e)
	return node == nil && len(h.ForNodes) > 0 || node != nil && (len(h.ForNodes) != 1 || h.ForNodes[0].Name != *node)
}

func (c closest) hintClosest(e *discoveryv1.Endpoint) {
	if !equalBool(e.Conditions.Ready, true) {
		return
	}
	e.Hints = nil
	if e.Zone != nil {
		e.Hints = forZone(*e.Zone)
	}
	if node := c.hintedNode(e); node != nil {
		if e.Hints == nil {
			e.Hints = &discoveryv1.EndpointHints{}
		}
		e.Hints.ForNodes = []discoveryv1.ForNode{{Name: *node}}
	}
}

func (c closest) hintedNode(e *discoveryv1.Endpoint) *string {
	if !c.nodes {
		return nil
	}
	return e.NodeName
}

func forZone(name string) *discoveryv1.EndpointHints {
	return &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: name}}}
}
