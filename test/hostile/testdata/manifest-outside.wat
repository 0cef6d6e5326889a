;; Its manifest lies behind its memory.
(module
  (; plugin ;)
  (func (export "windlass_manifest") (result i64) (i64.const 0x0000fff000000100))
)
