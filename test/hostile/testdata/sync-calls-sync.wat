;; An export that calls back into the exports: windlass_alloc calls windlass_sync, which calls windlass_alloc.
(module
  (; plugin ;)
  (func $alloc (export "windlass_alloc") (param i32) (result i32)
    (drop (call $sync))
    (i32.const 4096))
  (func $configure (export "windlass_configure") (result i64) (i64.const 0))
  (func $sync (export "windlass_sync") (result i64)
    (drop (call $configure))
    (i64.extend_i32_u (call $alloc (i32.const 1))))
)
