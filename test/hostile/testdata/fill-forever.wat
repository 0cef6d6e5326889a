;; Fills all memory that it can get, over and over.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (drop (memory.grow (i32.const 1023)))
    (loop $l
      (memory.fill (i32.const 0) (i32.const 7) (i32.shl (memory.size) (i32.const 16)))
      (br $l))
    (i64.const 0))
)
