package abi

import (
	"encoding/binary"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Largest looks through an encoded SyncResponse that is too large to be read, without taking memory for it. It gives how many effects it has, the place of the largest one among them, its bytes, and of what
// it says about itself the resource, the namespace and the name. size is 0 where there is none.
func Largest(response []byte) (effects, place, size int, about Effect) {
	var largest []byte
	each(response, func(field uint64, part []byte) {
		if field != 1 {
			return
		}
		if len(part) > len(largest) {
			largest, place = part, effects
		}
		effects++
	})
	each(largest, func(field uint64, part []byte) {
		switch field {
		case 2:
			about.Resource = string(part[:min(len(part), nameMost)])
		case 4:
			about.Namespace = string(part[:min(len(part), nameMost)])
		case 5:
			about.Name = string(part[:min(len(part), nameMost)])
		}
	})
	return effects, place, len(largest), about
}

const nameMost = 253 // bytes

// each tells of a message's fields that are bytes, as far as it is one.
func each(message []byte, tell func(field uint64, part []byte)) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return
		}
		message = message[n:]
		skip := 0
		switch wire.WireType(tag & 7) {
		case wire.WireVarint:
			_, skip = binary.Uvarint(message)
		case wire.WireFixed64:
			skip = 8
		case wire.WireFixed32:
			skip = 4
		case wire.WireBytes:
			size, n := binary.Uvarint(message)
			if n <= 0 || size > uint64(len(message)-n) {
				return
			}
			skip = n + int(size)
			tell(tag>>3, message[n:skip])
		}
		if skip <= 0 || skip > len(message) {
			return
		}
		message = message[skip:]
	}
}
