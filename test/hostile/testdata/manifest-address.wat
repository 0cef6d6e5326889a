;; Reads a resource of a group that it may be granted, by a version that leads to all Secrets.
(module
  (; plugin ;)
  (data (i32.const 60000) "{\"name\":\"x\",\"version\":\"1\",\"controllers\":[{\"name\":\"c\",\"key\":{},\"views\":[{\"name\":\"v\",\"resource\":{\"group\":\"example.com\",\"version\":\"v1/../../../api/v1\",\"name\":\"secrets\"},\"fields\":[\"metadata.name\"]}]}]}")
  (func (export "windlass_manifest") (result i64) (i64.const 0x0000ea60000000c5))
)
