// Package syncer does one sync of one key: it takes the snapshot, makes the request, calls the plugin, answers what
// that performs, checks the answer as a whole, keeps the key's state and does the effects.
//
// Whoever syncs keys does it with this package: the manager's workers (host/controller) and their shadows, the
// simulator, the differential tests, golden cases. So what holds in a test holds in the manager. What is theirs is when
// a key is synced, and what becomes of one that failed: queues, paces, retries.
//
//	s := &syncer.Syncer{World: caches, States: states}
//	s.Prepare(ctx, target, &syncer.Turn{Key: key})
//	o := s.Sync(ctx)
//
// Those who look on are witnesses: a recording, the veil that keeps secrets out of logs, a shadow that runs after it.
package syncer
