;; Its manifest is a list in a list in a list, half a million times.
(module
  (memory (export "memory") 20)
  (; plugin ;)
  (data (i32.const 65536) "{\"settings\":")
  (func (export "windlass_manifest") (result i64)
    (memory.fill (i32.const 65548) (i32.const 0x5b) (i32.const 500000))
    (i64.const 0x000100000007a12c))
)
