package resource

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Codec is how objects travel that aren't protobuf as a whole.
type Codec struct {
	append func(b []byte, p unsafe.Pointer, t *wire.Type) []byte
	decode func(b []byte, p unsafe.Pointer, t *wire.Type) error
}

// JSON is the codec of custom resources: field 1 of the message is the metadata, in protobuf as everywhere, field 2 the
// JSON object of all other members but apiVersion and kind.
var JSON = Codec{appendJSON, decodeJSON}

const bodyField = 2

// bodyTable returns the table of what field 2 holds: a custom resource's fields come with TypeMeta first and the
// metadata last.
func bodyTable(t *wire.Type) wire.Type {
	b := *t
	for len(b.Fields) > 0 && b.Fields[0].Elem == &metav1.TypeMetaTable {
		b.Fields = b.Fields[1:]
	}
	for n := len(b.Fields); n > 0 && b.Fields[n-1].Num != 0; n-- {
		b.Fields = b.Fields[:n-1]
	}
	return b
}

func appendJSON(b []byte, p unsafe.Pointer, t *wire.Type) []byte {
	rest := bodyTable(t)
	b, start := wire.Begin(wire.Append(b, p, t), bodyField)
	return wire.End(wire.AppendJSON(b, p, &rest), start)
}

func decodeJSON(b []byte, p unsafe.Pointer, t *wire.Type) error {
	var others, text []byte
	f := wire.Fields{Data: b}
	for f.Next() {
		switch {
		case f.Num == bodyField && f.Type == wire.WireBytes:
			text = f.Bytes
		case others == nil:
			others = f.Raw()
		default:
			others = append(others, f.Raw()...)
		}
	}
	if f.Err != 0 {
		return f.Err
	}
	if err := wire.Unmarshal(others, p, t); err != nil || len(text) == 0 {
		return err
	}
	rest := bodyTable(t)
	return wire.UnmarshalJSONPath(text, p, &rest)
}
