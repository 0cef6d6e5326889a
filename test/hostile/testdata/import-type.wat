;; Imports perform with a type of its own.
(module
  (import "windlass" "perform" (func (param i64)))
  (; plugin ;)
)
