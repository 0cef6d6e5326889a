package difference

import (
	"bytes"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

// Equal reports whether two objects mean the same: what their codecs may leave out or write in another way is no
// difference.
func Equal(m *schema.Message, a, b []byte) (bool, error) { return equalMessages(m, a, b, 0) }

// equalValues compares two values of a map, or two items of a list, for which absent and empty are the same.
func equalValues(f *schema.Field, a, b []part, depth int) (bool, error) {
	switch {
	case f.Kind == schema.Quantity:
		return equalQuantities(mergedBody(a), mergedBody(b))
	case f.Kind == schema.Time || f.Kind == schema.MicroTime:
		return equalTimes(mergedBody(a), mergedBody(b))
	case f.Kind == schema.Duration || f.Kind == schema.IntOrString || f.Kind == schema.RawExtension ||
		f.Kind == schema.FieldsV1:
		return equalScalars(mergedBody(a), mergedBody(b))
	case f.Message != nil:
		if err := delimited(a, b); err != nil {
			return false, err
		}
		return equalMessages(f.Message, mergedBody(a), mergedBody(b), depth+1)
	}
	x, err := scalarValue(a)
	if err != nil {
		return false, err
	}
	y, err := scalarValue(b)
	return bytes.Equal(x, y), err
}

// equalLeaves compares a singular leaf; where the type tells unset from zero, so does this.
func equalLeaves(f *schema.Field, a, b []part, depth int) (bool, error) {
	if f.Optional && (len(a) == 0) != (len(b) == 0) {
		return false, nil
	}
	return equalValues(f, a, b, depth)
}

// scalarValue returns a field's value in a form that can be compared: the shortest, and empty for zero.
func scalarValue(parts []part) ([]byte, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	p := parts[len(parts)-1]
	switch p.kind {
	case wire.WireVarint:
		v, n := wire.ConsumeVarint(p.value, 0)
		if n < 0 {
			return nil, wire.Error(-n)
		}
		if v == 0 {
			return nil, nil
		}
		return wire.AppendVarint(nil, v), nil
	case wire.WireFixed32, wire.WireFixed64:
		if len(bytes.Trim(p.value, "\x00")) == 0 {
			return nil, nil
		}
	}
	return p.value, nil
}

func equalLists(f *schema.Field, a, b []part, depth int) (bool, error) {
	a, err := unpackNumbers(f, a)
	if err != nil {
		return false, err
	}
	if b, err = unpackNumbers(f, b); err != nil {
		return false, err
	}
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if bytes.Equal(a[i].whole, b[i].whole) {
			continue
		}
		if same, err := equalValues(f, a[i:i+1], b[i:i+1], depth); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// unpackNumbers expands packed numbers, which every decoder has to accept.
func unpackNumbers(f *schema.Field, parts []part) ([]part, error) {
	if f.Kind != schema.Int && f.Kind != schema.Bool {
		return parts, nil
	}
	var out []part
	for _, p := range parts {
		if p.kind != wire.WireBytes {
			out = append(out, p)
			continue
		}
		for rest := p.value; len(rest) > 0; {
			_, n := wire.ConsumeVarint(rest, 0)
			if n < 0 {
				return nil, wire.Error(-n)
			}
			out = append(out, part{number: p.number, kind: wire.WireVarint, value: rest[:n], whole: rest[:n]})
			rest = rest[n:]
		}
	}
	return out, nil
}

// equalMessages compares two messages by meaning.
func equalMessages(m *schema.Message, a, b []byte, depth int) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	d := differ{}
	_, changed, err := d.message(m, nil, a, b, &trail{name: "item"}, depth)
	return !changed, err
}

func equalQuantities(a, b []byte) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	x, err := quantity(a)
	if err != nil {
		return false, nil // whatever the server makes of it, it isn't what was there
	}
	y, err := quantity(b)
	if err != nil {
		return false, nil
	}
	return x.Cmp(y) == 0, nil
}

func quantity(raw []byte) (resource.Quantity, error) {
	parts, err := splitFields(raw)
	if err != nil {
		return resource.Quantity{}, err
	}
	text := string(lastValue(partsOfField(parts, 1)))
	if text == "" {
		return resource.Quantity{}, nil
	}
	return resource.ParseQuantity(text)
}

// equalTimes compares two timestamps. An empty message is the zero time, {0, 0} the year 1970.
func equalTimes(a, b []byte) (bool, error) {
	if (len(a) == 0) != (len(b) == 0) {
		return false, nil
	}
	return equalScalars(a, b)
}

// equalScalars compares two messages that have nothing but singular scalars in them.
func equalScalars(a, b []byte) (bool, error) {
	x, err := splitFields(a)
	if err != nil {
		return false, err
	}
	y, err := splitFields(b)
	if err != nil {
		return false, err
	}
	for _, number := range numbers(x, y) {
		s, err := scalarValue(partsOfField(x, number))
		if err != nil {
			return false, err
		}
		t, err := scalarValue(partsOfField(y, number))
		if err != nil || !bytes.Equal(s, t) {
			return false, err
		}
	}
	return true, nil
}
