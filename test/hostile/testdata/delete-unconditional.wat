;; Deletes its own object, with the precondition taken away, and the bystander with it.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a'\08\05\12\0dv1/configmaps\22\07hostile*\09bystander@\03")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000029))
)
