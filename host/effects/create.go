package effects

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// How the server makes a name from generateName (apiserver storage/names): five characters after at most 58.
const (
	nameSuffix  = 5
	namePrefix  = 63 - nameSuffix
	nameRetries = 8
)

// create creates an object. A generated name is made here, not by the server: so the same create can be sent again
// without a second object. The name is random, not computed from key and attempt: a restarted manager would count its
// attempts anew and meet its own old names.
func (s *Session) create(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	if e.Subresource != "" {
		return s.createSub(ctx, e, res)
	}
	m, err := envelope.ReadMeta(e.Object)
	if err != nil {
		return abi.Outcome{}, fmt.Errorf("the object: %w", err)
	}

	name := m.Name
	if name == "" {
		name = e.Name
	}

	generated := name == ""
	keeper, held := s.denialKeeper(e)
	if held {
		if err := s.w.denials.denialOf(s.key, keeper); err != nil {
			return abi.Outcome{}, err
		}
	}

	for try := 1; ; try++ {
		object, mine := e.Object, mark{name: name, once: true}
		kept, same := false, true
		if generated {
			mine.owner, mine.prefix, mine.object = m.Controller, m.GenerateName, e.Object
			if name, same = s.keptName(res.Resource, e.Namespace, &mine); name != "" {
				kept = true
			} else {
				name = m.GenerateName[:min(len(m.GenerateName), namePrefix)] + utilrand.String(nameSuffix)
			}
			mine.name = name
		}
		if m.Name != name || m.Namespace != e.Namespace {
			if object, err = envelope.SetName(object, name, e.Namespace); err != nil {
				return abi.Outcome{}, err
			}
		}
		r := s.request(e, res, "POST", "create")
		r.Name = ""
		if err := putBody(r, res, "", object); err != nil {
			return abi.Outcome{}, err
		}
		a, err := s.sendWrite(ctx, e, r, &mine)
		switch {
		case err == nil:
			return s.acceptWritten(e, res, created, a.body, object)
		case !apierrors.IsAlreadyExists(err):
			if generated {
				err = quotePrefix(err, name, m.GenerateName)
			}
			if held && reasonOf(err) == NamespaceTerminatingReason {
				s.w.denials.remember(s.key, keeper, err)
			}
			return abi.Outcome{}, err
		case kept && !same:
			// An earlier sync has made it, of something else: this one waits for the cache to show that.
			s.awaitNewer(objectKey{resource: res.Resource, namespace: e.Namespace, name: name}, "")
			return abi.Outcome{}, err
		case a.repeated, kept, s.isUnsettled(res.Resource, e.Namespace, name):
			live, ok, err := s.findCreated(ctx, res, e.Namespace, name, m)
			if err != nil {
				return abi.Outcome{}, err
			}
			s.settled(res.Resource, e.Namespace, name)
			if ok {
				return s.acceptWritten(e, res, uncertain, envelope.Wrap(res.APIVersion(), res.Kind, live), object)
			}
		}
		if generated && try < nameRetries {
			continue
		}
		s.awaitNewer(objectKey{resource: res.Resource, namespace: e.Namespace, name: name}, "")
		return abi.Outcome{}, err
	}
}

// denialKeeper returns the UID of the object whose denials hold back a create: the key's, if what is created is beside
// it and takes a refusal for as good as success. Who wants to be told that it failed is told by the server each time.
func (s *Session) denialKeeper(e *abi.Effect) (uid string, ok bool) {
	if e.Tolerate&abi.TolerateNamespaceTerminating == 0 || e.Namespace == "" || e.Namespace != s.key.Namespace {
		return "", false
	}
	return s.bases.keyObject()
}

// findCreated reports whether the object that already exists is what the lost create made. An error is that nobody
// knows.
func (s *Session) findCreated(ctx context.Context, res *schema.Resource, namespace, name string,
	sent envelope.Meta) (object []byte, ours bool, err error) {
	raw, err := s.w.readLive(ctx, res, namespace, name)
	if err != nil {
		return nil, false, fmt.Errorf("looking whether %s %s was created by a request whose answer was lost: %w",
			res.Resource, name, err)
	}
	if raw == nil {
		return nil, false, nil
	}
	m, err := envelope.ReadMeta(raw)
	if err != nil || m.Controller != sent.Controller || m.GenerateName != sent.GenerateName || m.Deleting {
		return nil, false, err
	}
	// Under a name that a person chose only the owner tells whose it is.
	return raw, sent.Controller != "" || sent.GenerateName != "", nil
}

// createSub creates under an object: a binding, a token.
func (s *Session) createSub(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	r := s.request(e, res, "POST", "create")
	if err := putBody(r, res, e.Subresource, e.Object); err != nil {
		return abi.Outcome{}, err
	}
	a, err := s.sendWrite(ctx, e, r, &mark{})
	if err != nil {
		if isStale(err) {
			k := objectKeyOf(e, res)
			if b := s.bases.find(k); b != nil {
				s.awaitNewer(k, b.version)
			}
		}
		return abi.Outcome{}, err
	}
	return s.acceptWritten(e, res, uncertain, a.body, nil)
}

// sendReview sends an object that is answered and not stored: an access review, say.
func (s *Session) sendReview(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	r := s.request(e, res, "POST", "create")
	r.Name = ""
	r.Params = nil
	r.Body = envelope.Wrap(res.APIVersion(), res.Kind, e.Object)
	r.Once = true
	a, err := s.w.send(ctx, r, s.again)
	if err != nil {
		return abi.Outcome{}, err
	}
	o, err := openAnswer(res, a.body)
	if err != nil {
		return abi.Outcome{}, err
	}
	return abi.Outcome{Object: abi.ObjectData{Data: o.raw}}, nil
}
