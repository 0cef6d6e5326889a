;; Asks for a view of a namespace that leads to a node: the list would go there.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a+\08\0c\a2\01&\12\22../../../api/v1/nodes/node-0/proxy8\01")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000002d))
)
