//go:build wasm || tinygo.wasm

package form

import (
	"unsafe"

	"github.com/windlass-dev/windlass/sdk"
)

//go:wasmimport windlass json_form
func hostJSONForm(p unsafe.Pointer, n int32) int32

//go:wasmimport windlass protobuf_form
func hostProtobufForm(p unsafe.Pointer, n int32) int32

//go:wasmimport windlass template_hash
func hostTemplateHash(p unsafe.Pointer, n int32) int32

func jsonForm(b []byte) []byte {
	return sdk.HelperResult(hostJSONForm(unsafe.Pointer(unsafe.SliceData(b)), int32(len(b))))
}

func protobufForm(b []byte) []byte {
	return sdk.HelperResult(hostProtobufForm(unsafe.Pointer(unsafe.SliceData(b)), int32(len(b))))
}

func templateHash(b []byte) []byte {
	return sdk.HelperResult(hostTemplateHash(unsafe.Pointer(unsafe.SliceData(b)), int32(len(b))))
}
