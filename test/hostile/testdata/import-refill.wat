;; Imports the meter's own function, to fill its tank.
(module
  (import "windlass.meter" "refill" (func $refill))
  (; plugin ;)
)
