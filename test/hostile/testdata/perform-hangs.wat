;; Performs what is never answered.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (data (i32.const 8192) "hang")
  (func (export "windlass_sync") (result i64)
    (drop (call $perform (i32.const 8192) (i32.const 4)))
    (i64.const 0))
)
