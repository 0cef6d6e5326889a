package nodeipam

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/sdk"
)

// settingsOf are the plugin's settings, by the order in which it declares them after the first.
func settingsOf(cluster, services, mask, mask4, mask6, kind string) *sdk.Settings {
	Plugin.Manifest() // numbers the settings
	return &sdk.Settings{Values: []string{"true", cluster, services, mask, mask4, mask6, kind}}
}

// Which settings go together (cmd/kube-controller-manager/app, TestSetNodeCIDRMaskSizes and others).
func TestCheck(t *testing.T) {
	const a = rangeAllocator
	for _, c := range []struct {
		cluster, services, mask, mask4, mask6, kind, err string
	}{
		{"10.0.0.0/16", "", "0", "0", "0", a, ""},
		{"10.0.0.0/16", "", "0", "26", "0", a, ""},
		{"10.0.0.0/16", "", "26", "0", "0", a, ""},
		{"10.0.0.0/16", "", "0", "0", "64", a, "node-cidr-mask-size-ipv6: may not be set in a cluster of IPv4 alone"},
		{"10.0.0.0/16", "", "26", "25", "0", a, "node-cidr-mask-size-ipv4: may not be set beside node-cidr-mask-size"},
		{"fd00::/48", "", "0", "0", "0", a, ""},
		{"fd00::/48", "", "60", "0", "0", a, ""},
		{"fd00::/48", "", "0", "0", "60", a, ""},
		{"fd00::/48", "", "0", "26", "0", a, "node-cidr-mask-size-ipv4: may not be set in a cluster of IPv6 alone"},
		{"fd00::/48", "", "60", "0", "62", a, "node-cidr-mask-size-ipv6: may not be set beside node-cidr-mask-size"},
		{"10.0.0.0/16,fd00::/48", "", "0", "25", "60", a, ""},
		{"fd00::/48,10.0.0.0/16", "10.96.0.0/12,fd00:1::/112", "0", "0", "0", a, ""},
		{"10.0.0.0/16,fd00::/48", "", "24", "0", "0", a,
			"node-cidr-mask-size: may not be set in a cluster of both families: set those of the families"},
		{"", "", "0", "0", "0", a, "cluster-cidr: must be set if allocate-node-cidrs is"},
		{"10.0.0.0", "", "0", "0", "0", a, "cluster-cidr: 10.0.0.0 is no range of addresses such as 10.244.0.0/16"},
		{"10.0.0.0/16,10.1.0.0/16", "", "0", "0", "0", a,
			"cluster-cidr: 10.0.0.0/16,10.1.0.0/16: there may be two ranges, one of each family"},
		{"10.0.0.0/16,fd00::/48,fd01::/48", "", "0", "0", "0", a,
			"cluster-cidr: 10.0.0.0/16,fd00::/48,fd01::/48: there may be two ranges, one of each family"},
		{"10.0.0.0/16", "10.1.0.0/16,10.2.0.0/16", "0", "0", "0", a,
			"service-cluster-ip-range: 10.1.0.0/16,10.2.0.0/16: two ranges must be of different families"},
		{"10.0.0.0/16", "10.1.0.0/16,fd00::/112,fd01::/112", "0", "0", "0", a,
			"service-cluster-ip-range: 10.1.0.0/16,fd00::/112,fd01::/112: there may be two ranges"},
		{"10.0.0.0/16", "nonsense", "0", "0", "0", a, ""},
		{"10.0.0.0/25", "", "0", "0", "0", a, "cluster-cidr: 10.0.0.0/25: a node's range, of 24 bits, would be larger: " +
			"lower the mask of one, or raise that of the other"},
		{"10.0.0.0/16", "", "33", "0", "0", a, "cluster-cidr: 10.0.0.0/16: addresses have no 33 bits"},
		{"10.0.0.0/16", "", "many", "0", "0", a, "node-cidr-mask-size: many is not a whole number"},
		{"fd00::/47", "", "0", "0", "0", a,
			"cluster-cidr: fd00::/47: a node's range, of 64 bits, may have no more than 16 bits more"},
		{"10.0.0.0/16", "", "0", "0", "0", "CloudAllocator",
			"cidr-allocator-type: CloudAllocator: there is no such allocator without a cloud provider; there is RangeAllocator"},
	} {
		got := ""
		if err := Plugin.Refused(settingsOf(c.cluster, c.services, c.mask, c.mask4, c.mask6, c.kind)); err != nil {
			got = err.Error()
		}
		if got != c.err {
			t.Errorf("%+v: %q", c, got)
		}
	}

	for on, want := range map[string]string{"": "", "false": "", "yes": "allocate-node-cidrs: yes is neither true nor false"} {
		s, got := settingsOf("nonsense", "", "0", "0", "0", "nonsense"), ""
		s.Values[0] = on
		if err := Plugin.Refused(s); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("allocate-node-cidrs %q: %q, should be %q", on, got, want)
		}
	}
}

