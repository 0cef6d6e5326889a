//go:build !wasm && !tinygo.wasm

package x509

import "github.com/windlass-dev/windlass/sdk"

func helper(b []byte) []byte { return sdk.CallHelper("x509", b) }
