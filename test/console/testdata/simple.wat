;; A plugin that has another one's manifest and does one thing at each sync: nothing, which as a shadow differs wherever the live one acts, or to trap.
(module
  (memory (export "memory") 64)
  (data (i32.const 16) "(; manifest ;)")
  (func (export "windlass_abi_v1"))
  (func (export "windlass_alloc") (param i32) (result i32) (i32.const 0x100000))
  (func (export "windlass_manifest") (result i64) (i64.const (; manifest at ;)))
  (func (export "windlass_configure") (result i64) (i64.const 0))
  (func (export "windlass_sync") (result i64) (; sync ;))
)
