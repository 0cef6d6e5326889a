;; Performs a request of 64 KiB that begins at its memory's last byte.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (drop (call $perform (i32.const 65535) (i32.const 65536)))
    (i64.const 0))
)
