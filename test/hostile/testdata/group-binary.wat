;; A resource that is no UTF-8, in a group whose members are done at a time.
(module
  (; plugin ;)
  (data (i32.const 8192) "\0aM\08\0d\88\01\02\92\01!\08\09\12\0ev1/configmaps\ff\22\07hostile*\04loot\92\01!\08\09\12\0ev1/configmaps\ff\22\07hostile*\04loot")
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000020000000004f))
)
