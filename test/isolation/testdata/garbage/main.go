// Plugin garbage answers with bytes that mean nothing. It speaks the ABI without the SDK, whose answers are sound.
package main

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
)

var (
	message  []byte
	manifest = []byte(`{"name":"garbage","version":"1","controllers":[{"name":"garbage-controller","workers":1,"key":{},
"views":[{"name":"configmaps","resource":{"version":"v1","name":"configmaps"},"fields":["metadata.name"],
"where":{"op":"in","path":"metadata.labels[hostile]","values":["garbage"]}}]}]}`)
)

//go:wasmexport windlass_abi_v1
func marker() {}

//go:wasmexport windlass_alloc
func alloc(size int32) int32 {
	message = make([]byte, size)
	return int32(uintptr(unsafe.Pointer(unsafe.SliceData(message))))
}

//go:wasmexport windlass_manifest
func giveManifest() int64 { return give(manifest) }

//go:wasmexport windlass_configure
func configure() int64 { return 0 }

//go:wasmexport windlass_sync
func sync() int64 {
	var r abi.SyncRequest
	if err := abi.DecodeRequest(message, &r); err != nil || len(r.Views[0].Objects) == 0 {
		return give(nil)
	}
	b := make([]byte, 1000)
	for i := range b {
		b[i] = byte(i*167 + 255)
	}
	return give(b)
}

func give(b []byte) int64 {
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))<<32 | int64(len(b))
}

func main() {}
