;; Answers with an effect whose length is a gigabyte, and nothing behind it.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a\80\80\80\80\04")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000006))
)
