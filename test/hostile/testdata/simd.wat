;; Uses vectors, whose instructions the rewriter does not know.
(module
  (; plugin ;)
  (func (export "vector") (result v128) (v128.const i64x2 0 0))
)
