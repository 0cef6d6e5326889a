;; Its manifest declares a histogram that would make the metrics library panic.
(module
  (; plugin ;)
  (data (i32.const 60000) "{\"name\":\"x\",\"version\":\"1\",\"metrics\":[{\"name\":\"m\",\"type\":\"histogram\",\"buckets\":[2,1]}],\"controllers\":[{\"name\":\"c\",\"key\":{},\"views\":[{\"name\":\"v\",\"resource\":{\"version\":\"v1\",\"name\":\"configmaps\"},\"fields\":[\"metadata.name\"]}]}]}")
  (func (export "windlass_manifest") (result i64) (i64.const 0x0000ea60000000de))
)
