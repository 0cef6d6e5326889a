package sdk

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Effect is one thing for the host to do.
type Effect struct {
	*abi.Effect        // by pointer: to copy a large struct takes much code, and effects are passed on often
	object      Object // names the object; encoded where the kind sends one
	into        Object // takes the answer
	members     []Effect
}

// Option changes an effect.
type Option func(*Effect)

// The propagation policies of a delete.
var (
	Foreground Option = func(e *Effect) { e.Propagation = abi.PropagationForeground }
	Background Option = func(e *Effect) { e.Propagation = abi.PropagationBackground }
	Orphans    Option = func(e *Effect) { e.Propagation = abi.PropagationOrphan }
)

// Tolerate counts failures as success.
func Tolerate(t abi.Tolerance) Option { return func(e *Effect) { e.Effect.Tolerate |= t } }

// Always has the effect done though an earlier one failed.
func Always() Option { return func(e *Effect) { e.Effect.Always = true } }

// DryRun has the API server check and default, and store nothing.
func DryRun() Option { return func(e *Effect) { e.Effect.DryRun = true } }

// Unconditional drops the precondition: the version that the plugin saw for an update, the UID for a delete.
func Unconditional() Option {
	return func(e *Effect) { e.Precondition = abi.PreconditionNone }
}

// Grace sets a delete's grace period in seconds.
func Grace(seconds int64) Option {
	return func(e *Effect) { e.Effect.Grace, e.HasGrace = seconds, true }
}

func newEffect(kind abi.EffectKind, o, into Object, options []Option) Effect {
	e := Effect{Effect: &abi.Effect{Kind: kind}, object: o, into: into}
	for _, f := range options {
		f(&e)
	}
	return e
}

// Create makes an object; with only a generateName the host makes the name.
func Create(o Object, options ...Option) Effect { return newEffect(abi.EffectCreate, o, o, options) }

// Update writes what differs from the object that a view gave, under its resource version.
func Update(o Object, options ...Option) Effect { return newEffect(abi.EffectUpdate, o, o, options) }

// UpdateStatus is Update of the status subresource.
func UpdateStatus(o Object, options ...Option) Effect { return UpdateSub("status", o, options...) }

// UpdateSub is Update of a subresource.
func UpdateSub(subresource string, o Object, options ...Option) Effect {
	e := newEffect(abi.EffectUpdate, o, o, options)
	e.Subresource = subresource
	return e
}

// Apply applies the object's fields as server-side apply does: those that o sets become so and the controller's, even
// where they were another manager's; those that the controller applied before and o doesn't set are removed; all others
// stay. The object is made where there is none. The field manager is the host's, one for each controller.
//
// What o holds is what the controller wants to own: make a new object for it, don't clone one of a view.
func Apply(o Object, options ...Option) Effect { return newEffect(abi.EffectApply, o, o, options) }

// ApplyStatus is Apply of the status subresource.
func ApplyStatus(o Object, options ...Option) Effect {
	e := Apply(o, options...)
	e.Subresource = "status"
	return e
}

// Review has the API server answer a question, such as a SubjectAccessReview, of which nothing is stored: to be done
// with [Call.Do], after which o is the answer.
func Review(o Object) Effect { return newEffect(abi.EffectReview, o, o, nil) }

// Delete deletes the object with this UID.
func Delete(o Object, options ...Option) Effect { return newEffect(abi.EffectDelete, o, nil, options) }

// Live reads the object live, past the cache: the one with o's UID if it has one. Then o is what the API server answered.
func Live(o Object) Effect { return newEffect(abi.EffectGet, o, o, nil) }

// DeleteCollection deletes all objects of a resource, named as abi.Resource.String does, in a namespace.
func DeleteCollection(resource, namespace string, options ...Option) Effect {
	e := newEffect(abi.EffectDeleteCollection, nil, nil, options)
	e.Resource, e.Namespace, e.Metadata = resource, namespace, true
	return e
}

