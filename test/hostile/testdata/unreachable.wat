;; Traps.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (unreachable))
)
