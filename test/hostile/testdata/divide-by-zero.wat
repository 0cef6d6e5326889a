;; Divides by zero.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (i64.extend_i32_s (i32.div_s (i32.const 1) (i32.const 0))))
)
