;; Performs effects when it is configured.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (func (export "windlass_configure") (result i64)
    (drop (call $perform (i32.const 0) (i32.const 4)))
    (i64.const 0))
)
