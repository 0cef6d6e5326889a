;; Calls itself for ever.
(module
  (; plugin ;)
  (func $f (param i64) (result i64) (call $f (i64.add (local.get 0) (i64.const 1))))
  (func (export "windlass_sync") (result i64)
    (call $f (i64.const 0)))
)
