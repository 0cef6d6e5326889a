// Package views tells what a key's snapshot holds together with which keys an event wakes, both from one declaration.
//
// A controller's manifest declares its reads as views: conditions between an object and constants, the key, or objects
// of earlier views. [Compile] makes a [Plan] of them. The plan answers two questions and keeps an index on either side
// of each join for them:
//
//   - [Plan.Snapshot]: which objects belong to this key? The joins walked forwards.
//   - [Plan.Wakes]: which keys does this event concern? The same joins walked backwards, from the event's old and new
//     object.
//
// # The promise
//
// Every key whose loud snapshot bytes changed, resource versions aside, is woken. Waking too many is waste; waking too
// few is a bug.
//
// The loud snapshot of a key, for an event on an object, is: of each view that isn't quiet as a whole, the objects
// projected to the declared fields without the quiet paths; of a count view the capped count; whether a guard held. The
// object of the event itself doesn't count in views that are quiet on the event's kind. Its effect on *other* views
// does: where a quiet view's objects decide what a loud view holds, a change of a path that is joined with wakes, and
// one of what a guard asks (not each change of a path that it asks for).
//
// The walk back looks at the caches as they are when the event is handled, which may be newer than the event. It is
// complete all the same: a key lost on the walk is lost because a link (an object of an earlier view) was changed in
// between; that change is an event of its own, not handled yet, and walks from its old object to the same key. The
// argument is by induction over the order of the views, and the property test shuffles stores and handlers to check it.
// It is also the reason why a walk never asks "does the later view really hold anything?" of the caches.
//
// # What is kept
//
// An object that satisfies the constant conditions of no view isn't needed: [Need.Filter] says so to the cache, which
// may not have it, or without this controller's fields, for another one's sake. Either is the same to a view, which
// tests the constants itself, and to a walk, which begins with them; but the cache can't always tell an object that
// came from one that has begun to satisfy them ([cache.Event.Moved]): such an event is quiet only for those who are
// quiet on both.
//
// # Semantics
//
// Views are evaluated in order; a condition names earlier views only.
//
// A key is an object of the key view (its namespace and name), a value of a path in the key view's objects (a group:
// its value in Name), or the one key of the controller. The key view holds, of a key that names an object, that object,
// if it satisfies the view's constant conditions; of a group, all objects with the value at the path. The object may be
// absent: conditions on the key's own namespace and name hold without it, whether they say [abi.FromKey] or name the
// key view's metadata.namespace and metadata.name. An absent key is woken by what names it whole, not by what shares
// its namespace alone: there is no end of absent keys in a namespace.
//
// Conditions are brought into disjunctive normal form. Within one disjunct, conditions that name the same earlier view
// hold for the same object of it, and the conditions in an Each hold for the same element of the list. Negation is for
// constants alone. An empty string is no value: it neither exists nor joins; but an entry of a map of strings, such
// as a label, exists though its value is empty.
//
// A guard's tests hold where an object of the named view satisfies them; a test that exists at an empty path asks
// whether the view holds any object. While a guard doesn't hold, its view is empty and wakes nobody.
//
// A label selector may be a LabelSelector (absent: selects nothing; empty: everything) or a map of labels, as a Service
// has (absent or empty: nothing). In JSON an object with no members but matchLabels and matchExpressions is a
// LabelSelector, an empty one included; another one is a map of labels.
package views
