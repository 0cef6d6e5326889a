package servicecidr

import (
	"net/netip"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	networkingv1 "github.com/windlass-dev/windlass/sdk/api/networking/v1"
)

// inUse reports whether a Service has an address that no other ServiceCIDR has. It finds one such address and keeps
// its name in the state: as long as that one is there no other is looked at, and nothing but its end wakes the key.
func inUse(c *sdk.Call, cidr *networkingv1.ServiceCIDR) bool {
	own := prefixesOf(cidr)
	var others []netip.Prefix
	for _, other := range all.List(c) {
		if other.Name != cidr.Name {
			others = append(others, prefixesOf(other)...)
		}
	}

	if !slices.ContainsFunc(own, func(p netip.Prefix) bool { return !isWithin(p, others) }) {
		return false // its addresses are the others' as well
	}

	if name := string(c.State()); name != "" && orphaned(c, abi.Ask{Names: []string{name}}, own, others) != "" {
		return true
	}
	name := orphaned(c, abi.Ask{}, own, others)
	c.SetState([]byte(name))
	return name != ""
}

// orphaned returns the name of one of the addresses asked for that is in one of our own prefixes and in none of the
// others, empty where there is none.
func orphaned(c *sdk.Call, ask abi.Ask, own, others []netip.Prefix) string {
	families := familiesOf(own)
	for _, o := range addresses.Ask(c, ask) {
		a, err := netip.ParseAddr(o.Name)
		if err == nil && slices.Contains(families, o.Labels.Get(networkingv1.LabelIPAddressFamily)) &&
			isAssignable(a, own) && !isAssignable(a, others) {
			return o.Name
		}
	}
	return ""
}

// prefixesOf returns the ServiceCIDR's prefixes. The API server lets none pass that can't be read.
func prefixesOf(cidr *networkingv1.ServiceCIDR) (all []netip.Prefix) {
	for _, text := range cidr.Spec.CIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// familiesOf returns the families of prefixes, as addresses have them in a label.
func familiesOf(prefixes []netip.Prefix) (all []string) {
	for _, p := range prefixes {
		f := corev1.IPv6Protocol
		if p.Addr().Is4() {
			f = corev1.IPv4Protocol
		}
		all = append(all, string(f))
	}
	return all
}

// isWithin reports whether all of the prefix is in one of the others, which may be equal to it.
func isWithin(p netip.Prefix, others []netip.Prefix) bool {
	return slices.ContainsFunc(others, func(o netip.Prefix) bool { return o.Overlaps(p) && o.Bits() <= p.Bits() })
}

// isAssignable reports whether a Service can have the address out of one of the prefixes: none is given the first
// address of a prefix, nor of IPv4 the last one (pkg/api/servicecidr).
func isAssignable(a netip.Addr, prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool {
		return p.Contains(a) && a != p.Masked().Addr() && !(a.Is4() && a == lastOf(p))
	})
}

// lastOf returns the last address of a prefix of IPv4.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}
