// Package envelope reads and writes objects in the forms in which they travel between host and API server.
//
// A built-in object comes in Kubernetes' envelope for protobuf (Wrap, Unwrap). Metadata alone and scales come in it or,
// from a server that has no protobuf, in JSON; custom resources in JSON (UnwrapOf). Whatever the form, what is
// unwrapped is a message on the wire, of which Meta and List read what the host needs to know, in place.
package envelope
