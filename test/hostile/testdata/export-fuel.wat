;; Exports a counter under the name of the meter's.
(module
  (; plugin ;)
  (global (export "windlass.fuel") i64 (i64.const 9223372036854775807))
)
