package nodeipam

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"sort"

	"github.com/windlass-dev/windlass/sdk"
)

// pool is a range of the cluster, cut into blocks of equal size, of which each node gets one. Blocks go by numbers.
type pool struct {
	cluster netip.Prefix
	label   string // as the operator has written it
	bits    int    // of a block's mask
	size    uint64 // how many blocks there are

	used   spans
	count  uint64 // of the used ones, and of those given in this sync
	cursor uint64 // the block at which the next search begins
}

// span is a run of blocks, from the first to the last.
type span struct{ first, last uint64 }

// spans are runs that neither overlap nor touch, in their order.
type spans []span

func newPool(cluster netip.Prefix, label string, bits int) *pool {
	return &pool{cluster: cluster, label: label, bits: bits, size: 1 << (bits - cluster.Bits())}
}

// number returns the number of the block that an address of the cluster's range is in.
func (p *pool) number(a netip.Addr) uint64 {
	offset := p.cluster.Addr().BitLen() - p.bits
	if a.Is4() {
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:])) >> offset & (p.size - 1)
	}
	b := a.As16()
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	if offset >= 64 {
		return high >> (offset - 64) & (p.size - 1)
	}
	return (high<<(64-offset) | low>>offset) & (p.size - 1)
}

// block returns the block of a number.
func (p *pool) block(number uint64) netip.Prefix {
	offset := p.cluster.Addr().BitLen() - p.bits
	if p.cluster.Addr().Is4() {
		b := p.cluster.Addr().As4()
		binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|uint32(number<<offset))
		return netip.PrefixFrom(netip.AddrFrom4(b), p.bits)
	}
	b := p.cluster.Addr().As16()
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	if offset >= 64 {
		high |= number << (offset - 64)
	} else {
		high, low = high|number>>(64-offset), low|number<<offset
	}
	binary.BigEndian.PutUint64(b[:8], high)
	binary.BigEndian.PutUint64(b[8:], low)
	return netip.PrefixFrom(netip.AddrFrom16(b), p.bits)
}

// occupy takes down that the blocks are used that a range touches, and reports whether there are any.
func (p *pool) occupy(r netip.Prefix) bool {
	if !p.cluster.Overlaps(r) {
		return false
	}
	s := span{0, p.size - 1}
	if r.Bits() > p.cluster.Bits() {
		s = span{p.number(r.Masked().Addr()), p.number(last(r))}
	}
	p.used = append(p.used, s)
	return true
}

// last returns the last address of a range.
func last(r netip.Prefix) netip.Addr {
	b := r.Masked().Addr().AsSlice()
	for i := r.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// settle puts what is used in order, after all of it has been taken down.
func (p *pool) settle() {
	p.used = p.used.merged()
	p.count = p.used.blocks()
}

// exhausted reports whether no block is left.
func (p *pool) exhausted() bool { return p.count >= p.size }

// next returns the next block that is free, and how many were not before it. There must be one. What was given before
// in this sync lies between where that began and the cursor, so the search comes to a free one first.
func (p *pool) next() (number, skipped uint64) {
	number = p.cursor
	for {
		i := sort.Search(len(p.used), func(i int) bool { return p.used[i].last >= number })
		if i == len(p.used) || p.used[i].first > number {
			break
		}
		number = (p.used[i].last + 1) % p.size
	}
	skipped = (number - p.cursor + p.size) % p.size
	p.cursor = (number + 1) % p.size
	p.count++
	return number, skipped
}

// merged returns the same blocks, as spans are to be.
func (s spans) merged() spans {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	out := s[:0]
	for _, x := range s {
		if n := len(out); n > 0 && x.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, x.last)
			continue
		}
		out = append(out, x)
	}
	return out
}

// blocks returns how many blocks there are in all.
func (s spans) blocks() (n uint64) {
	for _, x := range s {
		n += x.last - x.first + 1
	}
	return n
}

// common returns how many blocks are in both.
func (s spans) common(t spans) (n uint64) {
	for len(s) > 0 && len(t) > 0 {
		if first, end := max(s[0].first, t[0].first), min(s[0].last, t[0].last); first <= end {
			n += end - first + 1
		}
		if s[0].last < t[0].last {
			s = s[1:]
		} else {
			t = t[1:]
		}
	}
	return n
}

// kept is what a key's state says of a pool.
type kept struct {
	cursor uint64
	used   spans
}

// appendState returns the state of pools, which is of no use for others.
func appendState(b []byte, pools []*pool) []byte {
	head := identity(pools)
	b = append(binary.AppendUvarint(b, uint64(len(head))), head...)
	for _, p := range pools {
		b = binary.AppendUvarint(binary.AppendUvarint(b, p.cursor), uint64(len(p.used)))
		at := uint64(0)
		for _, s := range p.used {
			b = binary.AppendUvarint(binary.AppendUvarint(b, s.first-at), s.last-s.first)
			at = s.last
		}
	}
	return b
}

// readState returns what an earlier sync has kept; not ok: nothing, or of other pools.
func readState(b []byte, pools []*pool) (all []kept, ok bool) {
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 0
		}
		b = b[n:]
		return v
	}
	n := number()
	if head := identity(pools); n != uint64(len(head)) || uint64(len(b)) < n || string(b[:n]) != head {
		return nil, false
	}
	b = b[n:]
	for range pools {
		k := kept{cursor: number()}
		at := uint64(0)
		for count := number(); count > 0 && len(b) > 0; count-- {
			first := at + number()
			at = first + number()
			k.used = append(k.used, span{first, at})
		}
		all = append(all, k)
	}
	return all, true
}

// identity returns the same text for pools of the same settings, and for no others.
func identity(pools []*pool) (text string) {
	for _, p := range pools {
		text += p.cluster.String() + " " + netip.PrefixFrom(p.cluster.Addr(), p.bits).String() + " "
	}
	return text
}

// errorOf says what is wrong with a node's range, and where it stands.
func errorOf(n *node, text, why string) error {
	return sdk.Errors("nodeipam: node ", n.Name, ": spec.podCIDRs: ", text, " ", why)
}
