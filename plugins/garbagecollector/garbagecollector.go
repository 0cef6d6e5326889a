// Package garbagecollector deletes objects whose owners are gone, and holds owners until what depends on them is gone
// or let go.
//
// It reads the metadata of all objects whose resources can be listed, watched and deleted. An object all of whose
// owners are gone is deleted; one that has an owner left loses the references to those that are gone. An owner that is
// deleted in the foreground waits until the dependents that block it are gone, and one that is deleted with orphan
// until they no longer refer to it. Nothing is done about what a store doesn't show unless that store is current; what
// is in doubt is asked of the API server. A resource that can't be listed holds up none but those who let their
// dependents go, and its own objects: who waits for dependents goes on as if it had none there.
package garbagecollector

import (
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// The finalizers that this controller takes away.
const (
	orphanFinalizer     = "orphan"
	foregroundFinalizer = "foregroundDeletion"
)

// orphansMost is how many dependents are let go in a sync: each may have as many owners as an object can hold.
const orphansMost = 1000

// goneMost is how many owners that are gone one sync asks the API server for, each with two requests of the 10,000 that
// a sync has.
const goneMost = 4000

// more is when the rest is looked at anyhow: of those that were let go none may have been there any more.
const more = time.Second

// unwatched is how often an owner is looked at that lives and is of a kind that can't be watched: nothing else tells of
// its end.
const unwatched = time.Minute

// deletingWith holds for an object that is being deleted and that the finalizer keeps.
func deletingWith(view sdk.AnyView, finalizer string) sdk.Condition {
	return sdk.All(sdk.On(view, sdk.Exists("metadata.deletionTimestamp")),
		sdk.On(view, sdk.In("metadata.finalizers", finalizer)))
}

// Keys are the objects that have owners or wait for dependents. Dependents are never in a snapshot by default: an owner
// of 5,000 would be woken 5,000 times with all of them.
var (
	items = sdk.Select(resource.Any,
		sdk.Any(sdk.Exists("owners.uid"), sdk.In("metadata.finalizers", orphanFinalizer, foregroundFinalizer))).
		Named("items").Fields("metadata.ownerReferences").Fields(ends...).Quiet(ends...)

	owners = sdk.Select(resource.Any, sdk.Join("metadata.uid", items, "owners.uid")).
		Named("owners").Fields("metadata.uid").Partial() // see stateOf

	// waiters are the owners that are being deleted and wait for their dependents.
	waiters = sdk.Select(resource.Any, sdk.Join("metadata.uid", items, "owners.uid"),
		sdk.Exists("metadata.deletionTimestamp"), sdk.In("metadata.finalizers", foregroundFinalizer)).
		Named("waiters").Fields("metadata.uid").Partial()

	// ends are what a sync and its guards ask for: an object that ends without anybody waiting for that, or loses
	// somebody else's finalizer, is no news.
	ends = []string{"metadata.finalizers", "metadata.deletionTimestamp"}

	blocking = sdk.Select(resource.Any,
		sdk.Each("metadata.ownerReferences", sdk.Join("uid", items, "metadata.uid"), sdk.In("blockOwnerDeletion", "true"))).
		Named("blocking").When(deletingWith(items, foregroundFinalizer)).Counted(1).Lenient()

	orphans = sdk.Select(resource.Any, sdk.Join("owners.uid", items, "metadata.uid")).
		Named("orphans").Fields("metadata.ownerReferences").When(deletingWith(items, orphanFinalizer)).
		First(orphansMost).Lenient()

	dependents = sdk.Select(resource.Any, sdk.Join("owners.uid", items, "metadata.uid")).
			Named("dependents").When(sdk.On(waiters, sdk.Exists(""))).Counted(1).Lenient()

	circular = sdk.Select(resource.Any, sdk.Join("owners.uid", items, "metadata.uid"),
		sdk.Exists("metadata.deletionTimestamp"), sdk.In("metadata.finalizers", foregroundFinalizer)).
		Named("circular").When(sdk.On(waiters, sdk.Exists(""))).Counted(1).Lenient()
)

// Plugin is the garbagecollector module (pkg/controller/garbagecollector). Where upstream keeps a graph, each object is
// a key that looks at its own owners.
var Plugin = &sdk.Plugin{
	Name:    "garbagecollector",
	Version: "1.0.0",
	Description: "Deletes objects whose owners are gone, in the background or before their owners, or lets them go as " +
		"orphans.",
	Controllers: []*sdk.Controller{{
		Name:           "garbage-collector-controller",
		Alias:          "garbagecollector",
		Queue:          "garbage_collector_attempt_to_delete",
		ServiceAccount: "generic-garbage-collector",
		EventSource:    "garbage-collector-controller",
		Reads:          sdk.Views{items, owners, waiters, blocking, orphans, dependents, circular},
		Writes:         sdk.Writes{resource.Any.Verbs("get", "patch", "delete")},
		Workers:        20,
		Rate:           abi.Rate{QPS: 2},
		Sync:           sync,
	}},
}

func sync(c *sdk.Call) error {
	item, ok := items.Get(c)
	switch {
	case !ok:
		return nil
	case item.DeletionTimestamp == nil:
		return collect(c, item)
	case hasFinalizer(item, orphanFinalizer):
		return orphanDependents(c, item)
	case hasFinalizer(item, foregroundFinalizer) && blocking.Count(c) == 0:
		c.Add(finalized(item, foregroundFinalizer))
	}
	return nil
}

// collect deletes an object that no owner keeps, and takes references away that keep nothing.
func collect(c *sdk.Call, item *sdk.Metadata) error {
	var solid []metav1.OwnerReference
	waited := false // an owner waits for this object to go
	after := false  // so that is to go after its own dependents
	var there []metav1.OwnerReference
	known := readOwners(c)
	for i := range item.OwnerReferences {
		ref := &item.OwnerReferences[i]
		state, err := known.stateOf(c, item, ref)
		if err != nil {
			return err
		}
		switch state {
		case hopeless:
			return nil
		case alive:
			solid = append(solid, *ref)
		case waiting:
			waited = true
		case waitingUnseen:
			after = true
		case gone:
			if rest := item.OwnerReferences[i+1:]; i+1-len(there) == goneMost && len(rest) > 0 {
				// There is no end to them within one sync: those that keep nothing go first.
				c.Add(references(item, append(there, rest...)))
				return c.After(more)
			}
			continue
		}
		there = append(there, *ref)
	}

	switch {
	case len(solid) == len(item.OwnerReferences):
		return nil
	case len(solid) > 0:
		c.Add(references(item, solid))
		return nil
	case after || waited && dependents.Count(c) > 0:
		if circular.Count(c) > 0 {
			// Two that wait for each other would wait for ever: this one stops holding its owners up.
			if err := c.Do(unblocked(item)); err != nil {
				return err
			}
		}
		return deleteItem(c, item, sdk.Foreground)
	case hasFinalizer(item, orphanFinalizer):
		return deleteItem(c, item, sdk.Orphans)
	case hasFinalizer(item, foregroundFinalizer):
		return deleteItem(c, item, sdk.Foreground)
	}

	return deleteItem(c, item, sdk.Background)
}

// deleteItem deletes the object as it was judged. One that changes all the time is judged again by its owners alone.
func deleteItem(c *sdk.Call, item *sdk.Metadata, policy sdk.Option) error {
	gone := sdk.Tolerate(abi.TolerateNotFound)
	err := c.Do(sdk.Delete(item, policy, sdk.IfUnchanged(), gone))
	if !sdk.Failed(err, sdk.Conflict) {
		return err
	}
	live, liveErr := c.GetMetadata(item.Resource, item.Namespace, item.Name, item.UID)
	if sdk.Failed(liveErr, sdk.NotFound) {
		return nil
	}
	if liveErr != nil || !sameOwners(live.OwnerReferences, item.OwnerReferences) {
		return err
	}
	return c.Do(sdk.Delete(item, policy, gone))
}

// orphanDependents takes the object out of its dependents' owners, then lets it go. It waits until all of them are
// known: one that isn't would still refer to the object when that is gone, and would be deleted for it. Of many
// dependents it lets some go, and their change brings about the next sync.
func orphanDependents(c *sdk.Call, item *sdk.Metadata) error {
	if unlisted := orphans.Unlisted(c); len(unlisted) > 0 {
		why := "can't let dependents go until it is known which there are: " + plurals(unlisted) + " can't be listed"
		c.Event(item, "Warning", "OrphaningWaits", why)
		return sdk.Errors(why)
	}

	var released []sdk.Effect
	all := orphans.List(c)
	for _, d := range all {
		e := without(d, item.UID)
		sdk.Tolerate(abi.TolerateNotFound)(&e)
		released = append(released, e)
	}
	if len(released) > 0 {
		c.Add(sdk.Parallel(released...))
	}
	if len(all) < orphans.Count(c) {
		return c.After(more)
	}
	c.Add(finalized(item, orphanFinalizer))
	return nil
}

func hasFinalizer(o *sdk.Metadata, finalizer string) bool {
	for _, f := range o.Finalizers {
		if f == finalizer {
			return true
		}
	}
	return false
}

// plurals names resources as kubectl does.
func plurals(resources []string) string {
	var names []string
	for _, s := range resources {
		r, ok := abi.ParseResource(s)
		switch {
		case !ok || r.Name == "*": // all of a group version
			names = append(names, s)
		case r.Group == "":
			names = append(names, r.Name)
		default:
			names = append(names, r.Name+"."+r.Group)
		}
	}
	return strings.Join(names, ", ")
}

func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}
