package wire

import "math"

// WireType is how a protobuf field is framed.
type WireType uint8

// The wire types; groups are errors.
const (
	WireVarint  WireType = 0
	WireFixed64 WireType = 1
	WireBytes   WireType = 2
	WireFixed32 WireType = 5
)

// MaxNum is the highest number of a field.
const MaxNum = 1<<29 - 1

// AppendVarint appends v.
func AppendVarint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// SizeVarint is the length of v as a varint.
func SizeVarint(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

// AppendTag appends the tag of a field.
func AppendTag(b []byte, num uint32, t WireType) []byte {
	return AppendVarint(b, uint64(num)<<3|uint64(t))
}

// AppendBytes appends a field of bytes, or an encoded message.
func AppendBytes(b []byte, num uint32, data []byte) []byte {
	b = AppendVarint(AppendTag(b, num, WireBytes), uint64(len(data)))
	return append(b, data...)
}

// AppendString appends a field of text.
func AppendString(b []byte, num uint32, s string) []byte {
	b = AppendVarint(AppendTag(b, num, WireBytes), uint64(len(s)))
	return append(b, s...)
}

// AppendUint appends a field of a number.
func AppendUint(b []byte, num uint32, v uint64) []byte {
	return AppendVarint(AppendTag(b, num, WireVarint), v)
}

// Begin starts a field that holds a message, to be appended after it and closed by End with the position that Begin
// gives.
func Begin(b []byte, num uint32) ([]byte, int) {
	b = append(AppendTag(b, num, WireBytes), 0)
	return b, len(b)
}

// End writes the length of the message that began at start, and moves it where the length takes more than a byte.
func End(b []byte, start int) []byte {
	n := len(b) - start
	if n < 0x80 {
		b[start-1] = byte(n)
		return b
	}
	more := SizeVarint(uint64(n)) - 1
	for range more {
		b = append(b, 0)
	}
	copy(b[start+more:], b[start:start+n])
	AppendVarint(b[:start-1], uint64(n))
	return b
}

// ConsumeVarint reads a varint at b[i] and returns the index behind it, or a negative Error.
func ConsumeVarint(b []byte, i int) (uint64, int) {
	if i < len(b) {
		if c := b[i]; c < 0x80 {
			return uint64(c), i + 1
		}
	}
	var v uint64
	for s := uint(0); s < 70; s += 7 {
		if i >= len(b) {
			return 0, -int(ErrTruncated)
		}
		c := b[i]
		i++
		if s == 63 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << s
		if c < 0x80 {
			return v, i
		}
	}
	return 0, -int(ErrVarint)
}

// Fields goes through the fields of a message:
//
//	f := wire.Fields{Data: b}
//	for f.Next() {
//		switch f.Num { … }
//	}
//	if f.Err != 0 { return f.Err }
type Fields struct {
	Data  []byte // the whole message
	Num   uint32
	Type  WireType
	Uint  uint64 // of a varint or fixed field
	Bytes []byte // of a bytes field; aliases Data
	Start int    // where the field's tag begins in Data
	End   int    // where the field ends in Data
	Err   Error  // why Next gave up; 0 at the message's end
}

// Next reads the next field; false at the end, or at an error.
func (f *Fields) Next() bool {
	b, i := f.Data, f.End
	if i >= len(b) || f.Err != 0 {
		return false
	}

	f.Start = i
	key, i := ConsumeVarint(b, i)
	if i < 0 {
		return f.fail(Error(-i))
	}
	if key>>3 == 0 || key>>3 > MaxNum {
		return f.fail(ErrTag)
	}

	f.Num, f.Type = uint32(key>>3), WireType(key&7)
	f.Bytes = nil
	switch f.Type {
	case WireVarint:
		if f.Uint, i = ConsumeVarint(b, i); i < 0 {
			return f.fail(Error(-i))
		}
	case WireBytes:
		var n uint64
		if n, i = ConsumeVarint(b, i); i < 0 {
			return f.fail(Error(-i))
		}
		if n > uint64(len(b)-i) {
			return f.fail(ErrTruncated)
		}
		f.Bytes = b[i : i+int(n) : i+int(n)]
		i += int(n)
	case WireFixed64, WireFixed32:
		n := 8
		if f.Type == WireFixed32 {
			n = 4
		}
		if n > len(b)-i {
			return f.fail(ErrTruncated)
		}
		f.Uint, i = readFixed(b, i, n), i+n
	default:
		return f.fail(ErrWireType)
	}

	f.End = i
	return true
}

// String is the field's bytes as text; it aliases Data.
func (f *Fields) String() string { return unsafeString(f.Bytes) }

// Raw is the whole field with its tag.
func (f *Fields) Raw() []byte { return f.Data[f.Start:f.End:f.End] }

func (f *Fields) fail(e Error) bool {
	f.Err = e
	return false
}

func readFixed(b []byte, i, n int) (v uint64) {
	for k := n - 1; k >= 0; k-- {
		v = v<<8 | uint64(b[i+k])
	}
	return v
}

func appendDouble(b []byte, x float64) []byte {
	v := math.Float64bits(x)
	for s := uint(0); s < 64; s += 8 {
		b = append(b, byte(v>>s))
	}
	return b
}
