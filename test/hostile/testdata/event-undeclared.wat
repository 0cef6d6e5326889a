;; Writes an event as nobody.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0aD\08\08\12\0dv1/configmaps\22\07hostile*\09bystander\9a\01\1c\0a\07Warning\12\04Lies\1a\0bAll is lost")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000046))
)
