;; Creates a config map part-… for each that is labelled version1=perform, in the middle of the sync, and then a config map
;; index that has its name. When the first one fails, it answers with the reason.
;;
;; It was written against version 1 of the ABI. It is kept as it is, and does what it did.
(module
  (import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
  (import "windlass" "outcome" (func $outcome (param i32)))
  (memory (export "memory") 2)
  (func (export "windlass_abi_v1"))

  ;; The request lies at 65536, and memory is made large enough for it.
  (global $size (mut i32) (i32.const 0))
  (func (export "windlass_alloc") (param $size i32) (result i32)
    (global.set $size (local.get $size))
    (if (i32.gt_u (local.get $size) (i32.const 65536))
      (then (drop (memory.grow (i32.shr_u (local.get $size) (i32.const 16))))))
    (i32.const 65536))
  (func $end (result i32) (i32.add (i32.const 65536) (global.get $size)))

  (data (i32.const 16)
    "{\22name\22: \22version1-perform\22, \22version\22: \221.0.0\22, \22controllers\22: [{"
    "\22name\22: \22version1-perform-controller\22, \22key\22: {\22view\22: 0},"
    " \22views\22: ["
    "{\22name\22: \22keys\22, \22resource\22: {\22version\22: \22v1\22, \22name\22: \22configmaps\22}, \22fields\22: [\22metadata.name\22], \22where\22: {\22path\22: \22metadata.labels[version1]\22, \22op\22: \22in\22, \22values\22: [\22perform\22]}},"
    "{\22name\22: \22made\22, \22resource\22: {\22version\22: \22v1\22, \22name\22: \22configmaps\22}, \22fields\22: [\22metadata.name\22], \22where\22: {\22all\22: ["
    "{\22path\22: \22metadata.namespace\22, \22op\22: \22join\22, \22view\22: 0, \22viewPath\22: \22metadata.namespace\22},"
    " {\22path\22: \22metadata.name\22, \22op\22: \22in\22, \22values\22: [\22index\22]}]}}"
    "],"
    " \22writes\22: [{\22resource\22: {\22version\22: \22v1\22, \22name\22: \22configmaps\22}, \22verbs\22: [\22create\22]}]}]}")
  (func (export "windlass_manifest") (result i64)
    (i64.const 0x00000010000002a6)) ;; at 16, 678 bytes

  (func (export "windlass_configure") (result i64)
    (i64.const 0))

  ;; --- reading protobuf ---

  (global $at (mut i32) (i32.const 0)) ;; where reading goes on
  (global $p (mut i32) (i32.const 0))  ;; the field that was found: where its bytes are,
  (global $n (mut i32) (i32.const 0))  ;; and how many, or its number

  (func $varint (result i64)
    (local $value i64) (local $shift i64) (local $byte i64)
    (loop $more
      (local.set $byte (i64.load8_u (global.get $at)))
      (global.set $at (i32.add (global.get $at) (i32.const 1)))
      (local.set $value (i64.or (local.get $value)
        (i64.shl (i64.and (local.get $byte) (i64.const 127)) (local.get $shift))))
      (local.set $shift (i64.add (local.get $shift) (i64.const 7)))
      (br_if $more (i64.ge_u (local.get $byte) (i64.const 128))))
    (local.get $value))

  ;; Finds a field by its number in the message from $from to $end, the first after $skip others of that number.
  (func $find (param $from i32) (param $end i32) (param $number i32) (param $skip i32) (result i32)
    (local $tag i64) (local $type i32)
    (global.set $at (local.get $from))
    (block $none
      (loop $next
        (br_if $none (i32.ge_u (global.get $at) (local.get $end)))
        (local.set $tag (call $varint))
        (local.set $type (i32.and (i32.wrap_i64 (local.get $tag)) (i32.const 7)))
        (if (i32.eq (local.get $type) (i32.const 0))
          (then (global.set $n (i32.wrap_i64 (call $varint)))))
        (if (i32.eq (local.get $type) (i32.const 1))
          (then (global.set $at (i32.add (global.get $at) (i32.const 8)))))
        (if (i32.eq (local.get $type) (i32.const 5))
          (then (global.set $at (i32.add (global.get $at) (i32.const 4)))))
        (if (i32.eq (local.get $type) (i32.const 2))
          (then
            (global.set $n (i32.wrap_i64 (call $varint)))
            (global.set $p (global.get $at))
            (global.set $at (i32.add (global.get $at) (global.get $n)))))
        (br_if $next (i64.ne (i64.shr_u (local.get $tag) (i64.const 3)) (i64.extend_i32_u (local.get $number))))
        (local.set $skip (i32.sub (local.get $skip) (i32.const 1)))
        (br_if $next (i32.ge_s (local.get $skip) (i32.const 0)))
        (return (i32.const 1))))
    (i32.const 0))

  ;; --- writing protobuf ---

  (global $out (mut i32) (i32.const 8192)) ;; where writing goes on

  (func $byte (param $b i32)
    (i32.store8 (global.get $out) (local.get $b))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))

  (func $bytes (param $from i32) (param $n i32)
    (memory.copy (global.get $out) (local.get $from) (local.get $n))
    (global.set $out (i32.add (global.get $out) (local.get $n))))

  ;; Writes a field of bytes.
  (func $text (param $tag i32) (param $from i32) (param $n i32)
    (call $byte (local.get $tag))
    (call $byte (local.get $n))
    (call $bytes (local.get $from) (local.get $n)))

  ;; Begins a field that is a message, and gives where. Its length is written when it ends, always in two bytes.
  (func $open (param $tag i32) (result i32)
    (call $byte (local.get $tag))
    (global.set $out (i32.add (global.get $out) (i32.const 2)))
    (global.get $out))
  (func $close (param $start i32)
    (local $n i32)
    (local.set $n (i32.sub (global.get $out) (local.get $start)))
    (i32.store8 (i32.sub (local.get $start) (i32.const 2)) (i32.or (local.get $n) (i32.const 0x80)))
    (i32.store8 (i32.sub (local.get $start) (i32.const 1)) (i32.shr_u (local.get $n) (i32.const 7))))

  ;; What was written from 8192 on, as a place in memory.
  (func $written (result i64)
    (i64.or (i64.const 0x0000200000000000) (i64.extend_i32_u (i32.sub (global.get $out) (i32.const 8192)))))

  ;; --- what it does ---

  (global $namespace (mut i32) (i32.const 0))
  (global $namespaceSize (mut i32) (i32.const 0))

  ;; Reads the key's namespace.
  (func $readKey
    (if (call $find (i32.const 65536) (call $end) (i32.const 2) (i32.const 0))
      (then (if (call $find (global.get $p) (i32.add (global.get $p) (global.get $n)) (i32.const 2) (i32.const 0))
        (then
          (global.set $namespace (global.get $p))
          (global.set $namespaceSize (global.get $n)))))))

  ;; Reports whether the second view has an object.
  (func $made (result i32)
    (if (result i32) (call $find (i32.const 65536) (call $end) (i32.const 7) (i32.const 1))
      (then (call $find (global.get $p) (i32.add (global.get $p) (global.get $n)) (i32.const 3) (i32.const 0)))
      (else (i32.const 0))))

  (data (i32.const 4096) "v1/configmaps" "part-" "index" "part")

  ;; Begins an effect that creates a config map, up to its object's metadata. The caller closes what it opens.
  (func $create (result i32)
    (local $effect i32)
    (local.set $effect (call $open (i32.const 0x0a)))                          ;; effects
    (call $byte (i32.const 0x08)) (call $byte (i32.const 1))                   ;;   kind: CREATE
    (call $text (i32.const 0x12) (i32.const 4096) (i32.const 13))              ;;   resource
    (call $text (i32.const 0x22) (global.get $namespace) (global.get $namespaceSize)) ;; namespace
    (local.get $effect))

  (func (export "windlass_sync") (result i64)
    (local $effect i32) (local $object i32) (local $metadata i32) (local $entry i32)
    (local $outcome i32) (local $outcomeEnd i32)
    (if (call $made) (then (return (i64.const 0))))
    (call $readKey)

    (local.set $effect (call $create))
    (local.set $object (call $open (i32.const 0x32)))                          ;;   object
    (local.set $metadata (call $open (i32.const 0x0a)))                        ;;     metadata
    (call $text (i32.const 0x12) (i32.const 4109) (i32.const 5))               ;;       generateName
    (call $text (i32.const 0x1a) (global.get $namespace) (global.get $namespaceSize)) ;; namespace
    (call $close (local.get $metadata))
    (call $close (local.get $object))
    (call $close (local.get $effect))

    ;; The outcomes come to 32768.
    (local.set $outcomeEnd (i32.add (i32.const 32768)
      (call $perform (i32.const 8192) (i32.sub (global.get $out) (i32.const 8192)))))
    (call $outcome (i32.const 32768))
    (if (i32.eqz (call $find (i32.const 32768) (local.get $outcomeEnd) (i32.const 1) (i32.const 0)))
      (then (unreachable)))
    (local.set $outcome (global.get $p))
    (local.set $outcomeEnd (i32.add (global.get $p) (global.get $n)))
    (global.set $out (i32.const 8192))

    ;; A code that isn't 0: it failed.
    (global.set $n (i32.const 0))
    (if (call $find (local.get $outcome) (local.get $outcomeEnd) (i32.const 1) (i32.const 0))
      (then (if (global.get $n)
        (then
          (if (call $find (local.get $outcome) (local.get $outcomeEnd) (i32.const 2) (i32.const 0))
            (then (call $text (i32.const 0x2a) (global.get $p) (global.get $n))))  ;; error: the reason
          (return (call $written))))))

    (local.set $effect (call $create))
    (call $text (i32.const 0x2a) (i32.const 4114) (i32.const 5))               ;;   name
    (local.set $object (call $open (i32.const 0x32)))                          ;;   object
    (local.set $metadata (call $open (i32.const 0x0a)))                        ;;     metadata
    (call $text (i32.const 0x0a) (i32.const 4114) (i32.const 5))               ;;       name
    (call $text (i32.const 0x1a) (global.get $namespace) (global.get $namespaceSize)) ;; namespace
    (call $close (local.get $metadata))
    (local.set $entry (call $open (i32.const 0x12)))                           ;;     data
    (call $text (i32.const 0x0a) (i32.const 4119) (i32.const 4))               ;;       its key
    (if (call $find (local.get $outcome) (local.get $outcomeEnd) (i32.const 5) (i32.const 0))
      (then (call $text (i32.const 0x12) (global.get $p) (global.get $n))))    ;;       the name that was made
    (call $close (local.get $entry))
    (call $close (local.get $object))
    (call $close (local.get $effect))
    (call $written))
)
