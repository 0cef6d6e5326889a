// Package schema knows the wire form of Kubernetes' objects.
//
// Everything is read off the struct tags of k8s.io/api by reflection when a resource is first asked for: which field
// has which number, JSON name and kind. Three tools work on the wire bytes of objects with it, none of which decodes
// them:
//
//   - [Path] finds the values at a dotted JSON path.
//   - [Mask] projects an object to a set of paths.
//   - [Leaves] tells which paths differ between two versions of an object.
//
// # Notes
//
// Kubernetes writes each field that isn't a pointer, zero or not, so a bool is "false" and a number "0" where JSON
// would leave it out; an unset string is "". Bytes that can't be parsed are errors. Bytes below a path that a mask
// keeps are copied without being parsed.
//
// Objects that aren't built in have their metadata in field 1, as all objects do, and the JSON of the rest in field 2.
// In that every path leads somewhere, for no schema is known: lists are walked through, and a list of which parts are
// kept stays as long as it is.
package schema
