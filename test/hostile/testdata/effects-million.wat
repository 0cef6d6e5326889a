;; Answers with a million effects.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (local $at i32)
    (drop (memory.grow (i32.const 200)))
    (loop $l
      ;; 0a 06 08 0d 2a 02 61 61: an effect of six bytes, an empty group with a name
      (i64.store (i32.add (local.get $at) (i32.const 65536)) (i64.const 0x6161022a0d08060a))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $l (i32.lt_u (local.get $at) (i32.const 8000000))))
    (i64.const 0x00010000007a1200))
)
