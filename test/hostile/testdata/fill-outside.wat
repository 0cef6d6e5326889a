;; Fills 4 GiB from the end of its memory.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (memory.fill (i32.const 65535) (i32.const 7) (i32.const -1))
    (i64.const 0))
)
