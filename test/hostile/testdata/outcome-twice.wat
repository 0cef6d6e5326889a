;; Fetches an outcome twice, onto its own request.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (import "windlass" "outcome" (func $outcome (param i32)))
  (; plugin ;)
  (data (i32.const 8192) "echo")
  (func (export "windlass_sync") (result i64)
    (drop (call $perform (i32.const 8192) (i32.const 4)))
    (call $outcome (i32.const 8193))
    (call $outcome (i32.const 8193))
    (i64.const 0))
)
