// Package wire is the one codec of Windlass: protobuf and JSON of Go structs by tables, without reflection, small under
// TinyGo.
//
// A [Type] says where each field of a struct lies and how it travels. From it come [Unmarshal], [Append],
// [UnmarshalJSON], [AppendJSON], [Clone] and [Equal]. Decoded strings and bytes alias the input: it must neither change
// nor be reused while the object lives. Malformed input is an error, never a panic; nesting is bounded by [MaxDepth],
// memory by the input's size (see [Expansion]).
//
// Fields that a table doesn't know are kept in the struct's [Unknown] field and written again, so that an object of a
// newer API server stays whole. Zero scalars are not written; a pointer that is set is, whatever it points to. Maps are
// slices of entries, sorted by key on the wire.
//
// For messages without a table there are [Fields] to read them, and AppendTag, AppendVarint and their like to write
// them.
package wire
