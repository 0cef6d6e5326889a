;; Deletes an object that it has never seen, without a precondition.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a%\08\05\12\0dv1/configmaps\22\07hostile*\09bystander")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000027))
)
