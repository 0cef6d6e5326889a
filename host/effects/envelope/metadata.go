package envelope

import (
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

// Meta is what the host reads of an object's metadata.
type Meta struct {
	Name, GenerateName, Namespace, UID, ResourceVersion string
	Controller                                          string // the controlling owner's UID
	Deleting, NoGrace                                   bool
	Finalizers                                          int
}

// ReadMeta reads an object's metadata. It allocates nothing but what it gives.
func ReadMeta(raw []byte) (Meta, error) {
	var m Meta
	err := eachMeta(raw, m.readField)
	return m, err
}

// Owners returns the UIDs of an object's owners.
func Owners(raw []byte) (uids []string, err error) {
	err = eachMeta(raw, func(f *wire.Fields) error {
		if f.Num != metaOwners {
			return nil
		}
		owner := wire.Fields{Data: f.Bytes}
		for owner.Next() {
			if owner.Num == ownerUID {
				uids = append(uids, string(owner.Bytes))
			}
		}
		if owner.Err != 0 {
			return fmt.Errorf(".ownerReferences: field at byte %d: %w", owner.End, owner.Err)
		}
		return nil
	})
	return uids, err
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
func (m *Meta) readField(f *wire.Fields) error {
	switch f.Num {
	case metaName:
		m.Name = string(f.Bytes)
	case metaGenerateName:
		m.GenerateName = string(f.Bytes)
	case metaNamespace:
		m.Namespace = string(f.Bytes)
	case metaUID:
		m.UID = string(f.Bytes)
	case metaResourceVersion:
		m.ResourceVersion = string(f.Bytes)
	case metaDeletion:
		m.Deleting = isSet(f)
	case metaDeletionGrace:
		m.NoGrace = f.Type == wire.WireVarint && f.Uint == 0

	case metaFinalizers:
		m.Finalizers++
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
			m.Controller = string(uid)
		}
	}
	return nil
}

func isSet(f *wire.Fields) bool { return f.Type != wire.WireBytes || len(f.Bytes) > 0 }

// IsDeleting reports whether an object has a deletion timestamp.
func IsDeleting(raw []byte) bool {
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

// SetName replaces an object's name and namespace; "" removes one.
func SetName(raw []byte, name, namespace string) ([]byte, error) {
	return setTexts(raw, text{metaName, name}, text{metaNamespace, namespace})
}

// SetVersion replaces an object's resourceVersion and UID; "" removes one.
func SetVersion(raw []byte, version, uid string) ([]byte, error) {
	return setTexts(raw, text{metaResourceVersion, version}, text{metaUID, uid})
}

// setTexts replaces strings of an object's metadata; "" removes one.
func setTexts(raw []byte, texts ...text) ([]byte, error) {
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

// NamespaceFinalizers counts a namespace's spec.finalizers, which keep it like those of the metadata.
func NamespaceFinalizers(raw []byte) int {
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
