;; Its manifest is no JSON.
(module
  (; plugin ;)
  (data (i32.const 60000) "\ff\fe\00\01name")
  (func (export "windlass_manifest") (result i64) (i64.const 0x0000ea6000000008))
)
