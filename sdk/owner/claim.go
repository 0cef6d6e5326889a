package owner

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Claim returns the objects that owner controls and match accepts, after it has adopted the orphans that match accepts
// and released what is owned without matching (pkg/controller/controller_ref_manager.go). What someone else controls
// stays out of it, and an owner that is being deleted neither adopts nor releases.
//
// Before the first adoption the owner is read live: the cache may not know yet that it is being deleted, or that
// another one bears its name. An adopted object gets the finalizers too, a released one loses them. Failures of single
// objects don't keep the others from being settled; the error tells of all.
//
// The owner's view has to declare metadata.deletionTimestamp and the controller the verb get on the owner and patch on
// the objects; of these it reads labels and such as far as match does, metadata.deletionTimestamp and, of
// metadata.ownerReferences, uid and controller.
func Claim[O, T any, PO resource.Pointer[O], P resource.Pointer[T]](c *sdk.Call, owner PO, objects []P,
	match func(P) bool, finalizers ...string) ([]P, error) {
	me := owner.GetObjectMeta()
	claimed := make([]P, 0, len(objects))
	var orphans, strays []P
	for _, o := range objects {
		m := o.GetObjectMeta()
		switch ref := metav1.GetControllerOf(m); {
		case ref == nil:
			if me.DeletionTimestamp == nil && m.DeletionTimestamp == nil &&
				(me.Namespace == "" || me.Namespace == m.Namespace) && match(o) {
				orphans = append(orphans, o)
			}
		case ref.UID != me.UID:
		case match(o):
			claimed = append(claimed, o)
		case me.DeletionTimestamp == nil:
			strays = append(strays, o)
		}
	}

	var failures failures
	if len(orphans) > 0 {
		if err := recheck[O](c, owner); err != nil {
			failures.add("can't adopt "+describe(orphans[0]), err)
			orphans = nil
		}
	}

	if len(orphans)+len(strays) == 0 {
		return claimed, failures.combinedError()
	}
	patches := make([]sdk.Effect, 0, len(orphans)+len(strays))
	for _, o := range orphans {
		patches = append(patches, sdk.Patch(o, abi.StrategicPatch, adoption(owner, o, finalizers),
			sdk.Tolerate(abi.TolerateNotFound)))
	}

	for _, o := range strays {
		// Invalid: another object has the name by now, or the reference is gone.
		patches = append(patches, sdk.Patch(o, abi.StrategicPatch, release(owner, o, finalizers),
			sdk.Tolerate(abi.TolerateNotFound|abi.TolerateInvalid)))
	}

	outcomes, err := c.DoAll(sdk.Independent(patches...))
	if err != nil {
		return nil, err
	}

	for i := range outcomes[0].Members {
		switch o := &outcomes[0].Members[i]; {
		case o.Code != abi.CodeOK:
			failures.add("", &sdk.Error{Reason: o.Reason, Message: o.Message})
		case i < len(orphans) && o.Reason == "": // else it is gone
			claimed = append(claimed, orphans[i])
		}
	}

	return claimed, failures.combinedError()
}

// recheck looks whether the owner still is what the cache says.
func recheck[O any, PO resource.Pointer[O]](c *sdk.Call, owner PO) error {
	m := owner.GetObjectMeta()
	live, err := sdk.Get[O, PO](c, resource.Of[O]{}, m.Namespace, m.Name)
	if err != nil {
		return sdk.Errors("can't recheck DeletionTimestamp: ", err.Error())
	}
	if l := live.GetObjectMeta(); l.UID != m.UID {
		return sdk.Errors("original ", describe(owner), " is gone: got uid ", string(l.UID), ", wanted ", string(m.UID))
	} else if l.DeletionTimestamp != nil {
		return sdk.Errors(describe(owner), " has just been deleted")
	}
	return nil
}

func describe(o sdk.Object) string {
	m := o.GetObjectMeta()
	name := m.Name
	if m.Namespace != "" {
		name = m.Namespace + "/" + name
	}
	return o.GetResource().Kind + " " + name
}

// failures collects errors into one.
type failures struct {
	first error
	n     int
	text  string
}

func (f *failures) add(what string, err error) {
	text := err.Error()
	if what != "" {
		text = what + ": " + text
		err = sdk.Errors(text)
	}
	if f.n++; f.n == 1 {
		f.first, f.text = err, text
	} else if f.n <= 10 {
		f.text += ", " + text
	}
}

func (f *failures) combinedError() error {
	if f.n < 2 {
		return f.first
	}
	return sdk.Errors("[", f.text, "]")
}
