// Package guardian is the small process that stands behind a manager: it starts the manager as its child, passes
// signals on and waits. When the manager has ended in whatever way, by SIGKILL, for want of memory or in a crash, the
// kernel tells the guardian at once, and nothing that the manager hasn't sent yet will ever be sent. So its Leases
// needn't expire: they can be given up for it.
//
// A process is three things in turn, by what is in its environment:
//
//   - `windlass run` reads its configuration. Where a guardian is wanted it becomes one ([Enter]): the same process,
//     with the program's memory as at its first instruction.
//   - The guardian starts the program once more with the same arguments. That one finds that it is somebody's ward
//     ([Ward]), and is the manager.
//   - When the manager has ended and has left something to be done (package will), the guardian becomes its heir: once
//     more the same process with the whole program, which does that ([Heir]) and ends with the manager's exit code.
//
// The guardian holds no client, no configuration and no credentials. It runs before packages are initialised that take
// memory ([Begin], package begin): so this package imports next to nothing, and must stay so.
//
// When the guardian is killed, the kernel sends the manager SIGTERM: it stops its controllers and gives its Leases up
// by itself. When both are killed at once, as with a container, the Leases expire.
package guardian
