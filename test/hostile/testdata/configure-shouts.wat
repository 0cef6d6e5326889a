;; Refuses its settings with 8 MiB of text.
(module
  (memory (export "memory") 200)
  (; plugin ;)
  (func (export "windlass_configure") (result i64)
    (memory.fill (i32.const 65536) (i32.const 0x41) (i32.const 0x800000))
    (i64.const 0x0001000000800000))
)
