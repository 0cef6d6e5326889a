;; Answers with bytes behind its memory.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0001000000000010))
)
