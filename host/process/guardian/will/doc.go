// Package will is what a manager leaves to its guardian: which Leases are to be given up when it has ended without
// doing so, and what there is to know about the writes that may still be under way then.
//
// It is kept where a SIGKILL can't stop it from being right: in memory that both processes share, and in a socket.
//
//   - A write is counted before it is sent, until it is answered. If none is counted, none can be under way: those that
//     were answered are done, others were never sent.
//   - The connections on which writes are sent are put into a socket that the guardian holds the other end of, so they
//     stay open when the manager has ended. The heir ends them in one direction and waits for the server to end them in
//     the other one. The server does so once it has read all that was sent and has given up every request that wasn't
//     answered, in just the way in which it gives up one whose timeout= is over: no other way to know it is as sure.
//   - Where a write's answer was lost, or a connection ended while writes were under way on it, nothing is known until
//     the time is over that they had. Then the Leases are left to expire.
package will
