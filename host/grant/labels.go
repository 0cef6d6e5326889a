package grant

import (
	"encoding/binary"
	"errors"

	"k8s.io/apimachinery/pkg/labels"
)

// The field of every object's metadata, of the labels in it, and of a map's entries.
const (
	objectMeta = 1
	metaLabels = 11
	entryKey   = 1
	entryValue = 2
)

// LabelsOf reads the labels of an object's message, never nil.
func LabelsOf(raw []byte) (labels.Set, error) {
	all := labels.Set{}
	err := visitParts(raw, objectMeta, func(meta []byte) error {
		return visitParts(meta, metaLabels, func(entry []byte) error {
			var key, value string
			if err := visitParts(entry, entryKey, func(b []byte) error { key = string(b); return nil }); err != nil {
				return err
			}
			err := visitParts(entry, entryValue, func(b []byte) error { value = string(b); return nil })
			all[key] = value
			return err
		})
	})
	return all, err
}

var errWire = errors.New("the object isn't protobuf")

// visitParts calls f for each value of a field that has a length.
func visitParts(b []byte, number uint64, f func([]byte) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return errWire
		}

		b = b[n:]
		size := 0
		switch tag & 7 {
		case 0:
			_, size = binary.Uvarint(b)
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			length, n := binary.Uvarint(b)
			if n <= 0 || length > uint64(len(b)-n) {
				return errWire
			}
			size = n + int(length)
			if tag>>3 == number {
				if err := f(b[n:size]); err != nil {
					return err
				}
			}
		}

		if size <= 0 || size > len(b) {
			return errWire
		}
		b = b[size:]
	}
	return nil
}
