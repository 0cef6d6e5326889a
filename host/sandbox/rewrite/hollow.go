package rewrite

import (
	"encoding/binary"
	"errors"
)

// hollowBody is a function's body, with its size: no locals, and an unreachable.
var hollowBody = []byte{3, 0, 0x00, 0x0b}

// Hollow returns a valid module without its functions' code: all else is the same, so native code of the module fits.
// Reading and validating code takes most of the time in which a module is loaded whose native code is there.
func Hollow(module []byte) ([]byte, error) {
	const header = 8
	if len(module) < header {
		return nil, errors.New("not a module")
	}
	hollow := append([]byte{}, module[:header]...)
	for rest := module[header:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errors.New("a section that is longer than the module")
		}
		end := 1 + n + int(size)
		section, body := rest[:end], rest[1+n:end]
		rest = rest[end:]
		if section[0] != codeSection {
			hollow = append(hollow, section...)
			continue
		}

		functions, n := binary.Uvarint(body)
		if n <= 0 || functions > size {
			return nil, errors.New("a code section of more functions than bytes")
		}
		emptied := binary.AppendUvarint(nil, functions)
		for range functions {
			emptied = append(emptied, hollowBody...)
		}
		hollow = append(hollow, codeSection)
		hollow = binary.AppendUvarint(hollow, uint64(len(emptied)))
		hollow = append(hollow, emptied...)
	}
	return hollow, nil
}
