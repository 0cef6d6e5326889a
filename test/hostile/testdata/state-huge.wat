;; Keeps 2 MiB of state.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (drop (memory.grow (i32.const 40)))
    (i64.store (i32.const 65536) (i64.const 0x0000000080808012))
    (i32.store8 (i32.const 65537) (i32.const 0x80))
    (i32.store8 (i32.const 65538) (i32.const 0x80))
    (i32.store8 (i32.const 65539) (i32.const 0x80))
    (i32.store8 (i32.const 65540) (i32.const 0x01))
    (i64.const 0x0001000000200005))
)
