package effects

import (
	"context"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// readLive reads an object under the host's identity, nil when there is none. It lists by name, for the manager's own
// role may list and not get.
func (w *Writer) readLive(ctx context.Context, res *schema.Resource, namespace, name string) ([]byte, error) {
	r := &request{
		method: "GET", verb: "list", resource: res.Resource, namespace: namespace,
		params: map[string]string{"fieldSelector": "metadata.name=" + name},
	}
	r.accept = envelope.AcceptList(res)
	b, _, err := w.reader.sendOnce(ctx, r, w.Timeout)
	if err != nil {
		return nil, err
	}
	_, _, raw, err := envelope.UnwrapOf(res, b)
	if err != nil {
		return nil, err
	}
	l, err := envelope.ReadList(raw)
	if err != nil || len(l.Items) == 0 {
		return nil, err
	}
	return l.Items[0], nil
}

// liveObject reads an object as readLive does, of a resource that was written.
func (w *Writer) liveObject(ctx context.Context, r abi.Resource, namespace, name string) ([]byte, error) {
	res, err := w.resource(r.String())
	if err != nil {
		return nil, err
	}
	return w.readLive(ctx, res, namespace, name)
}

// liveVersion reads the version that a collection has now.
func (w *Writer) liveVersion(ctx context.Context, r abi.Resource) (string, error) {
	q := &request{method: "GET", verb: "list", resource: r, params: map[string]string{"limit": "1"},
		accept: envelope.AcceptMetadataList}
	b, _, err := w.reader.sendOnce(ctx, q, w.Timeout)
	if err != nil {
		return "", err
	}
	_, _, raw, err := envelope.UnwrapAny(b)
	if err != nil {
		return "", err
	}
	l, err := envelope.ReadList(raw)
	return l.Version, err
}

// scope is what is listed: a resource, in one namespace or all.
type scope struct {
	resource  abi.Resource
	namespace string
}

// listing is one list, shared by all who asked before it began.
type listing struct {
	once    sync.Once
	version string // of the collection
	newest  string // of its objects, "" without any
	uids    map[string]struct{}
	err     error
}

func (l *listing) readPages(ctx context.Context, reader client, s scope) error {
	for next := ""; ; {
		var err error
		if next, err = l.readPage(ctx, reader, s, next); err != nil || next == "" {
			return err
		}
	}
}

// readPage reads a page of the list, and returns what the next one is asked for by, "" after the last one.
func (l *listing) readPage(ctx context.Context, reader client, s scope, from string) (next string, err error) {
	if l.uids == nil {
		l.uids = map[string]struct{}{}
	}
	r := &request{resource: s.resource, namespace: s.namespace}
	q := reader.Verb("GET").AbsPath(r.path()...).SetHeader("Accept", envelope.AcceptMetadataList).Param("limit",
		strconv.Itoa(pageSize))
	if from != "" {
		q.Param("continue", from)
	}

	b, err := q.Do(ctx).Raw()
	if err != nil {
		return "", err
	}

	_, _, raw, err := envelope.UnwrapAny(b)
	if err != nil {
		return "", err
	}

	page, err := envelope.ReadList(raw)
	if err != nil {
		return "", err
	}

	for _, item := range page.Items {
		m, err := envelope.ReadMeta(item)
		if err != nil {
			return "", err
		}
		l.uids[m.UID] = struct{}{}
		if c, err := resourceversion.CompareResourceVersion(m.ResourceVersion, l.newest); l.newest == "" || err == nil &&
			c > 0 {
			l.newest = m.ResourceVersion
		}
	}
	l.version = page.Version
	return page.Next, nil
}
