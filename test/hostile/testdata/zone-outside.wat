;; Asks for a time zone that is a file elsewhere on the machine.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (; plugin ;)
  (data (i32.const 8192) "\0a\1d\08\13\d2\01\18\0a\16../../../../etc/passwd")
  (func (export "windlass_sync") (result i64)
    (drop (call $perform (i32.const 8192) (i32.const 31)))
    (i64.const 0))
)
