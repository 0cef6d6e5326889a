// Package golden runs a plugin on cases that a person can read: objects, key and time in, effects out.
//
// A case is testdata/<name>.in.yaml; what came out is testdata/<name>.out.yaml, written with `go test -update` and then read as the specification it is. Each case runs
// twice, on whole objects as well as on objects cut to the declared fields, and must answer the same: the fields are sufficient.
//
// Of a controller whose views are over all resources, objects may be of any kind, those that aren't built in of one in the case's `discovery`; a key is written with its resource
// then: `apps/v1/replicasets default/web`.
//
// The snapshot is evaluated by host/views on client-go's indexers. Performed effects change nothing but what the case says: a create or an update succeeds with the object sent, a live get sees `live` before `objects`,
// and `failures` fail.
package golden
