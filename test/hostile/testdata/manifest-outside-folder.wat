;; Its controller is named so that its recording would be written elsewhere.
(module
  (; plugin ;)
  (data (i32.const 60000) "{\"name\":\"x\",\"version\":\"1\",\"controllers\":[{\"name\":\"../../outside/evil\",\"key\":{},\"views\":[{\"name\":\"v\",\"resource\":{\"group\":\"\",\"version\":\"v1\",\"name\":\"configmaps\"},\"fields\":[\"metadata.name\"]}]}]}")
  (func (export "windlass_manifest") (result i64) (i64.const 0x0000ea60000000be))
)
