;; Changes its table, which no sync could put back.
(module
  (table $t 1 funcref)
  (elem (i32.const 0) $f)
  (; plugin ;)
  (func $f)
  (func (export "change") (table.set $t (i32.const 0) (ref.func $f)))
)
