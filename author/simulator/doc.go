// Package simulator runs controllers in a cluster that exists in memory alone, and looks for what they do wrong.
//
// The cluster ([Cluster]) has an API server's rules for writing: versions and conflicts, generations, status
// subresources, finalizers, namespaces that end, owner references and the garbage collector, patches. What it doesn't
// have: validation beyond names and metadata, admission, most of the defaults of built-in kinds (those of custom
// resources are filled in), and field managers, of which a server-side apply knows only what the same manager has
// applied before. Its clients may watch, so that a whole manager can run on it in a test; test/simulator compares it
// with a real API server.
//
// Controllers run over it as in the manager: host/views takes the snapshots and tells which keys an event wakes,
// host/effects checks, compares and writes, through the cluster's REST face. One sync runs at a time, the clock jumps
// to the next timer when nothing else is to do, and a seed picks the order of all that may come in any order: which
// cache shows its next change, which key is synced, which of the garbage collector's and the kubelets' chores is done.
// What the manager promises holds here too: a key isn't synced before the caches show what it has written.
//
// [Explore] runs a world undisturbed, then with a fault at each write, out of order, with bystanders and so on (see
// [Scenario]), and compares what the runs end with.
package simulator
