// An arena for TinyGo: with the baseline put back before each sync, nothing needs to be collected.
//go:build gc.custom

package main

import (
	"runtime"
	"unsafe"
)

var heapStart, heapPtr, heapEnd uintptr

//go:extern __heap_base
var heapBaseSym [0]byte

//export llvm.wasm.memory.grow.i32
func memGrow(index int32, delta int32) int32

//export llvm.wasm.memory.size.i32
func memSize(index int32) int32

//go:linkname initHeap runtime.initHeap
func initHeap() {
	heapPtr = (uintptr(unsafe.Pointer(&heapBaseSym)) + 15) &^ 15
	heapEnd = uintptr(memSize(0)) * 65536
}

//go:linkname memzero runtime.memzero
func memzero(ptr unsafe.Pointer, size uintptr)

//go:linkname alloc runtime.alloc
func alloc(size uintptr, layout unsafe.Pointer) unsafe.Pointer {
	p := heapPtr
	heapPtr = p + (size+7)&^7
	if heapPtr > heapEnd {
		grow()
	}
	memzero(unsafe.Pointer(p), size)
	return unsafe.Pointer(p)
}

//go:noinline
func grow() {
	need := (heapPtr - heapEnd + 65535) / 65536
	if cur := heapEnd / 65536; need < cur {
		need = cur
	}
	if memGrow(0, int32(need)) < 0 {
		panic("oom")
	}
	heapEnd += need * 65536
}

//go:linkname free runtime.free
func free(ptr unsafe.Pointer) {}

//go:linkname markRoots runtime.markRoots
func markRoots(start, end uintptr) {}

//go:linkname GC runtime.GC
func GC() {}

//go:linkname SetFinalizer runtime.SetFinalizer
func SetFinalizer(obj interface{}, finalizer interface{}) {}

//go:linkname ReadMemStats runtime.ReadMemStats
func ReadMemStats(ms *runtime.MemStats) {}
