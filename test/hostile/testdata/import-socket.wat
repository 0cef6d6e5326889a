;; Imports a socket from WASI, of which only a clock that stands still and the like is there.
(module
  (import "wasi_snapshot_preview1" "sock_accept" (func (param i32 i32 i32) (result i32)))
  (; plugin ;)
)
