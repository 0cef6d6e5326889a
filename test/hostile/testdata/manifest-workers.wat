;; Its manifest asks for two thousand million workers.
(module
  (; plugin ;)
  (data (i32.const 60000) "{\"name\":\"x\",\"version\":\"1\",\"controllers\":[{\"name\":\"c\",\"workers\":2000000000,\"key\":{},\"views\":[{\"name\":\"v\",\"resource\":{\"version\":\"v1\",\"name\":\"configmaps\"},\"fields\":[\"metadata.name\"]}]}]}")
  (func (export "windlass_manifest") (result i64) (i64.const 0x0000ea60000000b7))
)
