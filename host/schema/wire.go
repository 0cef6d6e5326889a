package schema

import "github.com/windlass-dev/windlass/abi/wire"

// errType is the error of a field whose wire type isn't that of its kind.
const errType = wire.ErrWireType

// field is one field of a message: b[start:end] with its key, b[payload:end] without key or length.
type field struct {
	number              int32
	wire                wire.WireType
	start, payload, end int
	value               uint64 // of a varint
}

// readVarint reads a number at b[i:], and returns where the next thing starts.
func readVarint(b []byte, i int) (uint64, int, error) {
	v, i := wire.ConsumeVarint(b, i)
	if i < 0 {
		return 0, 0, wire.Error(-i)
	}
	return v, i, nil
}

// isOneByte reports whether the number at b[i:] is one byte, as most keys and lengths are: for these, next makes no
// call.
func isOneByte(b []byte, i int) bool { return i < len(b) && b[i] < 0x80 }

// next reads the field that starts at b[i:].
func (f *field) next(b []byte, i int) (err error) {
	f.start = i
	var key, n uint64
	if isOneByte(b, i) {
		key, i = uint64(b[i]), i+1
	} else if key, i, err = readVarint(b, i); err != nil {
		return err
	}

	if key>>3 == 0 || key>>3 > wire.MaxNum {
		return wire.ErrTag
	}
	f.number, f.wire = int32(key>>3), wire.WireType(key&7)

	switch f.wire {
	case wire.WireBytes:
		if isOneByte(b, i) {
			n, i = uint64(b[i]), i+1
		} else if n, i, err = readVarint(b, i); err != nil {
			return err
		}
		if n > uint64(len(b)-i) {
			return wire.ErrTruncated
		}
		f.payload, f.end = i, i+int(n)
		return nil
	case wire.WireVarint:
		f.payload = i
		f.value, f.end, err = readVarint(b, i)
		return err
	case wire.WireFixed64:
		f.payload, f.end = i, i+8
	case wire.WireFixed32:
		f.payload, f.end = i, i+4
	default:
		return wire.ErrWireType
	}

	if f.end > len(b) {
		return wire.ErrTruncated
	}
	return nil
}

// Each calls f with the content of each field of a message that is a string, bytes or a message.
func Each(message []byte, f func(number int32, content []byte) error) error {
	var x field
	for i := 0; i < len(message); i = x.end {
		if err := x.next(message, i); err != nil {
			return err
		}
		if x.wire != wire.WireBytes {
			continue
		}
		if err := f(x.number, message[x.payload:x.end:x.end]); err != nil {
			return err
		}
	}
	return nil
}
