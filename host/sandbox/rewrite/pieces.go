package rewrite

// bulkPiece is how many bytes memory.fill and memory.copy do at once. A longer operation goes by pieces, with a call of
// RefillImport after each: a gigabyte in one piece would hold up the process, which can stop a guest only in a call.
var bulkPiece = int64(4 << 20)

// The parameters of the functions that do so, as of the instructions.
const (
	to     = 0
	from   = 1 // the value of a fill
	length = 2
)

// pieceBody returns the body of the added function for an instruction.
func (w *writer) pieceBody(misc byte) []byte {
	p := pieces{writer: &writer{refill: w.refill}, misc: misc}
	p.emitBody()
	return p.out
}

type pieces struct {
	*writer
	misc byte
}

func (p *pieces) emit(b ...byte)   { p.out = append(p.out, b...) }
func (p *pieces) constant(v int64) { p.out = appendS(append(p.out, 0x41), v) }
func (p *pieces) parameters(l int) { p.emit(0x20, to, 0x20, from, 0x20, byte(l)) }
func (p *pieces) emitPiece(l byte, op byte) { // adds a piece to a parameter, or takes it away
	p.emit(0x20, l)
	p.constant(bulkPiece)
	p.emit(op, 0x21, l)
}

// emitBulk emits the instruction on what is on the stack.
func (p *pieces) emitBulk() {
	p.emit(opMisc, p.misc, 0)
	if p.misc == miscMemoryCopy {
		p.emit(0)
	}
}

const (
	addOp = 0x6a
	subOp = 0x6b
)

func (p *pieces) emitBody() {
	p.emit(0) // no locals
	// What reaches outside traps before anything is written, as one piece would.
	p.outside(to)
	if p.misc == miscMemoryCopy {
		p.outside(from)
		p.emit(0x20, to, 0x20, from, 0x4b, 0x04, 0x40) // to > from: from the end on, since the two may overlap
		p.emitLoop(func() {
			p.emitPiece(length, subOp)
			for _, l := range []byte{to, from} {
				p.emit(0x20, l, 0x20, length, addOp)
			}
			p.constant(bulkPiece)
			p.emitBulk()
		})
		p.parameters(length)
		p.emitBulk()
		p.emit(0x0f, opEnd)
	}

	p.emitLoop(func() {
		p.emit(0x20, to, 0x20, from)
		p.constant(bulkPiece)
		p.emitBulk()
		p.emitPiece(to, addOp)
		if p.misc == miscMemoryCopy {
			p.emitPiece(from, addOp)
		}
		p.emitPiece(length, subOp)
	})

	p.parameters(length)
	p.emitBulk()
	p.emit(opEnd)
}

// outside does the operation in one piece where it ends behind the memory: it traps.
func (p *pieces) outside(at byte) {
	p.emit(0x20, at, 0xad, 0x20, length, 0xad, 0x7c, opMemorySize, 0, 0xad, 0x42, 16, 0x86, 0x56, 0x04, 0x40)
	p.parameters(length)
	p.emitBulk()
	p.emit(opEnd)
}

// emitLoop emits a loop that does pieces until one or less is left.
func (p *pieces) emitLoop(piece func()) {
	p.emit(opLoop, 0x40, 0x20, length)
	p.constant(bulkPiece)
	p.emit(0x4b, 0x04, 0x40)
	piece()
	p.out = appendU(append(p.out, opCall), p.refill)
	p.emit(0x0c, 1, opEnd, opEnd)
}
