package effects

import (
	"bytes"
	"fmt"

	"github.com/windlass-dev/windlass/abi/wire"
)

// The field numbers of ObjectMeta that the host reads or sets; every object has its ObjectMeta in field 1.
const (
	fieldMeta           = 1
	metaName            = 1
	metaGenerateName    = 2
	metaNamespace       = 3
	metaUID             = 5
	metaResourceVersion = 6
	metaDeletion        = 9
	metaDeletionGrace   = 10
	metaOwners          = 13
	metaFinalizers      = 14
	ownerUID            = 4
	ownerController     = 6
	namespaceSpec       = 2
	namespaceFinalizers = 1
)

// meta is what the host reads of an object's metadata.
type meta struct {
	name, generateName, namespace, uid, resourceVersion string
	controller                                          string // the controlling owner's UID
	deleting, noGrace                                   bool
	finalizers                                          int
}

// readMeta reads an object's metadata. It allocates nothing but what it gives.
func readMeta(raw []byte) (meta, error) {
	var m meta
	err := eachMeta(raw, m.readField)
	return m, err
}

// eachMeta calls f with each field of an object's metadata. Several occurrences are merged, as every decoder does by
// reading them one after the other.
func eachMeta(raw []byte, f func(*wire.Fields) error) error {
	top := wire.Fields{Data: raw}
	for top.Next() {
		if top.Num != fieldMeta {
			continue
		}
		if top.Type != wire.WireBytes {
			return fmt.Errorf("metadata: at byte %d: it is no message", top.Start)
		}
		fields := wire.Fields{Data: top.Bytes}
		for fields.Next() {
			if err := f(&fields); err != nil {
				return fmt.Errorf("metadata%w", err)
			}
		}
		if fields.Err != 0 {
			return fmt.Errorf("metadata: field at byte %d: %w", fields.End, fields.Err)
		}
	}
	if top.Err != 0 {
		return fmt.Errorf("field at byte %d: %w", top.End, top.Err)
	}
	return nil
}

// readField reads one field of the metadata.
func (m *meta) readField(f *wire.Fields) error {
	switch f.Num {
	case metaName:
		m.name = string(f.Bytes)
	case metaGenerateName:
		m.generateName = string(f.Bytes)
	case metaNamespace:
		m.namespace = string(f.Bytes)
	case metaUID:
		m.uid = string(f.Bytes)
	case metaResourceVersion:
		m.resourceVersion = string(f.Bytes)
	case metaDeletion:
		m.deleting = isSet(f)
	case metaDeletionGrace:
		m.noGrace = f.Type == wire.WireVarint && f.Uint == 0

	case metaFinalizers:
		m.finalizers++
	case metaOwners:
		var uid []byte
		controls := false
		owner := wire.Fields{Data: f.Bytes}
		for owner.Next() {
			switch owner.Num {
			case ownerUID:
				uid = owner.Bytes
			case ownerController:
				controls = owner.Type == wire.WireVarint && owner.Uint != 0
			}
		}
		if owner.Err != 0 {
			return fmt.Errorf(".ownerReferences: field at byte %d: %w", owner.End, owner.Err)
		}
		if controls {
			m.controller = string(uid)
		}
	}
	return nil
}

func isSet(f *wire.Fields) bool { return f.Type != wire.WireBytes || len(f.Bytes) > 0 }

// isDeleting reports whether an object has a deletion timestamp.
func isDeleting(raw []byte) bool {
	deleting := false
	err := eachMeta(raw, func(f *wire.Fields) error {
		if f.Num == metaDeletion {
			deleting = isSet(f)
		}
		return nil
	})
	return err == nil && deleting
}

// text is a string of an object's metadata.
type text struct {
	number int32
	value  string
}

// setMeta replaces strings of an object's metadata; "" removes one.
func setMeta(raw []byte, texts ...text) ([]byte, error) {
	size := 0
	for _, t := range texts {
		size += len(t.value) + tagMost
	}

	metadata := make([]byte, 0, size+metaLen(raw))
	for _, t := range texts {
		if t.value != "" {
			metadata = wire.AppendString(metadata, uint32(t.number), t.value)
		}
	}

	if err := eachMeta(raw, func(f *wire.Fields) error {
		for _, t := range texts {
			if int32(f.Num) == t.number {
				return nil
			}
		}
		metadata = append(metadata, f.Raw()...)
		return nil
	}); err != nil {
		return nil, err
	}

	out := make([]byte, 0, size+len(raw)+tagMost)
	if len(metadata) > 0 {
		out = wire.AppendBytes(out, fieldMeta, metadata)
	}

	for top := (wire.Fields{Data: raw}); top.Next(); {
		if top.Num != fieldMeta {
			out = append(out, top.Raw()...)
		}
	}
	return out, nil
}

// metaLen is about how long an object's metadata is.
func metaLen(raw []byte) int {
	for top := (wire.Fields{Data: raw}); top.Next(); {
		if top.Num == fieldMeta {
			return len(top.Bytes)
		}
	}
	return 0
}

// tagMost is more than a field's tag and length take.
const tagMost = 16

// namespaceFinalizersOf counts a namespace's spec.finalizers, which keep it like those of the metadata.
func namespaceFinalizersOf(raw []byte) int {
	n := 0
	top := wire.Fields{Data: raw}
	for top.Next() {
		if top.Num != namespaceSpec {
			continue
		}
		spec := wire.Fields{Data: top.Bytes}
		for spec.Next() {
			if spec.Num == namespaceFinalizers {
				n++
			}
		}
		if spec.Err != 0 {
			return 0
		}
	}
	if top.Err != 0 {
		return 0
	}
	return n
}

// magic begins each Kubernetes protobuf message; after it comes a runtime.Unknown.
var magic = []byte{'k', '8', 's', 0}

// The fields of runtime.Unknown and its TypeMeta.
const (
	unknownType = 1
	unknownRaw  = 2
	typeVersion = 1
	typeKind    = 2
)

// wrap puts an object's bytes into the envelope in which Kubernetes sends protobuf.
func wrap(apiVersion, kind string, raw []byte) []byte {
	out := make([]byte, 0, len(magic)+len(apiVersion)+len(kind)+len(raw)+4*tagMost)
	out = append(out, magic...)
	out, start := wire.Begin(out, unknownType)
	out = wire.AppendString(out, typeVersion, apiVersion)
	out = wire.AppendString(out, typeKind, kind)
	out = wire.End(out, start)
	return wire.AppendBytes(out, unknownRaw, raw)
}

// unwrap opens the envelope.
func unwrap(b []byte) (apiVersion, kind string, raw []byte, err error) {
	rest, ok := bytes.CutPrefix(b, magic)
	if !ok {
		return "", "", nil, fmt.Errorf("the server's answer is not Kubernetes protobuf: it begins with %q",
			b[:min(len(b), 16)])
	}

	var types []byte
	f := wire.Fields{Data: rest}
	for f.Next() {
		switch f.Num {
		case unknownType:
			types = f.Bytes
		case unknownRaw:
			raw = f.Bytes
		}
	}

	if f.Err != 0 {
		return "", "", nil, fmt.Errorf("the server's answer: field at byte %d: %w", f.End, f.Err)
	}
	t := wire.Fields{Data: types}
	for t.Next() {
		switch t.Num {
		case typeVersion:
			apiVersion = string(t.Bytes)
		case typeKind:
			kind = string(t.Bytes)
		}
	}

	if t.Err != 0 {
		return "", "", nil, fmt.Errorf("the type of the server's answer: field at byte %d: %w", t.End, t.Err)
	}
	return apiVersion, kind, raw, nil
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }
