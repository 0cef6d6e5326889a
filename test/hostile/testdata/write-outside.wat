;; Has WASI write a thousand vectors of 4 GiB.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (memory.fill (i32.const 8192) (i32.const -1) (i32.const 8192))
    (drop (call $write (i32.const 1) (i32.const 8192) (i32.const 1024) (i32.const 0)))
    (i64.const 0))
)
