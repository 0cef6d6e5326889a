package rewrite

import (
	"fmt"
	"strconv"
)

const (
	nameSection   = "name"
	functionNames = 1 // its subsection
)

// functionName is how errors call a function that the module defines.
func (m *Module) functionName(defined int) string {
	index := uint32(defined + len(m.Imports))
	for _, e := range m.Exports {
		if e.Kind == Function && e.Index == index {
			return fmt.Sprintf("%d (exported as %q)", index, e.Name)
		}
	}
	return strconv.Itoa(int(index))
}

// writeNames returns the name section with renumbered function names and nothing else, nil where it is missing or
// damaged. Names are what makes the stack of a trap readable.
func (m *Module) writeNames(w *writer) []byte {
	last, sound := int64(-1), true
	names := eachFunctionName(m.names, func(i uint32, name string) (uint32, string) {
		if int64(i) <= last || int(i) >= len(m.Imports)+len(m.funcs) {
			sound = false
			return i, name
		}
		last = int64(i)
		return w.renumber(i), name
	})
	if names == nil || !sound {
		return nil
	}
	return append(appendName(nil, nameSection), names...)
}

// eachFunctionName returns the content of a name section with the names of functions, changed, and nothing else; nil
// where there are none or it is damaged.
func eachFunctionName(section []byte, change func(index uint32, name string) (uint32, string)) []byte {
	r := &reader{b: section, what: "name section"}
	for r.hasMore() {
		id := r.byte()
		content := r.bytes(r.u32())
		if id != functionNames || r.err != nil {
			continue
		}
		c := &reader{b: content, what: r.what}
		n := c.count(2)
		names := appendU(nil, n)
		for ; n > 0 && c.err == nil; n-- {
			index := c.u32()
			index, name := change(index, c.name())
			names = appendName(appendU(names, index), name)
		}
		if c.err != nil {
			return nil
		}
		return appendSection(nil, functionNames, names)
	}
	return nil
}
