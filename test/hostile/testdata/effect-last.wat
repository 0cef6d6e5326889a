;; A good create, and behind it a secret: nothing of the answer may be written.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a3\08\01\12\0dv1/configmaps\22\07hostile*\04good2\11\0a\0f\0a\04good\1a\07hostile\0a4\08\01\12\0av1/secrets\22\07hostile*\06stolen2\13\0a\11\0a\06stolen\1a\07hostile")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000006b))
)
