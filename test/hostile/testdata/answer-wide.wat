;; Answers with 15 million effects of two bytes each: some thousand times as much in the host, were they believed.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (local $at i32)
    (drop (memory.grow (i32.const 500)))
    (loop $l
      (i64.store (i32.add (local.get $at) (i32.const 65536)) (i64.const 0x000a000a000a000a))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $l (i32.lt_u (local.get $at) (i32.const 30000000))))
    (i64.const 0x0001000001c9c380))
)
