;; Reads behind its memory, the offset added to an address near 4 GiB.
(module
  (; plugin ;)
  (func (export "windlass_sync") (result i64)
    (i64.load offset=4294967280 (i32.const -1)))
)
