package abi

import "github.com/windlass-dev/windlass/abi/wire"

// Largest looks through an encoded SyncResponse that is too large to be read, without taking memory for it. It gives
// how many effects it has, the place of the largest one among them, its bytes, and of what it says about itself the
// resource, the namespace and the name. size is 0 where there is none.
func Largest(response []byte) (effects, place, size int, about Effect) {
	var largest []byte
	for f := (wire.Fields{Data: response}); f.Next(); {
		if f.Num != 1 || f.Type != wire.WireBytes {
			continue
		}
		if len(f.Bytes) > len(largest) {
			largest, place = f.Bytes, effects
		}
		effects++
	}
	for f := (wire.Fields{Data: largest}); f.Next(); {
		if f.Type != wire.WireBytes {
			continue
		}
		text := string(f.Bytes[:min(len(f.Bytes), nameMost)])
		switch f.Num {
		case 2:
			about.Resource = text
		case 4:
			about.Namespace = text
		case 5:
			about.Name = text
		}
	}
	return effects, place, len(largest), about
}

const nameMost = 253 // bytes
