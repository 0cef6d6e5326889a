//go:build wasm || tinygo.wasm

package sdk

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
)

//go:wasmimport windlass log
func hostLog(level int32, p unsafe.Pointer, n int32)

//go:wasmimport windlass perform
func hostPerform(p unsafe.Pointer, n int32) int32

//go:wasmimport windlass outcome
func hostOutcome(p unsafe.Pointer)

var (
	served   *Plugin
	message  []byte // the buffer that the host asked for last
	manifest []byte
	settings abi.Settings
	// Nothing is freed during a sync (the host takes back all memory after it), so that what performs are sent in is used
	// again.
	objects, asked []byte
)

// Serve has the module serve the plugin: call it in an init function of the main package.
func Serve(p *Plugin) {
	served = p
	manifest = abi.AppendManifest(nil, p.Manifest())
	settings.Values = make([]string, len(p.Settings))
	for i, s := range p.Settings {
		settings.Values[i] = s.Default
	}
}

//go:wasmexport windlass_abi_v1
func marker() {}

//go:wasmexport windlass_alloc
func alloc(size int32) int32 {
	message = make([]byte, size)
	return int32(uintptr(unsafe.Pointer(unsafe.SliceData(message))))
}

//go:wasmexport windlass_manifest
func returnManifest() int64 { return returnBytes(manifest) }

//go:wasmexport windlass_configure
func configure() int64 {
	var s abi.Settings
	if err := abi.DecodeSettings(message, &s); err != nil {
		return returnBytes([]byte(err.Error()))
	}
	if err := served.Refused(&s); err != nil {
		return returnBytes([]byte(err.Error()))
	}
	settings.Values = settings.Values[:0]
	for _, v := range s.Values { // the message's memory is the next message's
		settings.Values = append(settings.Values, string(append([]byte(nil), v...)))
	}
	return 0
}

//go:wasmexport windlass_sync
func sync() int64 {
	var r abi.SyncRequest
	if err := abi.DecodeRequest(message, &r); err != nil {
		return returnBytes(abi.AppendResponse(nil,
			&abi.SyncResponse{Error: "the request can't be read: " + err.Error(), KeepState: true}))
	}
	return returnBytes(abi.AppendResponse(nil, run(served, &r, &settings, perform, &objects)))
}

func perform(r *abi.PerformRequest) (*abi.PerformResponse, error) {
	asked = abi.AppendPerform(asked[:0], r)
	n := hostPerform(unsafe.Pointer(unsafe.SliceData(asked)), int32(len(asked)))
	out := make([]byte, n)
	hostOutcome(unsafe.Pointer(unsafe.SliceData(out)))
	var a abi.PerformResponse
	if err := abi.DecodePerformed(out, &a); err != nil {
		return nil, err
	}
	return &a, nil
}

// HelperResult fetches what a pure function of the host gave; n is what the import returned.
func HelperResult(n int32) []byte {
	out := make([]byte, n)
	hostOutcome(unsafe.Pointer(unsafe.SliceData(out)))
	return out
}

// Log writes a line to the host's log, beside controller and key.
func (c *Call) Log(text string) {
	hostLog(0, unsafe.Pointer(unsafe.StringData(text)), int32(len(text)))
}

func returnBytes(b []byte) int64 {
	answer = b
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))<<32 | int64(len(b))
}

var answer []byte // keeps the answer alive until the host has read it
