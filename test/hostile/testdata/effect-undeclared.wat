;; Creates a secret, which its manifest does not declare.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a4\08\01\12\0av1/secrets\22\07hostile*\06stolen2\13\0a\11\0a\06stolen\1a\07hostile")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000036))
)
