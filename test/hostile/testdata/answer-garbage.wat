;; Answers with bytes that mean nothing.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (memory.fill (i32.const 8192) (i32.const 0xff) (i32.const 4096))
    (i64.const 0x0000200000001000))
)
