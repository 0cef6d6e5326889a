;; Loops for ever.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (loop $l (br $l))
    (i64.const 0))
)
