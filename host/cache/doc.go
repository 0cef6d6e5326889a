// Package cache keeps the objects of the cluster as projected wire bytes.
//
// One client-go reflector per resource (WatchList streaming, its own relisting) feeds a [Store]. Only the decoding is
// ours: an object's bytes are filtered to what some controller reads of it ([schema.Mask]), and no typed object is ever
// built. An update that leaves the kept bytes equal is stored, so that its resource version is known, but is no
// [Event].
//
// # Notes
//
// The kept bytes never hold metadata.resourceVersion (it is [Object.ResourceVersion]) and hold metadata.managedFields
// only where a mask names them: both change with every write.
//
// What is kept of an object depends on who keeps it: a [Filter] tells which objects a reader wants at all. Secrets'
// data that one controller reads of ten secrets is kept of those ten, though another one reads the labels of all. An
// object that nobody keeps isn't stored; its changes move the version of the store all the same.
//
// The store is ours too, where client-go's has an index of string sets: most indexes here have one object per value,
// for which those take more memory than the object.
package cache
