;; Logs a million messages of 60 KiB.
(module
  (import "windlass" "log" (func $log (param i32 i32 i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (local $n i32)
    (memory.fill (i32.const 0) (i32.const 0x41) (i32.const 61440))
    (loop $l
      (call $log (i32.const 1) (i32.const 0) (i32.const 61440))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $n) (i32.const 1000000))))
    (i64.const 0))
)
