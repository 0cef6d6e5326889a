package effects

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi/wire"
)

// listed is a list as it comes over the wire.
type listed struct {
	version, next string
	items         [][]byte
}

// The fields of a list and its ListMeta.
const (
	listMeta     = 1
	listItems    = 2
	listVersion  = 2
	listContinue = 3
)

func readList(raw []byte) (listed, error) {
	var l listed
	f := wire.Fields{Data: raw}
	for f.Next() {
		switch f.Num {
		case listMeta:
			m := wire.Fields{Data: f.Bytes}
			for m.Next() {
				switch m.Num {
				case listVersion:
					l.version = string(m.Bytes)
				case listContinue:
					l.next = string(m.Bytes)
				}
			}
			if m.Err != 0 {
				return l, fmt.Errorf("the server's list: field at byte %d: %w", m.End, m.Err)
			}
		case listItems:
			l.items = append(l.items, f.Bytes)
		}
	}
	if f.Err != 0 {
		return l, fmt.Errorf("the server's list: field at byte %d: %w", f.End, f.Err)
	}
	return l, nil
}
