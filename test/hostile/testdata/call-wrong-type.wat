;; Calls a function as one of another type.
(module
  (type $t (func (result i64)))
  (table 1 funcref)
  (elem (i32.const 0) $f)
  (; plugin ;)
  (func $f (param f64))
  (func (export "windlass_sync") (result i64)
    (call_indirect (type $t) (i32.const 0)))
)
