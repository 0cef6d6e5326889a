;; Two functions call each other for ever, through a table.
(module
  (type $t (func (result i64)))
  (table 2 2 funcref)
  (elem (i32.const 0) $a $b)
  (; plugin ;)
  (func $a (result i64) (i64.add (call_indirect (type $t) (i32.const 1)) (i64.const 1)))
  (func $b (result i64) (i64.add (call_indirect (type $t) (i32.const 0)) (i64.const 1)))
  (func (export "windlass_sync") (result i64)
    (call_indirect (type $t) (i32.const 0)))
)
