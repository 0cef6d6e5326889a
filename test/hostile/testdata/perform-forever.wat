;; Performs and performs.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (loop $l (drop (call $perform (i32.const 0) (i32.const 0))) (br $l))
    (i64.const 0))
)
