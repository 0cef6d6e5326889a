;; Answers with 50,000 events.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0aD\08\08\12\0dv1/configmaps\22\07hostile*\0eevents-flood-0\9a\01\17\0a\07Warning\12\05Flood\1a\05water")
  (func (export "windlass_sync") (result i64)
    (local $n i32)
    (drop (memory.grow (i32.const 100)))
    (loop $l
      (memory.copy (i32.add (i32.const 65536) (i32.mul (local.get $n) (i32.const 70))) (i32.const 8192) (i32.const 70))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $n) (i32.const 50000))))
    (i64.const 0x00010000003567e0))
)
