;; Patches, of which its manifest has not the verb.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0aB\08\03\12\0dv1/configmaps\22\07hostile*\09bystander2\19{\22data\22:{\22taken\22:\22over\22}}8\02")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x0000200000000044))
)
