;; Calls a helper on all its memory, over and over.
(module
  (import "windlass" "json_form" (func $form (param i32 i32) (result i32)))
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (drop (memory.grow (i32.const 1000)))
    (i32.store8 (i32.const 0) (i32.const 10))
    (loop $l (drop (call $form (i32.const 0) (i32.shl (memory.size) (i32.const 16)))) (br $l))
    (i64.const 0))
)
