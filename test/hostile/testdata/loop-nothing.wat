;; Loops for ever, through a branch table, doing nothing else.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (loop $l (block $b (br_table $b $l (i32.const 1))))
    (i64.const 0))
)
