;; Fails with 8 MiB of text.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (drop (memory.grow (i32.const 200)))
    (memory.fill (i32.const 65536) (i32.const 0x41) (i32.const 0x800005))
    (i64.store8 (i32.const 65536) (i64.const 0x2a))
    (i32.store (i32.const 65537) (i32.const 0x04808080))
    (i64.const 0x0001000000800005))
)
