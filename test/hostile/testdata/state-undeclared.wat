;; Keeps state that its manifest does not ask for.
(module
  (; plugin ;)
  (data (i32.const 8192) "\12\0bwhat I know")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000000d))
)
