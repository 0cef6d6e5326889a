package effects

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

// get reads an object from the server. It is the base of the sync's next effects on that object.
func (s *Session) get(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	if e.UID != "" && s.w.Gone != nil && s.w.Gone(e.UID) {
		return abi.Outcome{}, apierrors.NewNotFound(groupResource(res.Resource), e.Name)
	}
	r := s.request(e, res, "GET", "get")
	r.params = nil
	a, err := s.w.send(ctx, r)
	if err != nil {
		return abi.Outcome{}, err
	}
	o, err := openAnswer(res, a.body)
	if err != nil {
		return abi.Outcome{}, err
	}
	if e.UID != "" && o.uid != e.UID {
		// Its name has passed to another object: the one that was meant is gone.
		return abi.Outcome{}, apierrors.NewNotFound(groupResource(res.Resource), e.Name)
	}
	if err := s.grantedAnswer(e, res, o.meta, o.raw); err != nil {
		return abi.Outcome{}, err
	}
	s.moveBase(s.objectKeyOf(e, res), res, o.meta, o.raw, nil, e)
	return s.outcome(e.Subresource, res, o)
}

// pageSize of live lists.
const pageSize = 500

// list reads a collection from the server, in a namespace or in all of them, narrowed by the selector in Ask.
func (s *Session) list(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	r := s.request(e, res, "GET", "list")
	r.name = ""
	r.accept = acceptList(res)
	r.params = map[string]string{"limit": strconv.Itoa(pageSize)}
	if err := selectorParam(e, r.params); err != nil {
		return abi.Outcome{}, err
	}

	data := &abi.ViewData{}
	size := 0
	for {
		a, err := s.w.send(ctx, r)
		if err != nil {
			return abi.Outcome{}, err
		}
		_, _, raw, err := unwrapOf(res, a.body)
		if err != nil {
			return abi.Outcome{}, err
		}
		l, err := readList(raw)
		if err != nil {
			return abi.Outcome{}, err
		}
		for _, item := range l.items {
			m, err := readMeta(item)
			if err != nil {
				return abi.Outcome{}, err
			}
			if s.grantedAnswer(e, res, m, item) != nil {
				continue // as if it weren't there
			}
			s.moveBase(objectKey{resource: res.Resource, metadata: res.Partial, namespace: m.namespace, name: m.name},
				res, m, item, nil, e)
			b, err := s.w.projectAnswer(res.Resource, res.Partial, item)
			if err != nil {
				return abi.Outcome{}, err
			}
			if size += len(b); size > abi.MessageMax {
				return abi.Outcome{}, fmt.Errorf("the list is larger than %d bytes; narrow it by namespace or selector, or read fewer fields", abi.MessageMax)
			}
			data.Objects = append(data.Objects, abi.ObjectData{Data: b, ResourceVersion: m.resourceVersion})
		}
		data.StoreVersion = l.version
		if l.next == "" {
			break
		}
		r.params["continue"] = l.next
	}

	data.Count = int64(len(data.Objects))
	return abi.Outcome{View: data}, nil
}

func selectorParam(e *abi.Effect, params map[string]string) error {
	if e.Ask == nil || e.Ask.Selector == nil {
		return nil
	}
	var l metav1.LabelSelector
	if err := l.Unmarshal(e.Ask.Selector); err != nil {
		return fmt.Errorf("the selector: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&l)
	if err != nil {
		return fmt.Errorf("the selector: %w", err)
	}
	params["labelSelector"] = selector.String()
	return nil
}

// listed is a list as it comes over the wire.
type listed struct {
	version, next string
	items         [][]byte
}

// The fields of a list and its ListMeta.
const (
	listMeta     = 1
	listItems    = 2
	listVersion  = 2
	listContinue = 3
)

func readList(raw []byte) (listed, error) {
	var l listed
	f := wire.Fields{Data: raw}
	for f.Next() {
		switch f.Num {
		case listMeta:
			m := wire.Fields{Data: f.Bytes}
			for m.Next() {
				switch m.Num {
				case listVersion:
					l.version = string(m.Bytes)
				case listContinue:
					l.next = string(m.Bytes)
				}
			}
			if m.Err != 0 {
				return l, fmt.Errorf("the server's list: field at byte %d: %w", m.End, m.Err)
			}
		case listItems:
			l.items = append(l.items, f.Bytes)
		}
	}
	if f.Err != 0 {
		return l, fmt.Errorf("the server's list: field at byte %d: %w", f.End, f.Err)
	}
	return l, nil
}

// readLive reads an object under the host's identity, nil when there is none. It lists by name, for the manager's own
// role may list and not get.
func (w *Writer) readLive(ctx context.Context, res *schema.Resource, namespace, name string) ([]byte, error) {
	r := &request{
		method: "GET", verb: "list", resource: res.Resource, namespace: namespace,
		params: map[string]string{"fieldSelector": "metadata.name=" + name},
	}
	r.accept = acceptList(res)
	b, _, err := w.reader.sendOnce(ctx, r, w.Timeout)
	if err != nil {
		return nil, err
	}
	_, _, raw, err := unwrapOf(res, b)
	if err != nil {
		return nil, err
	}
	l, err := readList(raw)
	if err != nil || len(l.items) == 0 {
		return nil, err
	}
	return l.items[0], nil
}

// liveVersion reads the version that a collection has now.
func (w *Writer) liveVersion(ctx context.Context, r abi.Resource) (string, error) {
	q := &request{method: "GET", verb: "list", resource: r, params: map[string]string{"limit": "1"},
		accept: acceptMetadatas}
	b, _, err := w.reader.sendOnce(ctx, q, w.Timeout)
	if err != nil {
		return "", err
	}
	_, _, raw, err := unwrapAny(b)
	if err != nil {
		return "", err
	}
	l, err := readList(raw)
	return l.version, err
}
