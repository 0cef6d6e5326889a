;; Has the host check one signature, over and over.
(module
  (import "windlass" "x509" (func $x509 (param i32 i32) (result i32)))
  (; plugin ;)
  (data (i32.const 32768)
    "signed request\0a"
    "-----BEGIN CERTIFICATE REQUEST-----\0a"
    "MIIBVTCBtwIBADASMRAwDgYDVQQDEwdmb3JldmVyMIGbMBAGByqGSM49AgEGBSuB\0a"
    "BAAjA4GGAAQAq1ILx7217SUf9IElaOITy8krRW+AqBofv8cwTYvVMqtrwFSz/q1z\0a"
    "SuYFfOMhzv4bLX2QIfupxM1VSZPQP7ss4wUBimpe34NCrAHGiBgqcwsCTqPrlddB\0a"
    "0krcDRCUj+ZyilbWFFNY6FpdMEGyyV/moIBV4I+rQV1j3PQecOQ/NyCOVuugADAK\0a"
    "BggqhkjOPQQDBAOBjAAwgYgCQgDSHdmRJa+pCMfrjxdI1yPUEY7vcuHprlj03YUo\0a"
    "XTGozI1FPYtBfGix1uU57cmD4j64V7+RhmcDGGNqFoHWU5nwfwJCAdJgFpX4Fzoh\0a"
    "qrP/Hhpki2f7R2/Aj+ic/dy4XiYAG1XAbxUOtyYpIgzaymBq/GVuWdyjUmzE35gZ\0a"
    "vzUanlWGCfqQ\0a"
    "-----END CERTIFICATE REQUEST-----\0a"
  )
  (func (export "windlass_sync") (result i64)
    (loop $l (drop (call $x509 (i32.const 32768) (i32.const 553))) (br $l))
    (i64.const 0))
)
