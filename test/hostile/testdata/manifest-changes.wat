;; Its manifest is another one each time that it is asked: by a counter in memory, one in a global and the clock.
(module
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (global $asked (mut i32) (i32.const 0))
  (; plugin ;)
  (func (export "windlass_manifest") (result i64)
    (global.set $asked (i32.add (global.get $asked) (i32.const 1)))
    (i32.store (i32.const 60000) (i32.add (i32.load (i32.const 60000)) (i32.const 1)))
    (drop (call $clock (i32.const 1) (i64.const 0) (i32.const 60008)))
    ;; the description's digit
    (i32.store8 (i32.const 32) (i32.add (i32.const 48)
      (i32.rem_u (i32.add (i32.add (global.get $asked) (i32.load (i32.const 60000))) (i32.load (i32.const 60008))) (i32.const 10))))
    (i64.const (; manifest ;)))
)
