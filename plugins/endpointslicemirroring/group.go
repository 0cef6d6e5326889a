package endpointslicemirroring

import (
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
)

// portGroup are the endpoints of one address type that have the same ports, and the slices that there are of them.
type portGroup struct {
	addressType discoveryv1.AddressType
	ports       []discoveryv1.EndpointPort
	key         string // of type and ports
	wanted      []wanted
	existing    []*discoveryv1.EndpointSlice
}

// wanted is an endpoint that is to be in a slice; what has the same ID is the same one.
type wanted struct {
	id       string
	endpoint discoveryv1.Endpoint
}

// passedOver is how many addresses aren't mirrored: those that are none, and with those the ones beyond the limit.
type passedOver struct{ invalid, all int }

// group returns what is to be mirrored of the subsets, by address type and ports. Each subset has groups of both types,
// also empty ones, so that slices of a type that has no address any more are found.
func group(subsets []subset, most int) (groups []portGroup, passed passedOver) {
	for i := range subsets {
		s := &subsets[i]
		ports := slicePorts(s.ports)
		v4 := portGroup{addressType: discoveryv1.AddressTypeIPv4, ports: ports}
		v6 := portGroup{addressType: discoveryv1.AddressTypeIPv6, ports: ports}
		passed.add(s.split(&v4, &v6, most))
		for _, g := range []*portGroup{&v4, &v6} {
			g.key = key(g.addressType, ports)
			g.wanted = lastOfEach(g.wanted)
			groups = append(groups, *g)
		}
	}
	return groups, passed
}

func (p *passedOver) add(q passedOver) { p.invalid, p.all = p.invalid+q.invalid, p.all+q.all }

// split puts the subset's addresses into the groups of their types, the ready ones first, up to the limit.
func (s *subset) split(v4, v6 *portGroup, most int) (passed passedOver) {
	n := 0
	for _, is := range []readiness{ready, notReady} {
		for i := range s.addresses {
			a := s.addresses[i].address
			if s.addresses[i].is != is {
				continue
			}
			passed.all++
			if n == most {
				continue
			}

			ip := endpoint.Canonical(a.IP)
			if ip == "" {
				passed.invalid++
				continue
			}
			g := v4
			if endpoint.IsIPv6(ip) {
				g = v6
			}
			x := newEndpoint(ip, a, is == ready)
			g.wanted = append(g.wanted, wanted{id(&x), x})
			n++
		}
	}
	passed.all -= n
	return passed
}

func newEndpoint(ip string, a *corev1.EndpointAddress, ready bool) discoveryv1.Endpoint {
	x := discoveryv1.Endpoint{Addresses: []string{ip}, TargetRef: a.TargetRef, NodeName: a.NodeName}
	x.Conditions.Ready = &ready
	if a.Hostname != "" {
		x.Hostname = &a.Hostname
	}
	return x
}

// id is what tells endpoints apart: addresses, hostname and target.
func id(x *discoveryv1.Endpoint) (text string) {
	addresses := x.Addresses
	if len(addresses) > 1 {
		addresses = slices.Clone(addresses)
		slices.Sort(addresses)
	}
	for _, a := range addresses {
		text += a + " "
	}
	if x.Hostname != nil {
		text += *x.Hostname
	}
	if x.TargetRef != nil {
		text += " " + x.TargetRef.Namespace + "/" + x.TargetRef.Name
	} else {
		text += " /"
	}
	return text
}

// lastOfEach leaves out endpoints that come again: what is said last of one holds.
func lastOfEach(all []wanted) []wanted {
	byID := endpoint.NewTable(len(all), func(i int) string { return all[i].id })
	n := 0
	for i := range all {
		if first := byID.Find(all[i].id); first < i {
			all[first].endpoint = all[i].endpoint
			all[i].id = "" // no endpoint has it
		}
	}
	for i := range all {
		if all[i].id != "" {
			all[n] = all[i]
			n++
		}
	}
	return all[:n]
}

// slicePorts are the ports as slices have them.
func slicePorts(all []corev1.EndpointPort) []discoveryv1.EndpointPort {
	ports := make([]discoveryv1.EndpointPort, len(all))
	for i := range all {
		p := &all[i]
		ports[i] = discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol}
	}
	return ports
}

// byKey finds groups by the ports of slices.
func byKey(groups []portGroup) *endpoint.Table {
	return endpoint.NewTable(len(groups), func(i int) string { return groups[i].key })
}

// key is the same for the same ports in whatever order.
func key(t discoveryv1.AddressType, ports []discoveryv1.EndpointPort) string {
	texts := make([]string, len(ports))
	for i := range ports {
		p := &ports[i]
		texts[i] = "\n" + optional(p.Name) + " " + optional(p.Protocol) + " " + optional(p.AppProtocol) + " "
		if p.Port != nil {
			texts[i] += strconv.Itoa(int(*p.Port))
		}
	}
	slices.Sort(texts)
	return string(t) + strings.Join(texts, "")
}

// optional returns a text that differs where there is none and where it is empty.
func optional[T ~string](p *T) string {
	if p == nil {
		return "-"
	}
	return "=" + string(*p)
}
