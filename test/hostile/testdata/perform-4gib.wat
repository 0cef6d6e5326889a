;; Performs a request of 4 GiB less one byte, at an address that wraps around.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (drop (call $perform (i32.const -1) (i32.const -1)))
    (i64.const 0))
)
