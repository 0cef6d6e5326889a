package envelope

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi/wire"
)

// List is a list as it comes over the wire.
type List struct {
	Version, Next string
	Items         [][]byte
}

// The fields of a list and its ListMeta.
const (
	listMeta     = 1
	listItems    = 2
	listVersion  = 2
	listContinue = 3
)

// ReadList reads a list; its items are parts of raw.
func ReadList(raw []byte) (List, error) {
	var l List
	f := wire.Fields{Data: raw}
	for f.Next() {
		switch f.Num {
		case listMeta:
			m := wire.Fields{Data: f.Bytes}
			for m.Next() {
				switch m.Num {
				case listVersion:
					l.Version = string(m.Bytes)
				case listContinue:
					l.Next = string(m.Bytes)
				}
			}
			if m.Err != 0 {
				return l, fmt.Errorf("the server's list: field at byte %d: %w", m.End, m.Err)
			}
		case listItems:
			l.Items = append(l.Items, f.Bytes)
		}
	}
	if f.Err != 0 {
		return l, fmt.Errorf("the server's list: field at byte %d: %w", f.End, f.Err)
	}
	return l, nil
}
