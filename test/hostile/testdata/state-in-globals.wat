;; Counts its syncs in globals and memory, to answer otherwise when it has been called before.
(module
  (global $g (mut i64) (i64.const 0))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (i64.store (i32.const 8192) (i64.add (i64.load (i32.const 8192)) (i64.const 1)))
    (global.set $g (i64.add (global.get $g) (i64.load (i32.const 8192))))
    ;; requeueAfter (field 4): the count
    (i32.store8 (i32.const 8200) (i32.const 0x20))
    (i64.store8 (i32.const 8201) (global.get $g))
    (i64.const 0x0000200800000002))
)
