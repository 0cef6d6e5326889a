// Package manager decides which controllers run in this process.
//
// A plugin lives here as a [hosted] one. It has a slot for each of its controllers, which outlives versions, and a
// generation: one module with its settings and rights, and the version that it gives each slot. In the words of this
// package, a plugin's life is
//
//	choose    the configuration and what was found say that it is to run, and of what (chooser)
//	load      its module is verified, compiled and configured, its versions begin to read (loader)
//	fill      the caches have what they read; what ran before runs on meanwhile (next)
//	switch    the slots begin their syncs on the versions
//	wake      all keys are synced anew
//	try       a module that wasn't there before is on trial, while the one before stays loaded
//	settle    the trial is over, and the one before goes; or
//	roll back the one before comes back, and what the failed one still answers is revoked
//	drain     a generation's syncs in flight end, and it is closed
//	shadow    another module gets the same calls, and writes nothing
//	remove    all of it ends
//
// What decides is one at a time: it holds manager.changing. A slot runs while the Lease of its group is held (leaders);
// what all of them read is one cache (stores). Beside that life stand those who look at it: the inspector answers what
// people and Prometheus ask.
package manager
