package endpoint

import "github.com/windlass-dev/windlass/abi/wire"

// Table finds positions in a list by names, which the list keeps.
type Table struct {
	slots []int32 // a position plus one, in an open hash table
	name  func(int) string
}

// NewTable makes a table of n names. Of a name that comes again the first position is found.
func NewTable(n int, name func(int) string) *Table {
	size := 8
	for size < 2*n {
		size *= 2
	}
	t := &Table{slots: make([]int32, size), name: name}
	for i := range n {
		added := name(i)
		h := t.slot(added)
		for t.slots[h] != 0 && !wire.Same(name(int(t.slots[h])-1), added) {
			h = (h + 1) & (size - 1)
		}
		if t.slots[h] == 0 {
			t.slots[h] = int32(i + 1)
		}
	}
	return t
}

// Find returns the position of the name, -1 where there is none.
func (t *Table) Find(name string) int {
	for h := t.slot(name); ; h = (h + 1) & (len(t.slots) - 1) {
		switch i := int(t.slots[h]) - 1; {
		case i < 0:
			return -1
		case wire.Same(t.name(i), name):
			return i
		}
	}
}

func (t *Table) slot(name string) int { return int(Hash(name)) & (len(t.slots) - 1) }
