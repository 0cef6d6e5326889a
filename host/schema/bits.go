package schema

import "math/bits"

// Bits is a set of small numbers.
type Bits []uint64

// Reset makes the set empty, with room for n numbers.
func (b *Bits) Reset(n int) {
	words := (n + 63) / 64
	if cap(*b) < words {
		*b = make(Bits, words)
		return
	}
	*b = (*b)[:words]
	clear(*b)
}

// Set adds i.
func (b *Bits) Set(i int) {
	for i/64 >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

// Has reports whether i is in the set.
func (b Bits) Has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

// Any reports whether the set has a number.
func (b Bits) Any() bool {
	for _, w := range b {
		if w != 0 {
			return true
		}
	}
	return false
}

// Intersects reports whether the sets have a number in common.
func (b Bits) Intersects(c Bits) bool {
	for i := range min(len(b), len(c)) {
		if b[i]&c[i] != 0 {
			return true
		}
	}
	return false
}

// Count returns how many numbers are in the set.
func (b Bits) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// or adds all of c, which has no more words than b.
func (b Bits) or(c Bits) {
	for i, w := range c {
		b[i] |= w
	}
}