func pool4(cluster string, bits int) *pool {
	return newPool(netip.MustParsePrefix(cluster), cluster, bits)
}

// Blocks go by numbers, and back (pkg/controller/nodeipam/ipam/cidrset, TestIndexToCIDRBlock and TestGetBitforCIDR).
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		cluster string
		bits    int
		number  uint64
		block   string
	}{
		{"127.123.3.0/16", 24, 0, "127.123.0.0/24"},
		{"127.123.0.0/16", 24, 15, "127.123.15.0/24"},
		{"192.168.5.219/28", 32, 5, "192.168.5.213/32"},
		{"0.0.0.0/0", 32, 1<<32 - 1, "255.255.255.255/32"},
		{"2001:0db8:1234:3::/48", 64, 0, "2001:db8:1234::/64"},
		{"2001:0db8:1234::/48", 64, 15, "2001:db8:1234:f::/64"},
		{"2001:0db8:85a3::8a2e:0370:7334/50", 63, 6425, "2001:db8:85a3:3232::/63"},
		{"2001:0db8::/32", 48, 0x4d2, "2001:db8:4d2::/48"},
		{"2001:0db8::/60", 68, 0xff, "2001:db8:0:f:f000::/68"},
		{"2001:0db8:0:0:8000::/64", 80, 0x1234, "2001:db8:0:0:1234::/80"},
		{"2001:db8::/112", 128, 0xffff, "2001:db8::ffff/128"},
	} {
		p := newPool(netip.MustParsePrefix(c.cluster).Masked(), "", c.bits)
		got := p.block(c.number)
		if got.String() != c.block || p.number(got.Addr()) != c.number || p.number(last(got)) != c.number {
			t.Errorf("%+v: block %v, whose number is %d, and of its last address %d", c, got,
				p.number(got.Addr()), p.number(last(got)))
		}
	}
}

// What a range takes of a pool (TestOccupy and TestGetBitforCIDR).
func TestOccupy(t *testing.T) {
	for _, c := range []struct {
		cluster string
		bits    int
		taken   string
		want    spans
	}{
		{"127.0.0.0/8", 16, "127.0.0.0/8", spans{{0, 255}}},
		{"127.0.0.0/8", 16, "127.0.0.0/2", spans{{0, 255}}},
		{"127.0.0.0/8", 16, "127.0.0.0/16", spans{{0, 0}}},
		{"127.0.0.0/8", 32, "127.0.0.0/16", spans{{0, 65535}}},
		{"127.0.0.0/7", 16, "127.0.0.0/15", spans{{256, 257}}},
		{"127.0.0.0/7", 15, "127.0.0.0/15", spans{{128, 128}}},
		{"127.0.0.0/7", 18, "127.0.0.0/15", spans{{1024, 1031}}},
		{"127.0.0.0/8", 16, "127.5.7.0/24", spans{{5, 5}}},
		{"127.0.0.0/8", 16, "128.0.0.0/8", nil},
		{"127.0.0.0/8", 16, "fd00::/8", nil},
		{"2001:db8::/48", 64, "2001:db8:0:8::/62", spans{{8, 11}}},
		{"2001:db8::/48", 64, "2001:db8:1::/48", nil},
	} {
		p := newPool(netip.MustParsePrefix(c.cluster).Masked(), "", c.bits)
		if ok := p.occupy(netip.MustParsePrefix(c.taken)); ok != (c.want != nil) || !slices.Equal(p.used, c.want) {
			t.Errorf("%+v: %v, %v", c, ok, p.used)
		}
	}
}

