;; Calls an entry of its table that is empty.
(module
  (type $t (func (result i64)))
  (table 1 funcref)
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (call_indirect (type $t) (i32.const 0)))
)
