;; Has the host read all its memory as a certificate, over and over.
(module
  (import "windlass" "x509" (func $x509 (param i32 i32) (result i32)))
  (; plugin ;)
  (data (i32.const 32768) "certificate\0a-----BEGIN CERTIFICATE-----\0a")
  (func (export "windlass_sync") (result i64)
    (drop (memory.grow (i32.const 1000)))
    (loop $l (drop (call $x509 (i32.const 32768) (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 32768)))) (br $l))
    (i64.const 0))
)
