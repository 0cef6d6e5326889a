;; Updates an object that it has never seen.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0aL\08\02\12\0dv1/configmaps\22\07hostile*\09bystander2%\0a\14\0a\09bystander\1a\07hostile\12\0d\0a\05taken\12\04over")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000004e))
)
