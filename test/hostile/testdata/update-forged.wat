;; Updates its own object, whose UID, version, owner and time of creation it forges.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0a\ae\01\08\02\12\0dv1/configmaps\22\07hostile*\0fupdate-forged-02X\0aG\0a\0fupdate-forged-0\1a\07hostile*$00000000-0000-0000-0000-0000000000002\011B\02\08\01\12\0d\0a\05taken\12\04overJ$00000000-0000-0000-0000-000000000000R\011")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x00002000000000b1))
)
