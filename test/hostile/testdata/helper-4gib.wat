;; Calls a helper on 4 GiB.
(module
  (import "windlass" "json_form" (func $form (param i32 i32) (result i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (drop (call $form (i32.const 16) (i32.const -16)))
    (i64.const 0))
)
