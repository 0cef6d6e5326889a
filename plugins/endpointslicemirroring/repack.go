package endpointslicemirroring

import (
	"cmp"
	"slices"
	"strings"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// readiness is what the subsets say of an address under a port. Where one says that it isn't ready, it isn't.
type readiness byte

const (
	absent readiness = iota
	ready
	notReady
)

// subset are addresses that have the same ports and are as ready under each of them.
type subset struct {
	ports     []corev1.EndpointPort
	addresses []*corev1.EndpointAddress // of all subsets, by IP and UID
	are       []readiness               // of each of these
}

// repack returns as few subsets as say of each address which ports it has, which is the form that upstream brings
// Endpoints into before it looks at them (pkg/api/v1/endpoints, RepackSubsets). Upstream orders ports and subsets by
// hashes of a dump, which nothing depends on; here they have the order in which they are found.
func repack(all []corev1.EndpointSubset) (packed []subset) {
	addresses, places := distinct(all)
	var ports []subset // with a single port each, or none
	for i := range all {
		if len(places[i]) == 0 {
			continue
		}
		for _, p := range all[i].Ports {
			place(&ports, []corev1.EndpointPort{p}, places[i], addresses)
		}
		if len(all[i].Ports) == 0 {
			place(&ports, nil, places[i], addresses)
		}
	}

	for _, p := range ports {
		same := func(s subset) bool { return slices.Equal(s.are, p.are) }
		if i := slices.IndexFunc(packed, same); i >= 0 {
			packed[i].ports = append(packed[i].ports, p.ports...)
		} else {
			packed = append(packed, p)
		}
	}
	return packed
}

// placed is an address in a subset.
type placed struct {
	address *corev1.EndpointAddress
	subset  int
	is      readiness
	at      int // in the list of distinct addresses
}

// distinct returns all addresses in their order, each once, as it is told first, and where those of each subset are in
// that list. An address is another one where it is of another object.
func distinct(all []corev1.EndpointSubset) (addresses []*corev1.EndpointAddress, bySubset [][]placed) {
	var found []*placed
	for i := range all {
		for k := range all[i].Addresses {
			found = append(found, &placed{address: &all[i].Addresses[k], subset: i, is: ready})
		}
		for k := range all[i].NotReadyAddresses {
			found = append(found, &placed{address: &all[i].NotReadyAddresses[k], subset: i, is: notReady})
		}
	}
	slices.SortStableFunc(found, func(a, b *placed) int { return compare(a.address, b.address) })

	bySubset = make([][]placed, len(all))
	for _, p := range found {
		if n := len(addresses); n == 0 || compare(addresses[n-1], p.address) != 0 {
			addresses = append(addresses, p.address)
		}
		p.at = len(addresses) - 1
		bySubset[p.subset] = append(bySubset[p.subset], *p)
	}
	return addresses, bySubset
}

func compare(a, b *corev1.EndpointAddress) int {
	return cmp.Or(strings.Compare(a.IP, b.IP), strings.Compare(uid(a), uid(b)))
}

func uid(a *corev1.EndpointAddress) string {
	if a.TargetRef == nil {
		return ""
	}
	return string(a.TargetRef.UID)
}

// place adds a subset's addresses to those of its port, or of no port.
func place(ports *[]subset, port []corev1.EndpointPort, all []placed, addresses []*corev1.EndpointAddress) {
	i := slices.IndexFunc(*ports, func(s subset) bool { return slices.EqualFunc(s.ports, port, samePort) })
	if i < 0 {
		i = len(*ports)
		*ports = append(*ports, subset{ports: port, addresses: addresses, are: make([]readiness, len(addresses))})
	}
	for _, p := range all {
		is := &(*ports)[i].are[p.at]
		*is = max(*is, p.is)
	}
}

func samePort(a, b corev1.EndpointPort) bool {
	return a.Name == b.Name && a.Port == b.Port && a.Protocol == b.Protocol &&
		(a.AppProtocol == nil) == (b.AppProtocol == nil) && (a.AppProtocol == nil || *a.AppProtocol == *b.AppProtocol)
}
