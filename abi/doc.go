// Package abi is the contract between the host and a plugin: the manifest, the messages of a sync, their wire codec.
//
// A plugin is any WebAssembly module with these exports; windlass_alloc's last buffer is the message that the next call
// reads:
//
//	memory                      the linear memory
//	windlass_abi_v1             a marker: a function or a global of any type
//	windlass_alloc(size) ptr    room for a message of size bytes
//	windlass_manifest() ptr|len the manifest as JSON (pointer in the high 32 bits of an i64)
//	windlass_configure() ptr|len settings in; empty, or a message that says what is wrong with them
//	windlass_sync() ptr|len     a SyncRequest in, a SyncResponse out
//
// and no imports but the host's, in module "windlass": log, perform, outcome, with one for each pure helper that the
// host offers (name(ptr, len) len, then outcome(ptr)). The messages are protobuf (abi.proto); the manifest is JSON.
//
// This is version 1, which is kept: it is added to, and nothing in it changes. testdata/v1 has the bytes of all there
// is; docs/abi.md says what may be added.
//
// Objects are in Kubernetes' protobuf. Those of resources that aren't built in have none: of them field 1 is the
// metadata, as of every other object, and field 2 the JSON object of all else they have. Paths go on below it, through
// lists, with no schema: members that nobody names aren't delivered, a list of which parts are named is as long as it
// was. An update is the difference between what was delivered and what is sent, in which a member that is null, false,
// 0 or empty is the same as none.
package abi
