;; Wants the host to lend it a memory.
(module
  (import "env" "memory" (memory 1))
  (export "memory" (memory 0))
  (; plugin ;)
)
