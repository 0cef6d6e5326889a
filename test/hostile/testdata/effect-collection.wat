;; Deletes the whole collection.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a\1a\08\07\12\0dv1/configmaps\22\07hostile")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000001c))
)
