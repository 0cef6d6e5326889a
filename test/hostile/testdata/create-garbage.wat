;; Creates an object of bytes that are none.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a)\08\01\12\0dv1/configmaps\22\07hostile*\07garbage2\04\ff\ff\ff\ff")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000002b))
)
