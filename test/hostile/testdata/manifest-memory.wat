;; Its manifest wants a million gigabytes.
(module
  (; plugin ;)
  (data (i32.const 60000) "{\"name\":\"x\",\"version\":\"1\",\"memory\":1000000000000000,\"controllers\":[{\"name\":\"c\",\"key\":{},\"views\":[{\"name\":\"v\",\"resource\":{\"version\":\"v1\",\"name\":\"configmaps\"},\"fields\":[\"metadata.name\"]}]}]}")
  (func (export "windlass_manifest") (result i64) (i64.const 0x0000ea60000000bc))
)
