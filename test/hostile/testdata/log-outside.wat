;; Logs 4 GiB.
(module
  (import "windlass" "log" (func $log (param i32 i32 i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (call $log (i32.const 0) (i32.const 1) (i32.const -1))
    (i64.const 0))
)