// Patch sends a patch as it is given; the answer doesn't change o.
func Patch(o Object, t abi.PatchType, body []byte, options ...Option) Effect {
	e := newEffect(abi.EffectPatch, o, nil, options)
	e.Effect.Patch, e.Effect.Object = t, body
	e.Precondition = abi.PreconditionNone
	return e
}

// Event reports people something about an object; eventType is Normal or Warning.
func Event(o Object, eventType, reason, message string) Effect {
	e := newEffect(abi.EffectEvent, o, nil, nil)
	e.Effect.Event = &abi.EventData{Type: eventType, Reason: reason, Message: message}
	return e
}

// Wake has the object's key synced by another controller of the module, named by its place in Plugin.Controllers.
func Wake(controller int, o Object) Effect {
	m := o.GetObjectMeta()
	return Effect{Effect: &abi.Effect{Kind: abi.EffectWake,
		Wake: &abi.Wake{Controller: int32(controller), Key: abi.KeyRef{Namespace: m.Namespace, Name: m.Name}}}}
}

// Sequence does its members one after another up to the first failure.
func Sequence(members ...Effect) Effect { return newGroup(abi.Sequence, members) }

// SlowStart does its members 1, 2, 4, … at once while none fails: each that succeeds lets two begin.
func SlowStart(members ...Effect) Effect { return newGroup(abi.SlowStart, members) }

// Parallel does its members at once and fails with the first error.
func Parallel(members ...Effect) Effect { return newGroup(abi.Parallel, members) }

// Independent does its members at once; a failure stops nobody.
func Independent(members ...Effect) Effect { return newGroup(abi.Independent, members) }

func newGroup(mode abi.GroupMode, members []Effect) Effect {
	return Effect{Effect: &abi.Effect{Kind: abi.EffectGroup, Mode: mode}, members: members}
}

func (e *Effect) encode(room *[]byte) abi.Effect {
	x := *e.Effect
	for i := range e.members {
		x.Members = append(x.Members, e.members[i].encode(room))
	}
	if e.object == nil {
		return x
	}
	m, k := e.object.GetObjectMeta(), e.object.GetResource()
	x.Resource, x.Namespace, x.Name = k.ABI().String(), m.Namespace, m.Name
	if any, ok := e.object.(*resource.Metadata); ok && any.Resource != "" {
		x.Resource, x.Metadata = any.Resource, true
	}
	if x.UID == "" {
		x.UID = string(m.UID)
	}
	if x.Version == "" {
		x.Version = m.ResourceVersion
	}
	switch x.Kind {
	case abi.EffectCreate, abi.EffectUpdate, abi.EffectApply, abi.EffectReview:
		x.Object = encodeObject(room, e.object)
	}
	return x
}

// encodeObject encodes an object, in room if there is any.
func encodeObject(room *[]byte, o Object) []byte {
	if room == nil {
		return resource.Append(nil, o)
	}
	from := len(*room)
	*room = resource.Append(*room, o)
	return (*room)[from:len(*room):len(*room)]
}

// applyOutcome puts an outcome's answer into the effect's object and returns its failure.
func (e *Effect) applyOutcome(o *abi.Outcome) error {
	for i := range e.members {
		if i < len(o.Members) {
			_ = e.members[i].applyOutcome(&o.Members[i]) // the group's own outcome says whether it failed
		}
	}
	if o.Code != abi.CodeOK {
		return &Error{Reason: o.Reason, Message: o.Message}
	}
	if e.into == nil || e.Effect.DryRun || len(o.Object.Data) == 0 {
		return nil
	}
	wire.Reset(resource.PointerOf(e.into), e.into.GetResource().Type)
	if err := resource.Decode(o.Object.Data, e.into); err != nil {
		return err
	}
	e.into.GetObjectMeta().ResourceVersion = o.Object.ResourceVersion
	return nil
}
