;; A start function that never ends: it would run before the host can set a meter.
(module
  (; plugin ;)
  (func $spin (loop $l (br $l)))
  (start $spin)
)
