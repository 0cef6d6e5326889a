;; Its manifest has 2 MiB.
(module
  (memory (export "memory") 40)
  (; plugin ;)
  (func (export "windlass_manifest") (result i64)
    (memory.fill (i32.const 65536) (i32.const 0x20) (i32.const 0x200000))
    (i64.const 0x0001000000200000))
)
