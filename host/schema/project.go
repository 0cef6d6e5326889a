package schema

import (
	"encoding/binary"
	"fmt"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Project appends what the mask keeps of raw. The order of fields stays, as do messages of which nothing is left, so
// that an element's place in its list says which one it is. dst and raw must not overlap. Nothing is allocated if dst
// has room; it never takes more than raw.
func (k *Mask) Project(dst, raw []byte) ([]byte, error) {
	out, err := k.root.project(dst, raw)
	if err != nil {
		return dst, fmt.Errorf("%s: %w", k.message.Name, err)
	}
	return out, nil
}

func (n *node) project(dst, b []byte) ([]byte, error) {
	var f field
	run := 0 // b[run:i] is kept and not copied yet
	for i := 0; i < len(b); i = f.end {
		if err := f.next(b, i); err != nil {
			return dst, err
		}
		sub := n.subNode(f.number)
		if sub == keep {
			continue
		}

		if run < i {
			dst = append(dst, b[run:i]...)
		}
		run = f.end
		if sub == nil {
			continue
		}
		if f.wire != wire.WireBytes {
			return dst, errType
		}
		if sub.keys != nil {
			ok, err := sub.hasKey(b[f.payload:f.end])
			if err != nil {
				return dst, err
			}
			if ok {
				dst = append(dst, b[f.start:f.end]...)
			}
			continue
		}

		var err error
		if dst, err = sub.projectField(dst, b, &f); err != nil {
			return dst, err
		}
	}

	return append(dst, b[run:]...), nil
}

// projectField appends one message, or one text in JSON, with its key and length. What is left is never longer, so its
// length gets the room of the old one, and what it doesn't need is closed up.
func (n *node) projectField(dst, b []byte, f *field) ([]byte, error) {
	var err error
	dst = append(dst, b[f.start:f.payload]...)
	content := len(dst)
	if n.members != nil {
		dst, err = n.projectBody(dst, b[f.payload:f.end])
	} else {
		dst, err = n.project(dst, b[f.payload:f.end])
	}

	if err != nil {
		return dst, err
	}
	key := 0
	for b[f.start+key] >= 0x80 {
		key++
	}
	at := content - (f.payload - f.start) + key + 1 // where the length starts
	size := len(dst) - content
	if size == f.end-f.payload && content-at == wire.SizeVarint(uint64(size)) {
		return dst, nil
	}

	moved := at + wire.SizeVarint(uint64(size))
	binary.PutUvarint(dst[at:content], uint64(size))
	if moved < content {
		copy(dst[moved:], dst[content:])
		dst = dst[:moved+size]
	}
	return dst, nil
}

// hasKey reports whether a map's entry has one of the keys.
func (n *node) hasKey(entry []byte) (bool, error) {
	var f field
	var key []byte
	for i := 0; i < len(entry); i = f.end {
		if err := f.next(entry, i); err != nil {
			return false, err
		}
		if f.number == 1 && f.wire == wire.WireBytes {
			key = entry[f.payload:f.end]
		}
	}
	for _, k := range n.keys {
		if k == string(key) {
			return true, nil
		}
	}
	return false, nil
}
