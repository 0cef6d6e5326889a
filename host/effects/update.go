package effects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/difference"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// update writes what the guest changed in an object, and what was signed for it. Of that the guest sees no more than
// before.
func (s *Session) update(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	k := objectKeyOf(e, res)
	filled, err := s.signatures.fill(k, e)
	if err != nil {
		return abi.Outcome{}, err
	}
	o, err := s.updateFilled(ctx, filled, res, k)
	if err != nil {
		return abi.Outcome{}, s.signatures.hideError(err)
	}
	s.signatures.written(k, e, o.Object.ResourceVersion)
	s.signatures.hide(&o)
	return o, nil
}

// updateFilled writes what was changed in an object, by the verb that the manifest has.
func (s *Session) updateFilled(ctx context.Context, e *abi.Effect, res *schema.Resource, k objectKey) (abi.Outcome,
	error) {
	b := s.bases.find(k)
	if b == nil {
		return abi.Outcome{}, errors.New("the object is in none of the views and wasn't read live")
	}
	if b.gone {
		return abi.Outcome{}, errGone(k)
	}

	p := s.plans.find(e, b)
	if p == nil {
		var err error
		if p, err = s.compare(e, res, k, b); err != nil {
			return abi.Outcome{}, err
		}
	}
	if p.same {
		return s.unchanged(e, res, b)
	}

	version, uid := expected(e, b, abi.PreconditionVersion)
	if uid == "" {
		uid = b.uid // no precondition is about the version: a PUT never goes to another object of that name
	}

	if s.updateVerb(res.Resource, e) == "patch" {
		return s.patchUpdate(ctx, e, res, k, b, p, version, uid)
	}
	if !b.whole {
		var err error
		if b, p, err = s.fetchWhole(ctx, e, res, k, b); err != nil {
			return abi.Outcome{}, err
		}
	}

	object, err := envelope.SetVersion(p.merged, version, uid)
	if err != nil {
		return abi.Outcome{}, err
	}

	r := s.request(e, res, "PUT", "update")
	if err := putBody(r, res, e.Subresource, object); err != nil {
		return abi.Outcome{}, err
	}

	a, err := s.sendWrite(ctx, e, r, &mark{name: e.Name, uid: uid, version: version, once: version != ""})
	if err != nil {
		return s.updateFailed(ctx, e, res, k, b, a, err)
	}
	return s.acceptWritten(e, res, demanded(version), a.body, bytes.Clone(e.Object))
}

// patchUpdate sends an update as a JSON Patch that first tests the version: for pods, which controllers may patch and
// not update.
func (s *Session) patchUpdate(ctx context.Context, e *abi.Effect, res *schema.Resource, k objectKey, b *base, p *plan,
	version, uid string) (abi.Outcome, error) {
	keeps := s.keepsPath(res.Resource, k, e.Object)
	if b.whole {
		keeps = func(string) bool { return true } // the base is a live answer: it has all there is
	}
	operations, err := jsonPatch(res, b.raw, p.merged, keeps)
	if err != nil {
		return abi.Outcome{}, err
	}
	patch, err := json.Marshal(append(testOperations(version, uid), operations...))
	if err != nil {
		return abi.Outcome{}, err
	}
	r := s.request(e, res, "PATCH", "patch")
	r.ContentType, r.Body = string(types.JSONPatchType), patch
	a, err := s.sendWrite(ctx, e, r, &mark{name: e.Name, uid: uid, version: version, once: version != ""})
	if err != nil {
		if isFailedTest(err) {
			err = asConflict(res.Resource, e.Name, err)
		}
		return s.updateFailed(ctx, e, res, k, b, a, err)
	}
	return s.acceptWritten(e, res, demanded(version), a.body, bytes.Clone(e.Object))
}

// unchanged is the outcome of an update that changes nothing: nothing is sent.
func (s *Session) unchanged(e *abi.Effect, res *schema.Resource, b *base) (abi.Outcome, error) {
	m, err := envelope.ReadMeta(b.raw)
	if err != nil {
		return abi.Outcome{}, err
	}
	m.ResourceVersion, m.UID = b.version, b.uid
	return s.outcome(e.Subresource, res, opened{raw: b.raw, Meta: m})
}

// updateFailed looks at what a failed update means: a conflict on a repeated request may be our own lost write.
func (s *Session) updateFailed(ctx context.Context, e *abi.Effect, res *schema.Resource, k objectKey, b *base, a answer,
	err error) (abi.Outcome, error) {
	if a.repeated && !k.scale && apierrors.IsConflict(err) {
		if live := s.landedObject(ctx, e, res, k, b); live != nil {
			return s.acceptWritten(e, res, uncertain, envelope.Wrap(res.APIVersion(), res.Kind, live), bytes.Clone(e.Object))
		}
	}
	if isStale(err) && !k.scale {
		s.awaitNewer(k, b.version)
	}
	return abi.Outcome{}, err
}

// landedObject returns the live object when all that the guest wanted to change is changed in it.
func (s *Session) landedObject(ctx context.Context, e *abi.Effect, res *schema.Resource, k objectKey, b *base) []byte {
	raw, err := s.w.readLive(ctx, res, e.Namespace, e.Name)
	if err != nil || raw == nil {
		return nil
	}
	m, err := envelope.ReadMeta(raw)
	if err != nil || m.UID != b.uid {
		return nil
	}
	seen, err := s.bases.seenCopy(k, b, e.Version)
	if err != nil {
		return nil
	}
	merged, changed, err := mergeOf(e)(res.Message, raw, seen, e.Object, s.keepsPath(res.Resource, k, e.Object))
	if err != nil || !changed {
		return nil
	}
	if same, err := difference.Equal(res.Message, raw, merged); err != nil || !same {
		return nil
	}
	return raw
}

// fetchWhole gets the whole object of the version that the guest saw, where the cache keeps only parts.
func (s *Session) fetchWhole(ctx context.Context, e *abi.Effect, res *schema.Resource, k objectKey, b *base) (*base,
	*plan, error) {
	raw, err := s.w.readLive(ctx, res, e.Namespace, e.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the whole object before an update: %w", err)
	}

	m := envelope.Meta{}
	if raw != nil {
		if m, err = envelope.ReadMeta(raw); err != nil {
			return nil, nil, err
		}
	}

	if m.UID != b.uid || m.ResourceVersion != b.version {
		s.awaitNewer(k, b.version)
		gr := groupResource(res.Resource)
		if raw == nil {
			return nil, nil, apierrors.NewNotFound(gr, k.name)
		}
		return nil, nil, apierrors.NewConflict(gr, k.name, fmt.Errorf("the cache has version %s, the server %s", b.version,
			m.ResourceVersion))
	}

	seen, err := s.bases.seenCopy(k, b, e.Version)
	if err != nil {
		return nil, nil, err
	}
	n := &base{raw: raw, seen: seen, version: b.version, uid: b.uid, whole: true}
	p, err := s.compare(e, res, k, n)
	return n, p, err
}
