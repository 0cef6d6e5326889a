;; A good plugin, which all others run beside: it answers that it wants to be called again.
(module
  (; plugin ;)
  (data (i32.const 8192) "\20\2a")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000002))
)
