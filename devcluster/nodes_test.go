package main

import (
	"net/netip"
	"testing"
)

// Every node that may be asked for has ranges of its own, and none overlaps the services' or the spare range of other
// nodes.
func TestPodRangesAreDisjoint(t *testing.T) {
	var taken []netip.Prefix
	for _, s := range []string{"10.96.0.0/16", "10.127.0.0/16", "fd00:10:96::/112"} {
		taken = append(taken, netip.MustParsePrefix(s))
	}

	for _, nodes := range []int{manyNodes, manyNodes + 1, maxNodes} {
		expectDisjoint(t, nodes, taken)
	}
}

// expectDisjoint checks the ranges of so many nodes.
func expectDisjoint(t *testing.T, nodes int, taken []netip.Prefix) {
	t.Helper()
	owner := map[netip.Prefix]int{}
	for i := range nodes {
		for _, s := range podRanges(i, nodes) {
			p, err := netip.ParsePrefix(s)
			if err != nil || p != p.Masked() {
				t.Fatalf("node %d: %q is no network: %v", i, s, err)
			}
			if other, ok := owner[p]; ok {
				t.Fatalf("nodes %d and %d both have %v", other, i, p)
			}
			owner[p] = i
			for _, q := range taken {
				if p.Overlaps(q) {
					t.Errorf("node %d: %v overlaps %v", i, p, q)
				}
			}
		}
	}

	// Equal sizes on their own boundaries: different means disjoint.
	if len(owner) != 2*nodes {
		t.Errorf("%d ranges for %d nodes", len(owner), nodes)
	}
	if !netip.MustParsePrefix("10.128.0.0/9").Contains(netip.MustParsePrefix(podRanges(nodes-1, nodes)[0]).Addr()) {
		t.Errorf("the last of %d nodes has %v", nodes, podRanges(nodes-1, nodes))
	}
}
