package endpointslice

import (
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
)

// candidate is a pod that is an endpoint if it has addresses of the type that is being looked at.
type candidate struct {
	pod                         *endpoint.Pod
	hostname, zone              string
	nodeless                    bool // it is on a node that there isn't
	ready, serving, terminating bool
	group                       int // of its ports

	// Of the address type that is being looked at:
	addresses []string
	wanted    bool // and not in a slice yet
}

// candidates are the service's pods, in the order of their names, with the ports of the groups that they fall into.
func candidates(c *sdk.Call, s *corev1.Service) ([]candidate, [][]discoveryv1.EndpointPort) {
	list, known := pods.List(c), nodes.List(c)
	byName := endpoint.NewTable(len(known), func(i int) string { return known[i].Name })
	all := make([]candidate, 0, len(list))
	groups := endpoint.NewPortGroups(s)
	for _, p := range list {
		if !p.Eligible(true) {
			continue
		}
		x := candidate{pod: p, hostname: p.Hostname(s), terminating: p.Deleting(), group: groups.Of(p)}
		x.serving, _ = p.Ready()
		x.ready = s.Spec.PublishNotReadyAddresses || x.serving && !x.terminating
		if i := byName.Find(p.Spec.NodeName); i < 0 {
			x.nodeless = true
		} else {
			x.zone = known[i].Labels.Get(corev1.LabelTopologyZone)
		}
		all = append(all, x)
	}
	return all, slicePorts(groups, s)
}

// slicePorts are, by group, the ports of the slices.
func slicePorts(groups *endpoint.PortGroups, s *corev1.Service) [][]discoveryv1.EndpointPort {
	all := make([][]discoveryv1.EndpointPort, len(groups.Numbers))
	for g, numbers := range groups.Numbers {
		for i := range numbers {
			if q := &s.Spec.Ports[i]; numbers[i] != endpoint.Unresolved {
				all[g] = append(all[g], discoveryv1.EndpointPort{Name: &q.Name, Protocol: &q.Protocol, Port: &numbers[i],
					AppProtocol: q.AppProtocol})
			}
		}
	}
	return all
}

// address gives the candidates their addresses of a type.
func address(all []candidate, t discoveryv1.AddressType) {
	v6 := t == discoveryv1.AddressTypeIPv6
	addresses := make([]string, 0, len(all))
	for i := range all {
		x, from := &all[i], len(addresses)
		for k := range x.pod.Status.PodIPs {
			if a := endpoint.Canonical(x.pod.Status.PodIPs[k].IP); a != "" && endpoint.IsIPv6(a) == v6 {
				addresses = append(addresses, a)
			}
		}
		x.addresses = addresses[from:len(addresses):len(addresses)]
		x.wanted = len(x.addresses) > 0
	}
}

// isSameEndpoint reports whether the endpoint is the candidate's; whatever else of it may have changed is no more than
// that.
func (x *candidate) isSameEndpoint(e *discoveryv1.Endpoint) bool {
	hostname := ""
	if e.Hostname != nil {
		hostname = *e.Hostname
	}
	if hostname != x.hostname || e.TargetRef.Namespace != x.pod.Namespace || len(e.Addresses) != len(x.addresses) {
		return false
	}
next:
	for _, a := range e.Addresses {
		for _, b := range x.addresses {
			if wire.Same(a, b) {
				continue next
			}
		}
		return false
	}
	return true
}

// equalsEndpoint reports whether the endpoint is the candidate's as it is now.
func (x *candidate) equalsEndpoint(e *discoveryv1.Endpoint) bool {
	return equalString(e.NodeName, x.pod.Spec.NodeName) && equalString(e.Zone, x.zone) && x.pod.IsAt(e.TargetRef) &&
		equalBool(e.Conditions.Ready, x.ready) && equalBool(e.Conditions.Serving, x.serving) &&
		equalBool(e.Conditions.Terminating, x.terminating)
}

// endpoint makes the candidate's endpoint.
func (x *candidate) endpoint() discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{
		Addresses:  x.addresses,
		Conditions: discoveryv1.EndpointConditions{Ready: &x.ready, Serving: &x.serving, Terminating: &x.terminating},
		TargetRef:  x.pod.Ref(),
	}
	if x.pod.Spec.NodeName != "" {
		e.NodeName = &x.pod.Spec.NodeName
	}
	if x.zone != "" {
		e.Zone = &x.zone
	}
	if x.hostname != "" {
		e.Hostname = &x.hostname
	}
	return e
}

// equalString reports whether a field says s, where an absent one says nothing.
func equalString(field *string, s string) bool {
	if field == nil {
		return s == ""
	}
	return s != "" && wire.Same(*field, s)
}

func equalBool(field *bool, b bool) bool { return field != nil && *field == b }
