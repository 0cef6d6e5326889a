// Package effects does what a plugin's answers ask for, within the plugin's rights.
//
// A Writer belongs to one running controller, a Session to one sync of one key. An answer goes through these steps, and
// calls between the files go down this list:
//
//  1. All its effects are checked against the manifest and the operator's grant, and deletes against their budget; one
//     that isn't allowed or is malformed refuses the whole answer (check.go, prepare.go, granted.go, rights.go,
//     labels.go, budget.go).
//  2. They are performed, one after another or many at a time (group.go, perform.go), each by its kind (create.go,
//     update.go, patch.go, remove.go, read.go, ask.go, events.go). An update becomes a difference: what the guest
//     changed is spliced into the whole object's wire bytes (plan.go, package difference).
//  3. A request is made of it (request.go) and sent until the server's answer is definite; a lost answer is asked for
//     again with the identical request (send.go, live.go, package apiserver).
//  4. The answer is read (answer.go, package envelope) and becomes the effect's outcome (outcome.go).
//  5. What was written is told (tell.go) and remembered: as the base of the sync's next effects (bases.go); so that its
//     event is known for an echo (own.go), and the key's next sync waits until the cache shows it (package barrier);
//     with what the key has published (facts.go) and which namespaces take no more (terminating.go).
//  6. A question that no old cache may answer waits until the cache is fresh (fresh.go, current.go).
//
// All of them ask what is known of a resource (resources.go) and what the controller reads of it (seen.go). Back up the
// list go only what an effect is checked for once more: when its turn has come, the grant and the budget of deletes; of
// what was read, whether it is granted; and what the rights and the grant make of a request: a PUT or a patch, and the
// selector of a collection that is deleted.
//
// Of a resource that isn't built in, the host knows no more than the metadata of its objects: they are got, listed,
// patched in JSON and deleted, not created. Its scale can be updated. Effect.Metadata asks for the same of a built-in
// one; in a session an object's metadata and the object are then two things, of which a write to one doesn't move the
// base of the other. Another server may stand behind such a resource, which can be down for long: its reads are not
// sent again, and that it is unavailable is an answer.
//
// Discoveries, reads of JSON, facts and time zones are no requests on objects. They are checked and done with the
// others, and never count as writes.
package effects
