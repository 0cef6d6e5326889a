;; _initialize never ends.
(module
  (; plugin ;)
  (func (export "_initialize") (loop $l (br $l)))
)
