//go:build gc.custom

package sdk

// The heap of a TinyGo guest is an arena that only grows: the host puts the baseline of the memory back before each
// sync, so there is nothing to collect. TinyGo asks for these functions by name when built with -gc=custom.

import (
	"runtime"
	"unsafe"
)

var heapPtr, heapEnd uintptr

//go:extern __heap_base
var heapBase [0]byte

//export llvm.wasm.memory.grow.i32
func wasmMemoryGrow(index, delta int32) int32

//export llvm.wasm.memory.size.i32
func wasmMemorySize(index int32) int32

//go:linkname initHeap runtime.initHeap
func initHeap() {
	heapPtr = (uintptr(unsafe.Pointer(&heapBase)) + 15) &^ 15
	heapEnd = uintptr(wasmMemorySize(0)) << 16
}

//go:linkname runtimeAlloc runtime.alloc
func runtimeAlloc(size uintptr, layout unsafe.Pointer) unsafe.Pointer {
	p := heapPtr
	heapPtr = p + (size+7)&^7
	if heapPtr > heapEnd || heapPtr < p {
		growHeap(p)
	}
	// The host hands out zeroed memory and nothing is freed, so a fresh block is zero already.
	return unsafe.Pointer(p)
}

//go:noinline
func growHeap(from uintptr) {
	if heapPtr < from {
		panic("out of memory")
	}
	pages := (heapPtr - heapEnd + 0xffff) >> 16
	if double := heapEnd >> 18; pages < double { // grow by a quarter at least
		pages = double
	}
	if wasmMemoryGrow(0, int32(pages)) < 0 {
		panic("out of memory")
	}
	heapEnd += pages << 16
}

//go:linkname runtimeFree runtime.free
func runtimeFree(ptr unsafe.Pointer) {}

//go:linkname markRoots runtime.markRoots
func markRoots(start, end uintptr) {}

//go:linkname collect runtime.GC
func collect() {}

//go:linkname setFinalizer runtime.SetFinalizer
func setFinalizer(obj interface{}, finalizer interface{}) {}

//go:linkname readMemStats runtime.ReadMemStats
func readMemStats(ms *runtime.MemStats) {}
