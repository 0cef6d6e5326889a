//go:build wasm || tinygo.wasm

package x509

import (
	"unsafe"

	"github.com/windlass-dev/windlass/sdk"
)

//go:wasmimport windlass x509
func hostX509(p unsafe.Pointer, n int32) int32

func helper(b []byte) []byte {
	return sdk.HelperResult(hostX509(unsafe.Pointer(unsafe.SliceData(b)), int32(len(b))))
}
