;; Declares a table of 2^27 entries, which would lie outside the memory limit.
(module
  (table 134217728 funcref)
  (; plugin ;)
)
