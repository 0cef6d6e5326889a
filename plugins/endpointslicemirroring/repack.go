package endpointslicemirroring

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// readiness is what the subsets say of an address under a port. Where one says that it isn't ready, it isn't.
type readiness byte

const (
	ready readiness = iota + 1
	notReady
)

// subset are addresses that have the same ports and are as ready under each of them.
type subset struct {
	ports     []corev1.EndpointPort
	addresses []placed // by IP and UID, each once
}

// placed is an address under a port.
type placed struct {
	address *corev1.EndpointAddress
	at      int // its place among all addresses
	is      readiness
}

// repack returns as few subsets as say of each address which ports it has, which is the form that upstream brings
// Endpoints into before it looks at them (pkg/api/v1/endpoints, RepackSubsets). Upstream orders ports and subsets by
// hashes of a dump, which nothing depends on; here they have the order in which they are found.
//
// Whoever may write Endpoints may write tens of thousands of subsets, so nothing is compared with everything else: what
// is the same has the same text.
func repack(all []corev1.EndpointSubset) (packed []subset) {
	addresses := placeAddresses(all)
	ports := gatherPorts(all, addresses)

	// Ports that the same subsets have are under the same addresses, which are put together once.
	texts := make([]string, len(ports))
	for i := range ports {
		texts[i] = ports[i].subsetsText()
	}
	joined := make([][]placed, len(ports)) // of the first port of those that the same subsets have
	of := firstOfEach(texts)
	for i := range ports {
		if of[i] == i {
			joined[i] = ports[i].joinAddresses(addresses)
			texts[i] = addressesText(joined[i])
		}
	}
	for i := range ports {
		texts[i] = texts[of[i]]
	}

	at := make([]int, len(ports)) // in packed
	for i, first := range firstOfEach(texts) {
		if first == i {
			at[i] = len(packed)
			packed = append(packed, subset{addresses: joined[of[i]]})
		}
		if s := &packed[at[first]]; !ports[i].none {
			s.ports = append(s.ports, ports[i].port)
		}
	}
	return packed
}

// portOf is a port with the subsets that have it, by their places. Subsets without ports have it as none.
type portOf struct {
	port    corev1.EndpointPort
	none    bool
	subsets []int
}

// gatherPorts returns all ports of subsets that have addresses, in the order in which they come.
func gatherPorts(all []corev1.EndpointSubset, addresses [][]placed) (ports []portOf) {
	var texts []string
	var found []portOf // once for each subset that has it
	for i := range all {
		if len(addresses[i]) == 0 {
			continue
		}
		for k := range all[i].Ports {
			texts = append(texts, portText(&all[i].Ports[k]))
			found = append(found, portOf{port: all[i].Ports[k], subsets: []int{i}})
		}
		if len(all[i].Ports) == 0 {
			texts = append(texts, "")
			found = append(found, portOf{none: true, subsets: []int{i}})
		}
	}

	at := make([]int, len(found)) // in ports
	for i, first := range firstOfEach(texts) {
		if first == i {
			at[i] = len(ports)
			ports = append(ports, found[i])
			continue
		}
		p := &ports[at[first]]
		p.subsets = append(p.subsets, found[i].subsets[0])
	}
	return ports
}

// joinAddresses returns the addresses of all subsets that have the port.
func (p *portOf) joinAddresses(addresses [][]placed) (joined []placed) {
	for _, i := range p.subsets {
		joined = append(joined, addresses[i]...)
	}
	slices.SortStableFunc(joined, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for i := range joined {
		if n > 0 && joined[n-1].at == joined[i].at {
			joined[n-1].is = max(joined[n-1].is, joined[i].is)
			continue
		}
		joined[n] = joined[i]
		n++
	}
	return joined[:n]
}

// subsetsText is the same where the same subsets have the port.
func (p *portOf) subsetsText() string {
	b := make([]byte, 0, 4*len(p.subsets))
	for _, i := range p.subsets {
		b = appendPlace(b, i)
	}
	return string(b)
}

// addressesText is the same for the same addresses that are as ready.
func addressesText(all []placed) string {
	b := make([]byte, 0, 5*len(all))
	for i := range all {
		b = append(appendPlace(b, all[i].at), byte(all[i].is))
	}
	return string(b)
}

func appendPlace(b []byte, i int) []byte {
	return append(b, byte(i), byte(i>>8), byte(i>>16), byte(i>>24))
}

// portText is the same for ports that are the same.
func portText(p *corev1.EndpointPort) string {
	return p.Name + "\n" + string(p.Protocol) + "\n" + optional(p.AppProtocol) + "\n" + strconv.Itoa(int(p.Port))
}

// firstOfEach returns for each text the place of the first that is the same.
func firstOfEach(texts []string) []int {
	table := endpoint.NewTable(len(texts), func(i int) string { return texts[i] })
	first := make([]int, len(texts))
	for i := range texts {
		first[i] = table.Find(texts[i])
	}
	return first
}

// placeAddresses returns the addresses of each subset in the order of all. An address is another one where it is of
// another object; what is told first of one holds.
func placeAddresses(all []corev1.EndpointSubset) [][]placed {
	type told struct {
		address *corev1.EndpointAddress
		subset  int
		is      readiness
	}
	var found []told
	for i := range all {
		for k := range all[i].Addresses {
			found = append(found, told{&all[i].Addresses[k], i, ready})
		}
		for k := range all[i].NotReadyAddresses {
			found = append(found, told{&all[i].NotReadyAddresses[k], i, notReady})
		}
	}
	slices.SortStableFunc(found, func(a, b told) int { return compare(a.address, b.address) })

	bySubset := make([][]placed, len(all))
	at := -1
	var first *corev1.EndpointAddress
	for _, x := range found {
		if first == nil || compare(first, x.address) != 0 {
			first = x.address
			at++
		}
		bySubset[x.subset] = append(bySubset[x.subset], placed{first, at, x.is})
	}
	return bySubset
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
