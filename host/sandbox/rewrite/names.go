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

// writeNames returns the name section with renumbered function names, those of added functions, and nothing else; nil
// where it is missing or damaged. Names are what makes the stack of a trap readable.
func (m *Module) writeNames(w *writer, added []addedFunction) []byte {
	last, sound := int64(-1), true
	own := uint32(len(m.Imports) + len(m.funcs))
	n, names := eachFunctionName(m.names, func(i uint32, name string) (uint32, string) {
		if int64(i) <= last || i >= own {
			sound = false
			return i, name
		}
		last = int64(i)
		return w.renumber(i), name
	})
	if names == nil || !sound {
		return nil
	}
	for i, f := range added {
		names = appendName(appendU(names, own+2+uint32(i)), f.name)
	}
	return append(appendName(nil, nameSection), nameSubsection(n+uint32(len(added)), names)...)
}

// eachFunctionName returns the names of functions that a name section has, changed, and how many there are; nil where
// it has none or is damaged.
func eachFunctionName(section []byte, change func(index uint32, name string) (uint32, string)) (n uint32,
	names []byte) {
	r := &reader{b: section, what: "name section"}
	for r.hasMore() {
		id := r.byte()
		content := r.bytes(r.u32())
		if id != functionNames || r.err != nil {
			continue
		}

		c := &reader{b: content, what: r.what}
		n, names = c.count(2), []byte{}
		for left := n; left > 0 && c.err == nil; left-- {
			index := c.u32()
			index, name := change(index, c.name())
			names = appendName(appendU(names, index), name)
		}
		if c.err != nil {
			return 0, nil
		}
		return n, names
	}
	return 0, nil
}

// nameSubsection is what a name section says of functions.
func nameSubsection(n uint32, names []byte) []byte {
	return appendSection(nil, functionNames, append(appendU(nil, n), names...))
}
