package effects

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema"
)

// notGranted is why the operator's grant doesn't cover an effect.
type notGranted struct{ why string }

func (e *notGranted) Error() string { return e.why }

// Reason makes it look to the plugin as if the server had refused. Never "NotFound": a garbage collector would take an
// owner that it may not see for gone.
func (e *notGranted) Reason() string { return string(metav1.StatusReasonForbidden) }

// NotGranted reports whether an error is that the operator's grant doesn't cover something.
func NotGranted(err error) bool {
	var e *notGranted
	return errors.As(err, &e)
}

// NotDeclared reports whether an answer was refused because it wants what the controller's manifest doesn't have.
func NotDeclared(err error) bool { return errors.Is(err, errNotAllowed) }

func (w *Writer) missing(q grant.Request) error {
	return &notGranted{fmt.Sprintf("the operator hasn't granted it: plugins[%s].grant has no rule with %s", w.Plugin, q)}
}

func (w *Writer) unmatched(q grant.Request, a grant.Answer, what string) error {
	return &notGranted{fmt.Sprintf("the operator hasn't granted it: %s by no selector (%v) of the rules in plugins[%s].grant with %s", what, a.Selectors, w.Plugin, q)}
}

// requested is what an effect on a resource asks of the grant.
func (s *Session) requested(e *abi.Effect, res *schema.Resource) grant.Request {
	q := grant.Request{Verb: verbs[e.Kind], Resource: res.Resource, Subresource: e.Subresource, Namespace: e.Namespace,
		Name: e.Name}
	switch e.Kind {
	case abi.EffectUpdate:
		q.Verb = s.updateVerb(res.Resource, e)
	case abi.EffectEvict:
		q.Subresource = "eviction"
	case abi.EffectCreate:
		if m, err := envelope.ReadMeta(e.Object); err == nil && q.Name == "" && e.Subresource == "" {
			q.Name = m.Name
		}
	}
	return q
}

// granted reports why the grant doesn't cover an effect, as far as that is known: of what is read the answer is looked
// at. It is asked before anything is written, and again when the effect's turn has come, for earlier effects may have
// changed the object; created tells of objects that don't exist yet because the answer itself creates them.
func (s *Session) granted(e *abi.Effect, res *schema.Resource, created func(objectKey) bool) error {
	if s.w.Grant == nil {
		return nil
	}
	q := s.requested(e, res)
	a := s.w.Grant.Ask(q)
	if e.Kind == abi.EffectList && q.Namespace == "" && s.w.Grant.Anywhere(q.Resource, q.Subresource, q.Verb) {
		return nil // what it lists is chosen from
	}

	switch {
	case a.Allowed:
		return nil
	case a.Denied():
		return s.w.missing(q)
	}

	switch {
	case e.Kind == abi.EffectList, e.Kind == abi.EffectGet && !ownBody(e.Subresource):
		return nil
	case e.Kind == abi.EffectDeleteCollection:
		if len(a.Selectors) > 1 {
			return &notGranted{fmt.Sprintf("deletecollection takes one selector, but plugins[%s].grant has %d rules with one for %s", s.w.Plugin, len(a.Selectors), q)}
		}
		return nil
	case e.Kind == abi.EffectCreate && e.Subresource == "", e.Kind == abi.EffectReview:
		l, err := grant.LabelsOf(e.Object)
		if err == nil && !a.Matches(l) {
			err = s.w.unmatched(q, a, "the new object is covered")
		}
		return err
	}
	if err := normalize(e); err != nil {
		return err
	}
	return s.grantedLabels(e, res, q, a, created)
}

// grantedUnseen reports why the grant doesn't cover an apply to an object that no view shows: a cache that holds only
// what the grant covers doesn't show what else there is. It asks the API server.
func (s *Session) grantedUnseen(ctx context.Context, e *abi.Effect, res *schema.Resource) error {
	if s.w.Grant == nil {
		return nil
	}
	q := s.requested(e, res)
	a := s.w.Grant.Ask(q)
	if a.Allowed {
		return nil
	}
	raw, err := s.w.readLive(ctx, res, e.Namespace, e.Name)
	if err != nil || raw == nil {
		return err
	}
	l, err := grant.LabelsOf(raw)
	if err == nil && !a.Matches(l) {
		err = s.w.unmatched(q, a, "there is such an object, which is covered")
	}
	return err
}

