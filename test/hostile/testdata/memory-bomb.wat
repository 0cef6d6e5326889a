;; Asks for memory until there is none, then uses more.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (loop $l (br_if $l (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (i32.store (i32.const 0x7ffffff0) (i32.const 1))
    (i64.const 0))
)
