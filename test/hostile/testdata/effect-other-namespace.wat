;; Creates an object in another namespace than the one that it says.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a9\08\01\12\0dv1/configmaps\22\07hostile*\05guest2\16\0a\14\0a\05guest\1a\0bkube-system")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000003b))
)