// grantedLabels judges a write to an object by its labels, before and after.
func (s *Session) grantedLabels(e *abi.Effect, res *schema.Resource, q grant.Request, a grant.Answer,
	created func(objectKey) bool) error {
	k := objectKeyOf(e, res)
	k.scale, k.metadata = false, res.Partial || e.Metadata
	b := s.bases.find(k)
	if b == nil {
		k.metadata = !k.metadata
		b = s.bases.find(k)
	}

	var before labels.Set
	switch {
	case b != nil:
		var err error
		if before, err = grant.LabelsOf(b.raw); err != nil {
			return err
		}
		if !a.Matches(before) {
			return s.w.unmatched(q, a, "the object is covered")
		}
	case created(k) || created(objectKey{resource: k.resource, namespace: k.namespace, name: k.name}):
		return nil // it was judged when it was created
	case e.Kind == abi.EffectApply && s.isAbsent(k):
	default:
		return &notGranted{fmt.Sprintf("the grant depends on the object's labels, but it is in no view and wasn't read live: plugins[%s].grant, rules with %s", s.w.Plugin, q)}
	}

	after, err := s.labelsAfter(e, res, k, b, before)
	if err == nil && !a.Matches(after) {
		err = s.w.unmatched(q, a, "the object would no longer be covered")
	}
	return err
}

// isAbsent reports whether a watched resource has no object of that name.
func (s *Session) isAbsent(k objectKey) bool {
	store := s.w.Stores(k.resource)
	return s.w.reads[k.resource] && store != nil && store.Get(k.namespace, k.name) == nil
}

// labelsAfter returns the labels that the object will have.
func (s *Session) labelsAfter(e *abi.Effect, res *schema.Resource, k objectKey, b *base, before labels.Set) (labels.Set,
	error) {
	if ownBody(e.Subresource) {
		return before, nil
	}
	switch e.Kind {
	case abi.EffectUpdate:
		p := s.plans.find(e, b)
		if p == nil {
			if b.gone {
				return nil, errGone(k)
			}
			var err error
			if p, err = s.compare(e, res, objectKeyOf(e, res), b); err != nil {
				return nil, err
			}
		}
		return grant.LabelsOf(p.merged)
	case abi.EffectPatch:
		return patchedLabels(before, e.Patch, e.Object)
	case abi.EffectApply:
		return appliedLabels(e.Object)
	}
	return before, nil
}

// grantedAnswer reports whether the grant covers an object that was read.
func (s *Session) grantedAnswer(e *abi.Effect, res *schema.Resource, m envelope.Meta, raw []byte) error {
	if s.w.Grant == nil || ownBody(e.Subresource) {
		return nil
	}
	q := s.requested(e, res)
	q.Namespace, q.Name = m.Namespace, m.Name
	a := s.w.Grant.Ask(q)
	if a.Allowed {
		return nil
	}
	l, err := grant.LabelsOf(raw)
	switch {
	case err != nil:
		return err
	case a.Denied():
		return s.w.missing(q)
	case !a.Matches(l):
		return s.w.unmatched(q, a, "the object is covered")
	}
	return nil
}

// grantedEvent reports why an event may not be about an object: the grant has to cover it with some verb.
func (s *Session) grantedEvent(e *abi.Effect, res *schema.Resource) error {
	if s.w.Grant == nil {
		return nil
	}
	var err error = &notGranted{"the operator has granted nothing on the object that the event is about"}
	for _, verb := range []string{"watch", "get", "list", "create", "update", "patch", "delete"} {
		q := grant.Request{Verb: verb, Resource: res.Resource, Namespace: e.Namespace, Name: e.Name}
		a := s.w.Grant.Ask(q)
		if a.Allowed {
			return nil
		}
		if a.Denied() {
			continue
		}
		if err = s.grantedLabels(e, res, q, a, func(objectKey) bool { return false }); err == nil {
			return nil
		}
	}
	return err
}
