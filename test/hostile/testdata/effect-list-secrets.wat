;; Lists all secrets.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a\0e\08\0a\12\0av1/secrets")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000010))
)
