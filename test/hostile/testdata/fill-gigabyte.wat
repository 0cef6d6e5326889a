;; Where an operator allows it a gigabyte: fills it in one instruction, then copies it onto itself, over and over.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (loop $l
      (memory.fill (i32.const 0) (i32.const 7) (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1)))
      (memory.copy (i32.const 1) (i32.const 0) (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 2)))
      (br $l))
    (i64.const 0))
)
