;; Hides a count behind the memory that it has asked for, where an access does not trap.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (i64.store (i32.const 0x200000) (i64.add (i64.load (i32.const 0x200000)) (i64.const 1)))
    (i32.store8 (i32.const 8200) (i32.const 0x20))
    (i64.store8 (i32.const 8201) (i64.load (i32.const 0x200000)))
    (i64.const 0x0000200800000002))
)
