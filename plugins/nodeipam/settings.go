package nodeipam

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	"github.com/windlass-dev/windlass/sdk"
)

// They go by the names of kube-controller-manager's flags.
var (
	allocate = &sdk.Setting{Name: "allocate-node-cidrs", Default: "false",
		Description: "true: nodes are given ranges for their pods. Else the controller does nothing."}
	clusterCIDR = &sdk.Setting{Name: "cluster-cidr",
		Description: "The range that pods' addresses are of, or one of each family with a comma between them."}
	serviceCIDR = &sdk.Setting{Name: "service-cluster-ip-range",
		Description: "The range of Services' addresses, or one of each family: what it has in common with cluster-cidr no node gets."}
	maskSize = &sdk.Setting{Name: "node-cidr-mask-size", Default: "0",
		Description: "How many bits the mask of a node's range has in a cluster of one family; 0: 24 of IPv4, 64 of IPv6."}
	maskSize4 = &sdk.Setting{Name: "node-cidr-mask-size-ipv4", Default: "0",
		Description: "How many bits the mask of a node's IPv4 range has; 0: 24."}
	maskSize6 = &sdk.Setting{Name: "node-cidr-mask-size-ipv6", Default: "0",
		Description: "How many bits the mask of a node's IPv6 range has; 0: 64."}
	allocatorType = &sdk.Setting{Name: "cidr-allocator-type", Default: rangeAllocator,
		Description: "Where ranges come from: RangeAllocator, which is the only one."}
)

const (
	rangeAllocator = "RangeAllocator"

	// mostBits6 is how many more bits than the cluster's the mask of an IPv6 block may have at most.
	mostBits6 = 16
)

// check refuses settings with which nobody could be given a range. While it isn't asked for any, all will do.
func check(s *sdk.Settings) error {
	switch on := allocate.In(s); on {
	case "", "false":
		return nil
	case "true":
	default:
		return sdk.Errors(allocate.Name, ": ", on, " is neither true nor false")
	}
	if t := allocatorType.In(s); t != rangeAllocator {
		return sdk.Errors(allocatorType.Name, ": ", t, ": there is no such allocator without a cloud provider; there is ",
			rangeAllocator)
	}
	_, err := poolsOf(s)
	return err
}

// poolsOf returns the pools of the settings, with what is taken by Services.
func poolsOf(s *sdk.Settings) ([]*pool, error) {
	labels := abi.SettingValues(clusterCIDR.In(s))
	if len(labels) == 0 {
		return nil, sdk.Errors(clusterCIDR.Name, ": must be set if ", allocate.Name, " is")
	}
	var ranges []netip.Prefix
	for _, text := range labels {
		r, ok := parseRange(text)
		if !ok {
			return nil, sdk.Errors(clusterCIDR.Name, ": ", text, " is no range of addresses such as 10.244.0.0/16")
		}
		ranges = append(ranges, r)
	}
	if len(ranges) > 2 || len(ranges) == 2 && is6(ranges[0]) == is6(ranges[1]) {
		return nil, sdk.Errors(clusterCIDR.Name, ": ", clusterCIDR.In(s), ": there may be two ranges, one of each family")
	}

	services, err := serviceRanges(s)
	if err != nil {
		return nil, err
	}
	bits, err := blockBits(s, ranges)
	if err != nil {
		return nil, err
	}

	var pools []*pool
	for i, r := range ranges {
		b := bits[0]
		if is6(r) {
			b = bits[1]
		}
		switch {
		case b < r.Bits():
			return nil, sdk.Errors(clusterCIDR.Name, ": ", labels[i], ": a node's range, of ", strconv.Itoa(b),
				" bits, would be larger: lower the mask of one, or raise that of the other")
		case b > r.Addr().BitLen():
			return nil, sdk.Errors(clusterCIDR.Name, ": ", labels[i], ": addresses have no ", strconv.Itoa(b), " bits")
		case is6(r) && b-r.Bits() > mostBits6:
			return nil, sdk.Errors(clusterCIDR.Name, ": ", labels[i], ": a node's range, of ", strconv.Itoa(b),
				" bits, may have no more than 16 bits more")
		}
		p := newPool(r, labels[i], b)
		for _, x := range services {
			p.occupy(x)
		}
		pools = append(pools, p)
	}
	return pools, nil
}

// serviceRanges returns the ranges of Services. One that can't be read is none, as natively.
func serviceRanges(s *sdk.Settings) (all []netip.Prefix, err error) {
	texts := strings.Split(serviceCIDR.In(s), ",")
	if len(texts) > 2 {
		return nil, sdk.Errors(serviceCIDR.Name, ": ", serviceCIDR.In(s), ": there may be two ranges")
	}
	for _, text := range texts {
		if r, ok := parseRange(text); ok {
			all = append(all, r)
		}
	}
	if len(all) == 2 && is6(all[0]) == is6(all[1]) {
		return nil, sdk.Errors(serviceCIDR.Name, ": ", serviceCIDR.In(s), ": two ranges must be of different families")
	}
	return all, nil
}

// blockBits returns how many bits the masks of nodes' ranges have, of IPv4 and of IPv6. Which settings there may be
// hangs on the families of the cluster's ranges.
func blockBits(s *sdk.Settings, ranges []netip.Prefix) ([2]int, error) {
	var set [3]int
	for i, x := range []*sdk.Setting{maskSize, maskSize4, maskSize6} {
		n, err := strconv.Atoi(x.In(s))
		if err != nil {
			return [2]int{}, sdk.Errors(x.Name, ": ", x.In(s), " is not a whole number")
		}
		set[i] = n
	}

	refused := func(x *sdk.Setting, why string) ([2]int, error) {
		return [2]int{}, sdk.Errors(x.Name, ": may not be set ", why)
	}
	two, only6 := len(ranges) == 2, is6(ranges[0])
	switch {
	case set[0] != 0 && two:
		return refused(maskSize, "in a cluster of both families: set those of the families")
	case set[0] != 0 && set[1] != 0:
		return refused(maskSize4, "beside "+maskSize.Name)
	case set[0] != 0 && set[2] != 0:
		return refused(maskSize6, "beside "+maskSize.Name)
	case set[0] != 0:
		return [2]int{set[0], set[0]}, nil
	case set[1] != 0 && !two && only6:
		return refused(maskSize4, "in a cluster of IPv6 alone")
	case set[2] != 0 && !two && !only6:
		return refused(maskSize6, "in a cluster of IPv4 alone")
	}
	bits := [2]int{24, 64}
	for i, n := range set[1:] {
		if n != 0 {
			bits[i] = n
		}
	}
	return bits, nil
}

func is6(r netip.Prefix) bool { return r.Addr().Is6() }

// parseRange reads a range as older versions of Kubernetes have written it, too: with zeros before its numbers, or with
// an address in it that isn't its first.
func parseRange(text string) (netip.Prefix, bool) {
	address, bits, ok := strings.Cut(strings.TrimSpace(text), "/")
	if !ok {
		return netip.Prefix{}, false
	}
	r, err := netip.ParsePrefix(endpoint.Canonical(address) + "/" + bits)
	return r.Masked(), err == nil
}
