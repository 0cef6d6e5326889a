;; Copies memory onto itself, overlapping, over and over.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (drop (memory.grow (i32.const 1022)))
    (loop $l
      (memory.copy (i32.const 1) (i32.const 0) (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1)))
      (memory.copy (i32.const 0) (i32.const 1) (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1)))
      (br $l))
    (i64.const 0))
)
