;; Reads any address of the API server.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a\1e\08\10\12\08v1/nodes\ba\01\0f/api/v1/secrets")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000020))
)
