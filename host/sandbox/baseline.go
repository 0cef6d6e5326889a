package sandbox

// baseline is what an instance is put back to: memory, its size, and all mutable globals.
type baseline struct {
	pages   uint32
	globals []uint64
	runs    []run
}

// run is a part of the memory that isn't all zero.
type run struct {
	at    int
	bytes []byte
}

// grain is how finely a baseline tells zeros from the rest: clearing is cheaper than copying.
const grain = 512

func (i *instance) takeBaseline() *baseline {
	base := &baseline{pages: uint32(i.pages.Get()), globals: make([]uint64, len(i.globals))}
	for n, g := range i.globals {
		base.globals[n] = g.Get()
	}
	memory := i.memory.bytes[:int(base.pages)*pageSize]
	start := -1
	keep := func(end int) {
		if start >= 0 {
			base.runs = append(base.runs, run{start, append([]byte(nil), memory[start:end]...)})
			start = -1
		}
	}
	for at := 0; at < len(memory); at += grain {
		if isAllZero(memory[at : at+grain]) {
			keep(at)
		} else if start < 0 {
			start = at
		}
	}
	keep(len(memory))
	return base
}

func isAllZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// clearAtMost is how much memory beyond the baseline is cleared rather than given back to the system. Clearing costs
// less than faulting pages in again, but one large sync must not make an instance large for ever.
const clearAtMost = 4 << 20

// restore puts the instance back to a baseline, whatever its memory holds: a guest can write behind the size it asked
// for, too.
func (i *instance) restore(base *baseline) error {
	memory := i.memory.bytes
	used := i.memorySize()
	i.pages.Set(uint64(base.pages))
	for n, g := range i.globals {
		g.Set(base.globals[n])
	}
	at := 0
	for _, r := range base.runs {
		clear(memory[at:r.at])
		at = r.at + copy(memory[r.at:], r.bytes)
	}
	size := int(base.pages) * pageSize
	used = max(size, min(used, size+clearAtMost))
	clear(memory[at:used])
	i.touched = used
	if err := i.chargeMemory(size); err != nil {
		return err
	}
	return drop(memory[used:])
}
