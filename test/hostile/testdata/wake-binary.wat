;; Wakes a key whose name is no UTF-8, which no metric could have as a label.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a\0d\08\0e\aa\01\08\12\06\1a\04key\ff")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000000f))
)
