// Package leader holds Leases: it tells which process runs a group of controllers, and until when a write of that
// process may still take effect.
//
// Who holds a Lease is decided as everywhere in Kubernetes, by client-go's elector: another process takes it once it
// has seen no renewal for the Lease's duration. This package adds what that leaves open.
//
// # The fence
//
// A holder that was stopped, suspended or cut off for a while doesn't know that its Lease is another's by now, and
// would go on where it was. So each write looks at the clock at the latest moment:
//
//   - A renewal counts from when it was sent, not from when it was answered: whoever else sees the Lease sees it later.
//   - A write is sent while the last renewal isn't older than renewDeadline, by each of three clocks: the monotonic
//     one, the one that runs on while the machine is suspended, and the wall clock, which goes on in a machine that was
//     moved. One that has gone back counts as old, until the next renewal.
//   - It carries timeout=, after which the API server gives it up, so that it is over a fifth of the duration before
//     the Lease can be taken. Of this margin, one half is for bytes that the network holds back (the kernel drops the
//     connection then), the other one for clocks that run apart and for a server that ends late.
//   - The check is repeated at each write to the connection. A stopped process may stop between that check and the
//     system call behind it, which takes about a microsecond; nothing on a client's side closes that gap. Updates carry
//     a version and deletes a UID besides.
//
// # A holder's end
//
// Told to stop, a process first stops its controllers, and waits for their writes; it renews the Lease until then, and
// releases it last. When the Lease is lost, no write is sent from that moment on, the controllers stop, and the process
// stands by again.
//
// A process that ends without that leaves to its guardian what is to be released, and what is known of its writes
// (package will). The margin of a fifth holds there, too: the guardian's heir waits [Late] after the server has given
// up what was under way.
//
// # Standing by
//
// A process that waits watches the Lease, so that it sees a release at once and knows to the millisecond when the last
// renewal is too old. Before it takes a Lease it reads it from the server: a watch that has stopped telling anything
// must not look like a holder that has.
package leader
