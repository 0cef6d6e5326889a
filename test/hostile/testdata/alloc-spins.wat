;; Never makes room for a message.
(module
  (; plugin ;)
  (func (export "windlass_alloc") (param i32) (result i32) (loop $l (br $l)) (i32.const 0))
)
