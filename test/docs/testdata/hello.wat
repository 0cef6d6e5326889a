(module
  (memory (export "memory") 1)
  (func (export "windlass_abi_v1"))

  ;; Room for a message. Memory is put back before each sync, so one place will do.
  (func (export "windlass_alloc") (param $size i32) (result i32)
    (i32.const 4096))

  ;; The manifest: keys are namespaces called default; it may create config maps.
  (data (i32.const 16)
    "{\22name\22: \22hello\22, \22version\22: \221.0.0\22, \22controllers\22: [{"
    "\22name\22: \22hello-controller\22, \22key\22: {\22view\22: 0},"
    "\22views\22: [{\22name\22: \22namespaces\22, \22resource\22: {\22version\22: \22v1\22, \22name\22: \22namespaces\22},"
    " \22fields\22: [\22metadata.name\22], \22where\22: {\22path\22: \22metadata.name\22, \22op\22: \22in\22, \22values\22: [\22default\22]}}],"
    "\22writes\22: [{\22resource\22: {\22version\22: \22v1\22, \22name\22: \22configmaps\22}, \22verbs\22: [\22create\22]}]}]}")
  (func (export "windlass_manifest") (result i64)
    (i64.const 0x000000100000017a)) ;; at 16, 378 bytes

  ;; There are no settings: nothing is wrong with them.
  (func (export "windlass_configure") (result i64)
    (i64.const 0))

  ;; A SyncResponse with one effect.
  (data (i32.const 1024)
    "\0a\4a"                        ;; effects: 74 bytes
      "\08\01"                      ;;   kind: CREATE
      "\12\0dv1/configmaps"         ;;   resource
      "\22\07default"               ;;   namespace
      "\2a\05hello"                 ;;   name
      "\32\25"                      ;;   object: 37 bytes
        "\0a\10"                    ;;     metadata: 16 bytes
          "\0a\05hello"             ;;       name
          "\1a\07default"           ;;       namespace
        "\12\11"                    ;;     data: an entry of 17 bytes
          "\0a\08greeting"          ;;       its key
          "\12\05hello"             ;;       its value
      "\58\02")                     ;;   tolerate: AlreadyExists
  (func (export "windlass_sync") (result i64)
    (i64.const 0x000004000000004c)) ;; at 1024, 76 bytes
)
