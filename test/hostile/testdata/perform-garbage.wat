;; Performs bytes that mean nothing.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (memory.fill (i32.const 8192) (i32.const 0xff) (i32.const 100))
    (drop (call $perform (i32.const 8192) (i32.const 100)))
    (i64.const 0))
)
