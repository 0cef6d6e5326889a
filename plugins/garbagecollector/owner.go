package garbagecollector

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// state is what a reference to an owner is worth.
type state int

const (
	alive   state = iota
	waiting       // it is being deleted and waits for its dependents
	// it does, though the cache doesn't show it: nor then whether the object has dependents of its own, as they are not
	// looked for
	waitingUnseen
	gone // there is no such object
	// a cluster-scoped object can't have an owner in a namespace: nothing is done, and trying again wouldn't help
	hopeless
)

// ownersIn are the owners that the cache has, by UID: an object may have as many as it can hold.
type ownersIn map[metav1.UID]*cached

// cached is an owner that the cache has.
type cached struct {
	*sdk.Metadata

	waits bool // it is being deleted and waits for its dependents
}

// readOwners takes the owners from the snapshot.
func readOwners(c *sdk.Call) ownersIn {
	all := ownersIn{}
	for _, o := range owners.List(c) {
		if all[o.UID] == nil {
			all[o.UID] = &cached{Metadata: o}
		}
	}
	for _, o := range waiters.List(c) {
		if k := all[o.UID]; k != nil {
			k.waits = true
		}
	}
	return all
}

// stateOf looks for an owner in the cache, and what isn't there at the API server: that a cache doesn't show something
// proves nothing.
func (x ownersIn) stateOf(c *sdk.Call, item *sdk.Metadata, ref *metav1.OwnerReference) (state, error) {
	o := x[ref.UID]
	switch {
	case o == nil:
	case o.Namespace != "" && o.Namespace != item.Namespace:
		c.Event(item, "Warning", "OwnerRefInvalidNamespace",
			"ownerRef "+describe(item, ref)+" does not exist in namespace \""+item.Namespace+"\"")
	case o.Name != ref.Name || o.KindName != ref.Kind || groupOfResource(o.Resource) != groupOf(ref.APIVersion):
		// The reference says something else: whether that exists, the server knows.
	case o.waits:
		return waiting, nil
	default:
		return alive, nil
	}
	return askFor(c, item, ref)
}

// askFor looks for an owner at the API server.
func askFor(c *sdk.Call, item *sdk.Metadata, ref *metav1.OwnerReference) (state, error) {
	r, err := c.ResourceOfObject(ref.APIVersion, ref.Kind, ref.UID)
	if sdk.Failed(err, sdk.NotFound) {
		return gone, nil // and perhaps its kind with it
	}
	if err != nil {
		return 0, err
	}

	namespace := ""
	if r.Namespaced {
		if namespace = item.Namespace; namespace == "" {
			return hopeless, nil
		}
	}

	o, err := c.GetMetadata(r.Resource, namespace, ref.Name, ref.UID)
	if sdk.Failed(err, sdk.NotFound) {
		return gone, nil
	}
	if err != nil {
		return 0, err
	}

	_ = c.After(unwatched) // the cache will show it soon, if it can
	if o.DeletionTimestamp != nil && hasFinalizer(o, foregroundFinalizer) {
		return waitingUnseen, nil
	}
	return alive, nil
}

func groupOfResource(s string) string {
	r, _ := abi.ParseResource(s)
	return r.Group
}

// describe names an owner as upstream's events do.
func describe(item *sdk.Metadata, ref *metav1.OwnerReference) string {
	return "[" + ref.APIVersion + "/" + ref.Kind + ", namespace: " + item.Namespace + ", name: " + ref.Name + ", uid: " +
		string(ref.UID) + "]"
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.UID != y.UID || x.Name != y.Name || x.Kind != y.Kind || x.APIVersion != y.APIVersion ||
			isSetTrue(x.Controller) != isSetTrue(y.Controller) ||
			isSetTrue(x.BlockOwnerDeletion) != isSetTrue(y.BlockOwnerDeletion) {
			return false
		}
	}
	return true
}

func isSetTrue(b *bool) bool { return b != nil && *b }
