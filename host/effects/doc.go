// Package effects does what a plugin's answers ask for, within the plugin's rights.
//
// A Writer belongs to one running controller, a Session to one sync of one key. An answer goes through these steps:
//
//  1. All its effects are checked against the manifest and the operator's grant; one that isn't allowed or is malformed
//     refuses the whole answer.
//  2. An update becomes a difference: what the guest changed is spliced into the whole object's wire bytes (package
//     difference).
//  3. It is sent until the server's answer is definite; a lost answer is asked for again with the identical request.
//  4. What was written is remembered, so that the key's next sync waits until the cache shows it (Writer.Ready,
//     Writer.Park).
//
// Of a resource that isn't built in, the host knows no more than the metadata of its objects: they are got, listed,
// patched in JSON and deleted, not created. Its scale can be updated. Effect.Metadata asks for the same of a built-in
// one; in a session an object's metadata and the object are then two things, of which a write to one doesn't move the
// base of the other. Another server may stand behind such a resource, which can be down for long: its reads are not
// sent again, and that it is unavailable is an answer.
//
// Discoveries, reads of JSON and facts are no requests on objects. They are checked and done with the others, and never
// count as writes.
package effects
