// Package main is a guest for the sandbox's tests: what a sync does is said by its message's first byte. It builds with
// TinyGo and with Go.
package main

import "unsafe"

func main() {}

//go:wasmimport windlass log
func hostLog(level int32, at unsafe.Pointer, length uint32)

//go:wasmimport windlass perform
func hostPerform(at unsafe.Pointer, length uint32) uint32

//go:wasmimport windlass outcome
func hostOutcome(at unsafe.Pointer)

//go:wasmimport windlass reverse
func hostReverse(at unsafe.Pointer, length uint32) uint32

var (
	message  []byte
	settings []byte
	answered []byte // keeps the answer alive until the host has read it

	syncs   int // how many this instance has seen, to its own knowledge
	words   = map[string]int{}
	history [][]byte
)

//go:wasmexport windlass_abi_v1
func marker() {}

//go:wasmexport windlass_alloc
func room(size uint32) unsafe.Pointer {
	message = make([]byte, size, size+1)
	return unsafe.Pointer(unsafe.SliceData(message))
}

func answer(b []byte) int64 {
	answered = b
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))<<32 | int64(len(b))
}

//go:wasmexport windlass_manifest
func manifest() int64 { return answer([]byte(`{"name":"guest"}`)) }

//go:wasmexport windlass_configure
func configure() int64 {
	if len(message) > 0 && message[0] == '!' {
		return answer([]byte("settings must not begin with !"))
	}
	if len(message) > 0 && message[0] == 'p' {
		perform(message)
	}
	settings = message
	history = append(history, message)
	return answer(nil)
}

func perform(b []byte) []byte {
	out := make([]byte, hostPerform(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))), 1<<10)
	hostOutcome(unsafe.Pointer(unsafe.SliceData(out)))
	return out
}

//go:wasmexport windlass_sync
func sync() int64 {
	if len(message) == 0 {
		return answer(nil)
	}

	syncs++
	rest := message[1:]
	switch message[0] {
	case 'e': // echo
		return answer(rest)
	case 'w': // work: allocate, grow, fill maps, recurse
		return answer(work(rest))
	case 's': // what is left over from other syncs, and from configure
		history = append(history, rest)
		return answer(append([]byte{byte(syncs), byte(len(history)), byte(len(words))}, settings...))
	case 'p': // perform, then work with the outcome
		var all []byte
		for _, b := range rest {
			all = append(all, perform([]byte{b})...)
		}
		return answer(all)
	case 'h': // a helper
		out := make([]byte, hostReverse(unsafe.Pointer(unsafe.SliceData(rest)), uint32(len(rest))), len(rest)+1)
		hostOutcome(unsafe.Pointer(unsafe.SliceData(out)))
		return answer(out)
	case 'l':
		hostLog(1, unsafe.Pointer(unsafe.SliceData(rest)), uint32(len(rest)))
	case 'L': // loop
		for i := 0; ; i++ {
			syncs += i ^ syncs
		}
	case 'P': // perform for ever
		for {
			perform(rest)
		}
	case 'R': // recurse
		return int64(recurse(int(message[0])))
	case 'M': // eat memory
		for {
			history = append(history, make([]byte, 1<<20))
		}
	case 'T':
		panic("trapped on purpose")
	case 'O': // an answer outside the memory
		return 0x7fffffff<<32 | 16
	case 'A': // an answer longer than any may be
		return 1<<32 | 0x7fffffff
	case 'W': // write behind the memory asked for, as far as it goes, then perform
		was := behind()
		for range rest[2:] {
			perform(rest[2:])
		}
		return answer(was)
	}
	return answer(nil)
}

//go:noinline
func recurse(n int) int {
	var frame [8]int
	frame[n&7] = n
	if n < 0 {
		return frame[syncs&7]
	}
	below := recurse(n + 1)
	return below + frame[below&7]
}

func work(b []byte) []byte {
	sum := uint64(14695981039346656037)
	var parts [][]byte
	for i, c := range b {
		sum = (sum ^ uint64(c)) * 1099511628211
		if c < 32 {
			part := append([]byte(nil), b[:i%512]...)
			parts = append(parts, part)
			words[string(b[max(0, i-6):i])]++
		}
	}
	for _, p := range parts {
		for _, c := range p {
			sum = (sum ^ uint64(c)) * 1099511628211
		}
	}
	history = parts
	out := make([]byte, 0, 64)
	for range 8 {
		out = append(out, byte(sum), byte(len(words)), byte(len(parts)), byte(syncs))
		sum >>= 8
	}
	return out
}

// behind finds a byte that is not zero beyond the end of what the guest has asked for, and leaves one.
func behind() []byte {
	p := (*byte)(unsafe.Pointer(uintptr(message[1])<<20 | uintptr(message[2])<<12))
	was := *p
	*p = 77
	return []byte{was}
}