// Blocks are given as from a table of all that there are: whatever is used at the beginning, from wherever the search
// begins, and until none is left.
func TestNextIsThatOfATable(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		bits := r.IntN(7)
		p := pool4("10.0.0.0/8", 8+bits)
		table := make([]bool, p.size)
		for range r.IntN(12) {
			n := r.IntN(bits + 2)
			first := r.Uint64N(p.size) &^ (1<<n - 1)
			p.used = append(p.used, span{first, min(first+1<<n-1, p.size-1)})
			for i := first; i < min(first+1<<n, p.size); i++ {
				table[i] = true
			}
		}
		p.settle()
		p.cursor = r.Uint64N(p.size)
		var free uint64
		for _, used := range table {
			if !used {
				free++
			}
		}
		if p.count != p.size-free {
			t.Fatalf("seed %d: %d of %d are used, should be %d", seed, p.count, p.size, p.size-free)
		}

		for at := p.cursor; free > 0; free-- {
			want, skipped := at, uint64(0)
			for ; table[want]; skipped++ {
				want = (want + 1) % p.size
			}
			table[want], at = true, (want+1)%p.size
			if got, n := p.next(); got != want || n != skipped || p.exhausted() != (free == 1) {
				t.Fatalf("seed %d: block %d after %d, exhausted: %v; should be %d after %d, with %d left",
					seed, got, n, p.exhausted(), want, skipped, free-1)
			}
		}
		if !p.exhausted() {
			t.Fatalf("seed %d: not exhausted", seed)
		}
	}
}

// The state of a sync is what the next one reads, and none of other settings.
func TestState(t *testing.T) {
	pools := []*pool{pool4("10.0.0.0/16", 24), pool4("fd00::/48", 64)}
	pools[0].used, pools[0].cursor = spans{{0, 0}, {7, 9}, {255, 255}}, 10
	pools[1].cursor = 65535
	b := appendState(nil, pools)
	all, ok := readState(b, pools)
	if !ok || len(all) != 2 || all[0].cursor != 10 || all[1].cursor != 65535 ||
		!slices.Equal(all[0].used, pools[0].used) || all[1].used != nil {
		t.Errorf("%v, %+v", ok, all)
	}
	for _, other := range [][]*pool{nil, pools[:1], {pools[1], pools[0]}, {pool4("10.0.0.0/16", 25), pools[1]}} {
		if all, ok := readState(b, other); ok {
			t.Errorf("the state of other pools is read as %+v", all)
		}
	}
	if _, ok := readState(nil, pools); ok {
		t.Error("there was no state, and it was read")
	}
}

// What two sets have in common is what their tables have.
func TestCommon(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var sets [2]spans
		var tables [2][64]bool
		for i := range sets {
			for range r.IntN(8) {
				s := span{r.Uint64N(64), 0}
				s.last = min(s.first+r.Uint64N(6), 63)
				sets[i] = append(sets[i], s)
				for n := s.first; n <= s.last; n++ {
					tables[i][n] = true
				}
			}
			sets[i] = sets[i].merged()
		}
		var want uint64
		for n := range tables[0] {
			if tables[0][n] && tables[1][n] {
				want++
			}
		}
		if got := sets[0].common(sets[1]); got != want || sets[1].common(sets[0]) != want {
			t.Fatalf("seed %d: %v and %v have %d in common, should be %d", seed, sets[0], sets[1], got, want)
		}
	}
}
