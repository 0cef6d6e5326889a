package rewrite

import (
	"fmt"
	"unicode/utf8"
)

// reader decodes a part of a module. The first error stays; after it every read gives zero.
type reader struct {
	b    []byte
	pos  int
	what string // for errors: the section or function being read
	err  error
}

func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %s", r.what, fmt.Sprintf(format, args...))
		r.pos = len(r.b)
	}
}

func (r *reader) hasMore() bool { return r.err == nil && r.pos < len(r.b) }

func (r *reader) byte() byte {
	if r.pos >= len(r.b) {
		r.failf("truncated")
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)-r.pos) {
		r.failf("truncated: %d bytes announced, %d left", n, len(r.b)-r.pos)
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos]
}

// u32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c > 0x0f {
			break
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.failf("number is longer than 32 bits")
	return 0
}

// signedLEB reads a signed LEB128 of the given bits: 32, 33 or 64.
func (r *reader) signedLEB(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if c >= 0x80 {
			continue
		}
		if left := bits - shift; left < 7 { // the bits above the number's must repeat its sign
			if over := int8(c<<1) >> left; over != 0 && over != -1 {
				break
			}
		}
		if end := shift + 7; end < 64 && c&0x40 != 0 {
			v |= -1 << end
		}
		return v
	}
	r.failf("number is longer than %d bits", bits)
	return 0
}

// count reads the length of a vector whose elements take at least size bytes each, so that no length is believed that
// the bytes can't hold.
func (r *reader) count(size int) uint32 {
	n := r.u32()
	if uint64(n)*uint64(size) > uint64(len(r.b)-r.pos) {
		r.failf("truncated: %d entries announced, %d bytes left", n, len(r.b)-r.pos)
		return 0
	}
	return n
}

func (r *reader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.failf("name %q is not UTF-8", b)
	}
	return string(b)
}

func appendU(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendS(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendName(b []byte, s string) []byte {
	return append(appendU(b, uint32(len(s))), s...)
}
