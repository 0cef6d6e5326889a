;; Declares a memory to share with threads.
(module
  (memory $m (shared 1 2))
  (export "memory" (memory $m))
  (; plugin ;)
)
