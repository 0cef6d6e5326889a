package messages

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/test/module"
)

// saidMark begins what a parrot says; it is in no text.
const saidMark = "\xf5say\xf5it\xf5"

// Said is what a parrot finds in the snapshot: what it performs and answers.
func Said(perform, answer []byte) []byte {
	b := append([]byte(saidMark), 0, 0, 0, 0, 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(perform)))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(answer)))
	return append(append(b, perform...), answer...)
}

// Parrot returns a module that has this manifest, and performs and answers what is Said in its key's snapshot.
func Parrot(t testing.TB, m *abi.Manifest) []byte {
	t.Helper()
	manifest, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}

	mark := binary.LittleEndian.Uint64([]byte(saidMark))
	return module.Assemble(t, fmt.Sprintf(parrotText, module.Escape(manifest), 16<<32|len(manifest), mark))
}

// parrotText is the module, in which are its manifest, where that is, and the mark.
const parrotText = `(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $size (mut i32) (i32.const 0))
  (data (i32.const 16) "%s")
  (func (export "windlass_abi_v1"))
  (func (export "windlass_alloc") (param i32) (result i32)
    (global.set $size (local.get 0))
    (drop (memory.grow (i32.shr_u (i32.add (local.get 0) (i32.const 0x1ffff)) (i32.const 16))))
    (i32.const 65536))
  (func (export "windlass_manifest") (result i64) (i64.const %d))
  (func (export "windlass_configure") (result i64) (i64.const 0))
  (func (export "windlass_sync") (result i64) (local $at i32) (local $end i32)
    (local.set $at (i32.const 65536))
    (local.set $end (i32.add (i32.const 65520) (global.get $size)))
    (loop $look
      (if (i32.ge_s (local.get $at) (local.get $end)) (then (return (i64.const 0))))
      (if (i64.ne (i64.load (local.get $at)) (i64.const %d)) (then
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $look))))
    (local.set $end (i32.load offset=8 (local.get $at)))
    (if (local.get $end) (then (drop (call $perform (i32.add (local.get $at) (i32.const 16)) (local.get $end)))))
    (i64.or
      (i64.shl (i64.extend_i32_u (i32.add (i32.add (local.get $at) (i32.const 16)) (local.get $end))) (i64.const 32))
      (i64.extend_i32_u (i32.load offset=12 (local.get $at))))))
`
