;; Answers with 2 GiB from its first byte on.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000000080000000))
)
