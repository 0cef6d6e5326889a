// Package schema knows the wire form of Kubernetes' built-in types.
//
// Everything is read off the struct tags of k8s.io/api by reflection when a resource is first asked for: which field has which number, JSON name and kind. Three tools work on
// the wire bytes of objects with it, none of which decodes them:
//
//   - [Path] finds the values at a dotted JSON path.
//   - [Mask] projects an object to a set of paths.
//   - [Leaves] tells which paths differ between two versions of an object.
//
// # Notes
//
// Kubernetes writes each field that isn't a pointer, zero or not, so a bool is "false" and a number "0" where JSON would leave it out; an unset string is "".
// Bytes that can't be parsed are errors. Bytes below a path that a mask keeps are copied without being parsed.
package schema
