;; Fetches the outcome of nothing.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (import "windlass" "outcome" (func $outcome (param i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (call $outcome (i32.const 0))
    (i64.const 0))
)
