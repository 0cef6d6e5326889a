;; Exits the process, by WASI.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (call $exit (i32.const 0))
    (i64.const 0))
)
