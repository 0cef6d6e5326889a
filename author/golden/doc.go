// Package golden runs a plugin on cases that a person can read: objects, key and time in, effects out.
//
// A case is a document of a file testdata/TOPIC.yaml. It has a name, and at its end, under want, what comes out,
// written with go test -update and then read as the specification it is:
//
//	# A set that has no pods gets them.
//	case: create
//	key: default/web
//	now: "2026-01-01T12:00:00Z"
//	objects:
//	- {apiVersion: apps/v1, kind: ReplicaSet, ...}
//	want:
//	  effects:
//	  - do: create v1/pods default/
//	    like: apps/v1/replicasets default/web spec.template
//	    ...
//	---
//	# The next one.
//
// What the cases of a file share stands in its first document, under base; they say what they have otherwise.
//
// Each case runs twice, on whole objects as well as on objects cut to the declared fields, and must answer the same:
// the fields are sufficient.
//
// Objects are of built-in kinds, of those that the plugin's folder defines in crd/*.yaml, or, where a case has a
// discovery, of its kinds in place of the latter. Of a controller whose views are over all resources a key is written
// with its resource: apps/v1/replicasets default/web.
//
// The snapshot is evaluated by host/views on client-go's indexers. Effects change nothing but what the case says: a
// create or an update that is performed succeeds with the object sent, a live get sees live before objects, and
// failures fail, performed effects and those of the answer, where the first one stops what comes after it. An entry of
// failures, live, reads, scales or facts that no sync comes to is an error.
package golden
