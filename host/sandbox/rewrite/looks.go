package rewrite

// A look is a test of the fuel, upon which the host may end the guest's call or let others run. A guest runs at most
// 2^20 instructions from one look to the next, whatever its shape:
//
//   - All functions look at their entry, and loops at each round; but for plain functions, which are short and do
//     nothing but compute: they would look more than they work.
//   - So without a look a guest can only call plain functions, and return from calls. Small functions, with the plain
//     ones that they call, have at most smallMost instructions: a thousand calls that nest return through half a
//     million of these at most.
//   - The others look after each call of a function that isn't plain, and so before they go on; long ones after each
//     call.
//
// What runs from a look to the next is therefore at most the rest of one body (MaxBodyBytes), then a plain function, or
// the rests of a thousand small ones.
const (
	plainMost = 256
	smallMost = 512
	shortMost = 16 << 10
)

// isPlain reports whether a function pays without looking.
func (b *body) isPlain() bool {
	return !b.calls && !b.bulk && len(b.loops) == 0 && b.entry <= plainMost
}

// looks says after which of its calls a function looks.
type looks struct{ afterCalls, afterPlain bool }

// looksOf returns where a function looks beside its entry and loops.
func (w *writer) looksOf(b *body) (looks, error) {
	if !b.calls {
		return looks{}, nil
	}

	cost := b.entry
	for _, l := range b.loops {
		cost += l
	}
	r := &reader{b: b.code, pos: b.at, what: "code"}
	for r.hasMore() {
		switch in := readInstruction(r); {
		case in.op == opCallIndirect:
			cost += plainMost
		case in.op == opCall && w.callsPlain(in):
			cost += w.bodies[in.index-w.imports].entry
		}
	}
	return looks{afterCalls: cost > smallMost, afterPlain: cost > shortMost}, r.err
}

// callsPlain reports whether a call is of a plain function.
func (w *writer) callsPlain(in instruction) bool {
	if in.index < w.imports || int(in.index-w.imports) >= len(w.bodies) {
		return false // it is the host's; or the module isn't valid
	}
	return w.bodies[in.index-w.imports].isPlain()
}

// lookBody is the body of the function that looks. In line a look would be a block of the caller's, and many blocks
// with many locals are what the compiler is slow at.
func (w *writer) lookBody() []byte {
	look := writer{refill: w.refill, fuel: w.fuel, out: []byte{0}}
	look.testFuel()
	return append(look.out, opEnd)
}
