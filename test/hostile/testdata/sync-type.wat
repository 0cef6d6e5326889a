;; Exports a sync that takes what nobody gives.
(module
  (func (export "windlass_sync") (param i64) (result i64) (local.get 0))
  (; plugin ;)
)
