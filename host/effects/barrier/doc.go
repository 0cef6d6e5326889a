// Package barrier lets the next sync of a key wait until the cache shows what the key's syncs have written.
//
// An older snapshot would not have the pods that the last sync created, and the next sync would create them again.
// What was written is noted (Written, Removed, AwaitChange); whether the cache shows it is asked before a sync (Ready),
// and a key whose turn came too early is parked (Park). Parked keys are looked at when a store moves (Progress);
// nothing polls. What takes long is compared with the server, for a wait mustn't outlast its reason.
package barrier
