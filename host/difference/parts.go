package difference

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi/wire"
)

// part is one occurrence of a field in a message.
type part struct {
	number int32
	kind   wire.WireType
	value  []byte // the body of a length-delimited field, else the encoded number
	whole  []byte // tag and value
}

// splitFields returns the fields of a message, as often as they occur.
func splitFields(raw []byte) ([]part, error) {
	n := 0
	for f := (wire.Fields{Data: raw}); f.Next(); {
		n++
	}
	if n == 0 && len(raw) == 0 {
		return nil, nil
	}
	parts := make([]part, 0, n)
	f := wire.Fields{Data: raw}
	for f.Next() {
		p := part{number: int32(f.Num), kind: f.Type, whole: f.Raw(), value: f.Bytes}
		if f.Type != wire.WireBytes {
			_, behind := wire.ConsumeVarint(raw, f.Start) // the tag
			p.value = raw[behind:f.End]
		}
		parts = append(parts, p)
	}
	if f.Err != 0 {
		return nil, fmt.Errorf("field at byte %d: %w", f.End, f.Err)
	}
	return parts, nil
}

// partsOfField keeps the parts of one field.
func partsOfField(parts []part, number int32) []part {
	first, n := 0, 0
	for i, p := range parts {
		if p.number == number {
			if n == 0 {
				first = i
			}
			n++
		}
	}
	if n == 0 {
		return nil
	}
	if last := first + n; consecutive(parts[first:last], number) {
		return parts[first:last:last] // as encoders write them
	}
	out := make([]part, 0, n)
	for _, p := range parts[first:] {
		if p.number == number {
			out = append(out, p)
		}
	}
	return out
}

func consecutive(parts []part, number int32) bool {
	for _, p := range parts {
		if p.number != number {
			return false
		}
	}
	return true
}

// mergedBody returns the message in a singular field: several occurrences are merged, as every decoder does by reading
// them one after the other.
func mergedBody(parts []part) []byte {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0].value
	}
	var out []byte
	for _, p := range parts {
		out = append(out, p.value...)
	}
	return out
}

func joinParts(parts []part) []byte {
	n := 0
	for _, p := range parts {
		n += len(p.whole)
	}
	if n == 0 {
		return nil
	}
	out := make([]byte, 0, n)
	for _, p := range parts {
		out = append(out, p.whole...)
	}
	return out
}

func lastValue(parts []part) []byte {
	if len(parts) == 0 {
		return nil
	}
	return parts[len(parts)-1].value
}
