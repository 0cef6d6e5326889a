;; Asks for 65,535 pages at once, over and over.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (loop $l (drop (memory.grow (i32.const 65535))) (br $l))
    (i64.const 0))
)
