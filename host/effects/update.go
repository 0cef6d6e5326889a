package effects

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/difference"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/schema"
)

// plan is an update that was compared before anything of its answer was written.
type plan struct {
	base   *base
	merged []byte
	same   bool
}

// prepare compares an update with its base while the answer can still be refused. Later updates of an object that the
// answer itself moves are compared when their turn comes.
func (c *checker) prepare(e *abi.Effect, res *schema.Resource) error {
	switch e.Kind {
	case abi.EffectCreate, abi.EffectApply, abi.EffectReview:
		return c.prepareObject(e, res)
	}
	if e.Kind == abi.EffectList || e.Kind == abi.EffectDeleteCollection {
		return nil
	}

	k := c.objectKeyOf(e, res)
	moved := c.touched[k]
	if (e.Kind == abi.EffectDelete || e.Kind == abi.EffectEvict) && !moved {
		if version, uid := expected(e, c.findBase(k), abi.PreconditionUID); version == "" && uid == "" {
			return fmt.Errorf("it has no precondition, neither a UID nor a version, and %s/%s is in none of the views",
				printable.Line(e.Namespace, textMost), printable.Line(e.Name, textMost))
		}
	}

	switch e.Kind {
	case abi.EffectUpdate:
		c.touched[k] = true
		if moved {
			return nil
		}
		b := c.findBase(k)
		if b == nil {
			return fmt.Errorf("%s/%s is in none of the views and wasn't got live: there is nothing that the update could be a difference to", e.Namespace, e.Name)
		}
		p, err := c.compare(e, res, k, b)
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.plans[e] = p
	case abi.EffectPatch, abi.EffectDelete, abi.EffectGet:
		c.touched[k] = true
	}
	return nil
}

// prepareObject checks that the object can be read.
func (c *checker) prepareObject(e *abi.Effect, res *schema.Resource) error {
	if isJSON(e.Object) && e.Kind == abi.EffectApply {
		return nil
	}
	m, err := readMeta(e.Object)
	if err != nil {
		return fmt.Errorf("the object: %w", err)
	}
	if e.Kind != abi.EffectCreate || e.Subresource != "" {
		return nil
	}
	if m.name == "" && m.generateName == "" && e.Name == "" {
		return errors.New("the object has neither name nor generateName")
	}
	if m.name != "" && e.Name != "" && m.name != e.Name || m.namespace != "" && m.namespace != e.Namespace {
		return errors.New("the object's name or namespace isn't the effect's")
	}
	if res.Namespaced && !res.Custom && e.Namespace == "" { // of one that isn't built in the server knows the scope
		return errors.New("it names no namespace")
	}
	k := objectKey{resource: res.Resource, namespace: e.Namespace, name: cmp.Or(m.name, e.Name)}
	c.touched[k], c.created[k] = true, true
	return nil
}

// compare splices what the guest changed into the base.
func (s *Session) compare(e *abi.Effect, res *schema.Resource, k objectKey, b *base) (*plan, error) {
	m, err := message(res, e.Subresource)
	if err != nil {
		return nil, err
	}
	seen, err := s.seenCopy(k, b, e.Version)
	if err != nil {
		return nil, err
	}
	keeps := s.w.keepsPath(res.Resource)
	if k.scale {
		keeps = nil
	}
	merged, changed, err := difference.Merge(m, b.raw, seen, e.Object, keeps)
	if err != nil {
		return nil, err
	}
	return &plan{base: b, merged: merged, same: !changed}, nil
}

// update writes what the guest changed in an object, by the verb that the manifest has.
func (s *Session) update(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	k := s.objectKeyOf(e, res)
	b := s.findBase(k)
	if b == nil {
		return abi.Outcome{}, errors.New("the object is in none of the views and wasn't got live")
	}
	if b.gone {
		return abi.Outcome{}, errGone(k)
	}

	s.mu.Lock()
	p := s.plans[e]
	s.mu.Unlock()
	if p == nil || p.base != b {
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

	if s.updateVerb(res.Resource, e.Subresource) == "patch" {
		return s.patchUpdate(ctx, e, res, k, b, p, version, uid)
	}
	if !b.whole {
		var err error
		if b, p, err = s.fetchWhole(ctx, e, res, k, b); err != nil {
			return abi.Outcome{}, err
		}
	}

	object, err := setMeta(p.merged, text{metaResourceVersion, version}, text{metaUID, uid})
	if err != nil {
		return abi.Outcome{}, err
	}

	r := s.request(e, res, "PUT", "update")
	if err := r.putBody(res, e.Subresource, object); err != nil {
		return abi.Outcome{}, err
	}

	a, err := s.sendWrite(ctx, e, r)
	if err != nil {
		return s.updateFailed(ctx, e, res, k, b, a, err)
	}
	return s.acceptWritten(e, res, a.body, clone(e.Object))
}

// expected returns the preconditions of an effect: the version and UID that the object must have, "" for none.
//
// An effect says the version of the guest's copy. One that this session knows means the base, which the session's own
// writes may have moved since; one that it doesn't know is demanded as it is.
func expected(e *abi.Effect, b *base, byDefault abi.Precondition) (version, uid string) {
	p := e.Precondition
	if p == abi.PreconditionDefault {
		p = byDefault
	}
	version, uid = e.Version, e.UID
	if b != nil {
		if _, known := b.views[version]; known || version == "" {
			version = b.version
		}
		if uid == "" {
			uid = b.uid
		}
	}
	switch p {
	case abi.PreconditionVersion:
		return version, uid
	case abi.PreconditionUID:
		return "", uid
	}
	return "", ""
}

// unchanged is the outcome of an update that changes nothing: nothing is sent.
func (s *Session) unchanged(e *abi.Effect, res *schema.Resource, b *base) (abi.Outcome, error) {
	m, err := readMeta(b.raw)
	if err != nil {
		return abi.Outcome{}, err
	}
	m.resourceVersion, m.uid = b.version, b.uid
	return s.outcome(e.Subresource, res, opened{raw: b.raw, meta: m})
}

// updateFailed looks at what a failed update means: a conflict on a repeated request may be our own lost write.
func (s *Session) updateFailed(ctx context.Context, e *abi.Effect, res *schema.Resource, k objectKey, b *base, a answer,
	err error) (abi.Outcome, error) {
	if a.repeated && !k.scale && apierrors.IsConflict(err) {
		if live := s.landedObject(ctx, e, res, k, b); live != nil {
			return s.acceptWritten(e, res, wrap(res.APIVersion(), res.Kind, live), clone(e.Object))
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
	m, err := readMeta(raw)
	if err != nil || m.uid != b.uid {
		return nil
	}
	seen, err := s.seenCopy(k, b, e.Version)
	if err != nil {
		return nil
	}
	merged, changed, err := difference.Merge(res.Message, raw, seen, e.Object, nil)
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

	m := meta{}
	if raw != nil {
		if m, err = readMeta(raw); err != nil {
			return nil, nil, err
		}
	}

	if m.uid != b.uid || m.resourceVersion != b.version {
		s.awaitNewer(k, b.version)
		gr := groupResource(res.Resource)
		if raw == nil {
			return nil, nil, apierrors.NewNotFound(gr, k.name)
		}
		return nil, nil, apierrors.NewConflict(gr, k.name, fmt.Errorf("the cache has version %s, the server %s", b.version,
			m.resourceVersion))
	}

	seen, err := s.seenCopy(k, b, e.Version)
	if err != nil {
		return nil, nil, err
	}
	n := &base{raw: raw, seen: seen, version: b.version, uid: b.uid, whole: true}
	p, err := s.compare(e, res, k, n)
	return n, p, err
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }
