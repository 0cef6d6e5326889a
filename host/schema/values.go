package schema

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Raw appends what is at the path, undecoded: the content of messages, strings and bytes; the encoded numbers; the
// entries of a map without a key; values in JSON as they are written, but no null. It aliases raw.
func (p *Path) Raw(dst [][]byte, raw []byte) ([][]byte, error) {
	dst, err := p.findValues(dst, raw, false)
	if err != nil {
		return dst, fmt.Errorf("%s: %w", p.text, err)
	}
	return dst, nil
}

// Values appends the scalars at the path as text: strings as they are, numbers in decimal, true and false, times as in
// JSON, IntOrString and quantities as text. Of a map without a key they are the values. A path that ends at messages,
// or at objects in JSON, has none. Strings alias raw, unless something in them is escaped.
func (p *Path) Values(dst [][]byte, raw []byte) ([][]byte, error) {
	dst, err := p.findValues(dst, raw, true)
	if err != nil {
		return dst, fmt.Errorf("%s: %w", p.text, err)
	}
	return dst, nil
}

func (p *Path) findValues(dst [][]byte, raw []byte, text bool) ([][]byte, error) {
	if len(p.steps) == 0 {
		return collectBody(dst, raw, p.members, text)
	}
	return p.collect(dst, raw, p.steps, text)
}

func (p *Path) collect(dst [][]byte, b []byte, steps []step, text bool) ([][]byte, error) {
	s := &steps[0]
	var f field
	for i := 0; i < len(b); i = f.end {
		if err := f.next(b, i); err != nil {
			return dst, err
		}
		if f.number != s.number {
			continue
		}

		kind, v := f.wire, b[f.payload:f.end]
		value := f.value
		if s.entry || text && s.field.Map {
			if kind != wire.WireBytes {
				return dst, errType
			}
			e, ok, err := s.entryValue(v)
			if err != nil {
				return dst, err
			}
			if !ok {
				continue
			}
			kind, value, v = e.wire, e.value, v[e.payload:e.end]
		}

		if s.controlling {
			ok, err := controls(v)
			if err != nil {
				return dst, err
			}
			if !ok {
				continue
			}
		}

		var err error
		if len(steps) > 1 {
			if kind != wire.WireBytes {
				return dst, errType
			}
			dst, err = p.collect(dst, v, steps[1:], text)
		} else if s.field.Kind == JSON {
			if kind != wire.WireBytes {
				return dst, errType
			}
			dst, err = collectBody(dst, v, p.members, text)
		} else if text {
			dst, err = appendText(dst, s.field, kind, value, v)
		} else {
			dst = append(dst, v)
		}

		if err != nil {
			return dst, err
		}
	}

	return dst, nil
}

// entryValue finds the value in a map's entry; not ok if the key is another, or there is no value.
func (s *step) entryValue(entry []byte) (field, bool, error) {
	var f, value field
	found, match := false, !s.keyed || s.key == ""
	for i := 0; i < len(entry); i = f.end {
		if err := f.next(entry, i); err != nil {
			return f, false, err
		}
		switch {
		case f.number == 1 && s.keyed:
			match = f.wire == wire.WireBytes && string(entry[f.payload:f.end]) == s.key
		case f.number == 2:
			value, found = f, true
		}
	}
	return value, found && match, nil
}

// controls reports whether an owner reference is the controlling one.
func controls(ref []byte) (bool, error) {
	const controller = 6 // metav1.OwnerReference
	var f field
	yes := false
	for i := 0; i < len(ref); i = f.end {
		if err := f.next(ref, i); err != nil {
			return false, err
		}
		if f.number == controller && f.wire == wire.WireVarint {
			yes = f.value != 0
		}
	}
	return yes, nil
}

var (
	textTrue  = []byte("true")
	textFalse = []byte("false")
	digits    = []byte("0123456789")
)

func decimal(v int64) []byte {
	if v >= 0 && v < 10 {
		return digits[v : v+1 : v+1]
	}
	return strconv.AppendInt(nil, v, 10)
}

// appendText appends the value of a field as text. It calls itself for a list in a list, and not collect: where two
// call each other, the compiler puts the room that every caller brings along on the heap.
func appendText(dst [][]byte, d *Field, kind wire.WireType, value uint64, v []byte) ([][]byte, error) {
	switch d.Kind {
	case Bool, Int:
		if kind == wire.WireBytes && d.Repeated { // packed
			for i := 0; i < len(v); {
				n, next, err := readVarint(v, i)
				if err != nil {
					return dst, err
				}
				dst, i = append(dst, decimal(int64(n))), next
			}
			return dst, nil
		}
		if kind != wire.WireVarint {
			return dst, errType
		}
		if d.Kind == Int {
			return append(dst, decimal(int64(value))), nil
		}
		if value != 0 {
			return append(dst, textTrue), nil
		}
		return append(dst, textFalse), nil
	case Float:
		switch {
		case kind == wire.WireFixed64:
			return append(dst, strconv.AppendFloat(nil, math.Float64frombits(binary.LittleEndian.Uint64(v)), 'g', -1, 64)), nil
		case kind == wire.WireFixed32:
			return append(dst, strconv.AppendFloat(nil, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), 'g', -1,
				32)), nil
		}
		return dst, errType
	}

	if kind != wire.WireBytes {
		return dst, errType
	}
	switch d.Kind {
	case String, Bytes:
		return append(dst, v), nil
	case Struct:
		if !d.Message.List {
			return dst, nil
		}
		var f field
		for i := 0; i < len(v); i = f.end {
			if err := f.next(v, i); err != nil {
				return dst, err
			}
			if f.number != 1 {
				continue
			}
			var err error
			if dst, err = appendText(dst, d.Message.fields[0], f.wire, f.value, v[f.payload:f.end]); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}

	// The special types: at most three scalars each.
	var n1, n2 int64
	var s1, s3 []byte
	var f field
	for i := 0; i < len(v); i = f.end {
		if err := f.next(v, i); err != nil {
			return dst, err
		}
		switch {
		case f.number == 1 && f.wire == wire.WireVarint:
			n1 = int64(f.value)
		case f.number == 2 && f.wire == wire.WireVarint:
			n2 = int64(f.value)
		case f.number == 1 && f.wire == wire.WireBytes:
			s1 = v[f.payload:f.end]
		case f.number == 3 && f.wire == wire.WireBytes:
			s3 = v[f.payload:f.end]
		}
	}

	switch d.Kind {
	case Time, MicroTime:
		if len(v) == 0 {
			return append(dst, v), nil
		}
		layout := time.RFC3339
		if d.Kind == MicroTime {
			layout = metav1.RFC3339Micro
		}
		return append(dst, time.Unix(n1, n2).UTC().AppendFormat(nil, layout)), nil
	case Duration:
		return append(dst, []byte(time.Duration(n1).String())), nil
	case IntOrString:
		if n1 != 0 {
			return append(dst, s3), nil
		}
		return append(dst, decimal(int64(int32(n2)))), nil
	}

	return append(dst, s1), nil // Quantity, RawExtension, FieldsV1
}
