package schema

import "fmt"

const (
	fieldSize    = 16  // about what a field takes whose type isn't a struct, beside its content
	entrySize    = 64  // about what an entry takes in a map
	decodedDepth = 200 // messages in each other
)

// DecodedSize returns about how many bytes a message takes once it is decoded into its Go type. It is an error when
// that is more than most: on the wire an empty struct of a kilobyte has two bytes.
func (m *Message) DecodedSize(b []byte, most int) (int, error) {
	d := decodedBytes{most: most}
	err := d.addMessage(m, b, 0)
	return d.size, err
}

type decodedBytes struct{ size, most int }

func (d *decodedBytes) add(n int) error {
	if d.size += n; d.size > d.most {
		return fmt.Errorf("decoded it would take more than %d bytes of memory", d.most)
	}
	return nil
}

func (d *decodedBytes) addMessage(m *Message, b []byte, depth int) error {
	if depth > decodedDepth {
		return fmt.Errorf("messages are nested deeper than %d", decodedDepth)
	}
	own := fieldSize
	if m.typ != nil {
		own = int(m.typ.Size())
	}
	if err := d.add(own); err != nil {
		return err
	}

	return Each(b, func(number int32, content []byte) error {
		f := m.Field(number)
		if f == nil {
			return nil // Go's decoder skips it
		}
		if err := d.add(fieldSize); err != nil {
			return err
		}
		if !f.Map {
			return d.addValue(f, content, depth)
		}
		if err := d.add(entrySize); err != nil {
			return err
		}
		return Each(content, func(number int32, value []byte) error {
			if number != 2 {
				return d.add(len(value))
			}
			return d.addValue(f, value, depth)
		})
	})
}

// addValue adds what a field's value takes: of a message its own fields, for what is in it is counted there.
func (d *decodedBytes) addValue(f *Field, content []byte, depth int) error {
	switch {
	case f.Kind == Struct:
		return d.addMessage(f.Message, content, depth+1)
	case f.Kind >= Time:
		return d.add(entrySize + len(content))
	}
	return d.add(len(content))
}
