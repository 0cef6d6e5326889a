//go:build !wasm && !tinygo.wasm

package form

import "github.com/windlass-dev/windlass/sdk"

func jsonForm(b []byte) []byte     { return sdk.CallHelper("json_form", b) }
func protobufForm(b []byte) []byte { return sdk.CallHelper("protobuf_form", b) }
func templateHash(b []byte) []byte { return sdk.CallHelper("template_hash", b) }
