package endpoints

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// address is a pod with the address by which it is reached.
type address struct {
	key   [2]uint64 // the first characters of the IP, by which it is sorted
	ip    string
	pod   *endpoint.Pod
	ready bool
	group int // of its ports
}

// subset are the ports that the same pods have, with the pods.
type subset struct {
	ports           []corev1.EndpointPort
	groups          []bool // of pods, that have the ports
	ready, notReady []*address
}

// packSubsets returns as few subsets as say of each address which ports it has, with addresses in the order of their
// text (pkg/api/v1/endpoints, RepackSubsets).
//
// Upstream orders ports, and the subsets among themselves, by hashes of a dump. Nobody looks at that order: here they
// have the service's, and upstream takes what it finds as its own once it has put it into its order.
func packSubsets(c *sdk.Call, s *corev1.Service) []subset {
	all, groups := addresses(c, s)
	subsets := portSubsets(s, groups)
	for i := range subsets {
		b := &subsets[i]
		for k := range all {
			a := &all[k]
			switch {
			case !b.groups[a.group]:
			case a.ready:
				b.ready = append(b.ready, a)
			default:
				b.notReady = append(b.notReady, a)
			}
		}
	}
	return subsets
}

// addresses are the service's pods that can be reached in its first family, in order.
func addresses(c *sdk.Call, s *corev1.Service) ([]address, *endpoint.PortGroups) {
	list, groups := pods.List(c), endpoint.NewPortGroups(s)
	all := make([]address, 0, len(list))
	for _, p := range list {
		if !p.Eligible(s.Spec.PublishNotReadyAddresses) {
			continue
		}
		if ip := primary(p, s); ip != "" {
			ready, _ := p.Ready()
			all = append(all, address{key: sortKey(ip), ip: ip, pod: p, ready: ready || s.Spec.PublishNotReadyAddresses,
				group: groups.Of(p)})
		}
	}
	slices.SortFunc(all, func(a, b address) int {
		switch {
		case a.key[0] != b.key[0]:
			return compareByLess(a.key[0] < b.key[0])
		case a.key[1] != b.key[1]:
			return compareByLess(a.key[1] < b.key[1])
		case a.ip != b.ip:
			return strings.Compare(a.ip, b.ip)
		}
		return strings.Compare(string(a.pod.UID), string(b.pod.UID))
	})
	return all, groups
}

func compareByLess(b bool) int {
	if b {
		return -1
	}
	return 1
}

// sortKey returns the text's first 16 characters as numbers that compare as the text does; an IPv4 address has no more.
func sortKey(ip string) (k [2]uint64) {
	for i := range 16 {
		k[i/8] <<= 8
		if i < len(ip) {
			k[i/8] |= uint64(ip[i])
		}
	}
	return k
}

// primary is the pod's address in the service's first family. Where an old API server named none, that is the family of
// the service's address, or of the pod's.
func primary(p *endpoint.Pod, s *corev1.Service) string {
	v6 := false
	switch {
	case len(s.Spec.IPFamilies) > 0:
		v6 = s.Spec.IPFamilies[0] == corev1.IPv6Protocol
	case !endpoint.Headless(s):
		v6 = endpoint.IsIPv6(endpoint.Canonical(s.Spec.ClusterIP))
	default:
		v6 = endpoint.IsIPv6(endpoint.Canonical(p.Status.PodIPs[0].IP))
	}
	for i := range p.Status.PodIPs {
		if ip := endpoint.Canonical(p.Status.PodIPs[i].IP); ip != "" && endpoint.IsIPv6(ip) == v6 {
			return ip
		}
	}
	return ""
}

// portSubsets are the subsets that the groups of ports make, without addresses yet. A headless service needs no ports.
func portSubsets(s *corev1.Service, groups *endpoint.PortGroups) []subset {
	n := len(groups.Numbers)
	if n == 0 {
		return nil
	}

	if len(s.Spec.Ports) == 0 {
		if s.Spec.ClusterIP != corev1.ClusterIPNone {
			return nil
		}
		return []subset{{groups: []bool{true}}}
	}

	var subsets []subset
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		for g, numbers := range groups.Numbers {
			number := numbers[i]
			if number == endpoint.Unresolved || appearsEarlier(groups.Numbers[:g], i, number) {
				continue
			}
			have := make([]bool, n)
			for k := g; k < n; k++ {
				have[k] = groups.Numbers[k][i] == number
			}
			subsets = addPort(subsets, have, corev1.EndpointPort{Name: p.Name, Port: number, Protocol: p.Protocol,
				AppProtocol: p.AppProtocol})
		}
	}
	return subsets
}

func appearsEarlier(earlier [][]int32, port int, number int32) bool {
	for _, numbers := range earlier {
		if numbers[port] == number {
			return true
		}
	}
	return false
}

func addPort(subsets []subset, groups []bool, p corev1.EndpointPort) []subset {
	for i := range subsets {
		if slices.Equal(subsets[i].groups, groups) {
			subsets[i].ports = append(subsets[i].ports, p)
			return subsets
		}
	}
	return append(subsets, subset{ports: []corev1.EndpointPort{p}, groups: groups})
}

// most is how many addresses Endpoints hold.
const most = 1000

// truncate cuts the subsets down to what Endpoints hold, in proportion, those that aren't ready first. It tells whether
// it had to.
func truncate(subsets []subset) bool {
	ready, notReady := 0, 0
	for i := range subsets {
		ready += len(subsets[i].ready)
		notReady += len(subsets[i].notReady)
	}
	if ready+notReady <= most {
		return false
	}
	room, total := most-ready, notReady
	if ready > most {
		room, total = most, ready
	}
	left := room
	for i := range subsets {
		b := &subsets[i]
		cut := &b.notReady
		if ready > most {
			b.notReady, cut = nil, &b.ready
		}
		// In floating point as upstream's: what is rounded up there is rounded up here.
		share := min(ceil(float64(len(*cut))/float64(total)*float64(room)), left, len(*cut))
		*cut = (*cut)[:share]
		left -= share
	}
	return true
}

func ceil(x float64) int {
	n := int(x)
	if float64(n) < x {
		n++
	}
	return n
}
