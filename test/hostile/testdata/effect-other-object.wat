;; Creates an object under another name than the one that it says.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a9\08\01\12\0dv1/configmaps\22\07hostile*\08innocent2\13\0a\11\0a\06guilty\1a\07hostile")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000003b))
)
