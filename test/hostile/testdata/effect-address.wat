;; A name that leads out of its resource, to a secret.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a.\08\05\12\0dv1/configmaps\22\07hostile*\0f../secrets/lootJ\011")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000030))
)
