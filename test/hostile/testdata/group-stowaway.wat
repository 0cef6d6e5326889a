;; Members of an effect that is no group.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0ar\08\01\12\0dv1/configmaps\22\07hostile*\08stowaway2\15\0a\13\0a\08stowaway\1a\07hostile\92\014\08\01\12\0av1/secrets\22\07hostile*\06stolen2\13\0a\11\0a\06stolen\1a\07hostile")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000074))
)
