package effects

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// get reads an object from the server. It is the base of the sync's next effects on that object.
func (s *Session) get(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	if e.UID != "" && s.w.Gone != nil && s.w.Gone(e.UID) {
		return abi.Outcome{}, apierrors.NewNotFound(groupResource(res.Resource), e.Name)
	}
	r := s.request(e, res, "GET", "get")
	r.Params = nil
	a, err := s.w.send(ctx, r, s.again)
	if err != nil {
		return abi.Outcome{}, err
	}
	o, err := openAnswer(res, a.body)
	if err != nil {
		return abi.Outcome{}, err
	}
	if e.UID != "" && o.UID != e.UID {
		// Its name has passed to another object: the one that was meant is gone.
		return abi.Outcome{}, apierrors.NewNotFound(groupResource(res.Resource), e.Name)
	}
	if err := s.grantedAnswer(e, res, o.Meta, o.raw); err != nil {
		return abi.Outcome{}, err
	}
	s.bases.move(objectKeyOf(e, res), res, o.Meta, o.raw, nil, e)
	return s.outcome(e.Subresource, res, o)
}

// list reads a collection from the server, in a namespace or in all of them, narrowed by the selector in Ask.
func (s *Session) list(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	r := s.request(e, res, "GET", "list")
	r.Name = ""
	r.Accept = envelope.AcceptList(res)
	r.Params = map[string]string{"limit": strconv.Itoa(apiserver.PageSize)}
	if err := selectorParam(e, r.Params); err != nil {
		return abi.Outcome{}, err
	}

	data := &abi.ViewData{}
	size := 0
	for {
		a, err := s.w.send(ctx, r, s.again)
		if err != nil {
			return abi.Outcome{}, err
		}
		_, _, raw, err := envelope.UnwrapOf(res, a.body)
		if err != nil {
			return abi.Outcome{}, err
		}
		l, err := envelope.ReadList(raw)
		if err != nil {
			return abi.Outcome{}, err
		}
		for _, item := range l.Items {
			m, err := envelope.ReadMeta(item)
			if err != nil {
				return abi.Outcome{}, err
			}
			if s.grantedAnswer(e, res, m, item) != nil {
				continue // as if it weren't there
			}
			s.bases.move(objectKey{resource: res.Resource, metadata: res.Partial, namespace: m.Namespace, name: m.Name},
				res, m, item, nil, e)
			b, err := s.w.seen.projectAnswer(res.Resource, res.Partial, item)
			if err != nil {
				return abi.Outcome{}, err
			}
			if size += len(b); size > abi.MessageMax {
				return abi.Outcome{}, fmt.Errorf("the list is larger than %d bytes; narrow it by namespace or selector, or read fewer fields", abi.MessageMax)
			}
			data.Objects = append(data.Objects, abi.ObjectData{Data: b, ResourceVersion: m.ResourceVersion})
		}
		data.StoreVersion = l.Version
		if l.Next == "" {
			break
		}
		r.Params["continue"] = l.Next
	}

	data.Count = int64(len(data.Objects))
	return abi.Outcome{View: data}, nil
}
