;; Creates an object with a forged version, which the API server refuses.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a`\08\01\12\0dv1/configmaps\22\07hostile*\06forged2<\0a:\0a\06forged\1a\07hostile*$00000000-0000-0000-0000-0000000000002\017")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000062))
)
