;; Imports what no plugin is given.
(module
  (import "env" "exec" (func (param i32 i32) (result i32)))
  (; plugin ;)
)
