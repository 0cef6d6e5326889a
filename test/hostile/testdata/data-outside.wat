;; Has data that lies half behind its memory.
(module
  (; plugin ;)
  (data (i32.const 65530) "0123456789")
)
