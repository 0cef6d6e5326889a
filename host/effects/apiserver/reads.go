package apiserver

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// PageSize is how many objects a page of a list has.
const PageSize = 500

// ReadObject reads an object, nil when there is none. It lists by name, for the manager's own role may list and not
// get.
func (c Client) ReadObject(ctx context.Context, res *schema.Resource, namespace, name string,
	timeout time.Duration) ([]byte, error) {
	r := &Request{
		Method: "GET", Verb: "list", Resource: res.Resource, Namespace: namespace,
		Params: map[string]string{"fieldSelector": "metadata.name=" + fields.EscapeValue(name)},
	}
	r.Accept = envelope.AcceptList(res)
	b, _, err := c.SendOnce(ctx, r, timeout)
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

// ReadVersion reads the version that a collection has now.
func (c Client) ReadVersion(ctx context.Context, r abi.Resource, timeout time.Duration) (string, error) {
	q := &Request{Method: "GET", Verb: "list", Resource: r, Params: map[string]string{"limit": "1"},
		Accept: envelope.AcceptMetadataList}
	b, _, err := c.SendOnce(ctx, q, timeout)
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

// Listing is what a consistent list shows of a collection, read page by page.
type Listing struct {
	Version string // of the collection
	Newest  string // of its objects, "" without any
	UIDs    map[string]struct{}
}

// ReadPage reads a page of the list, and returns what the next one is asked for by, "" after the last one.
func (l *Listing) ReadPage(ctx context.Context, c Client, resource abi.Resource, namespace, from string) (next string,
	err error) {
	if l.UIDs == nil {
		l.UIDs = map[string]struct{}{}
	}
	r := &Request{Resource: resource, Namespace: namespace}
	q := c.Verb("GET").AbsPath(r.path()...).SetHeader("Accept", envelope.AcceptMetadataList).Param("limit",
		strconv.Itoa(PageSize))
	if from != "" {
		q.Param("continue", from)
	}

	answer := q.Do(ctx)
	if err := answer.Error(); err != nil { // which Raw wouldn't decode
		return "", err
	}
	b, err := answer.Raw()
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
		l.UIDs[m.UID] = struct{}{}
		newer, err := resourceversion.CompareResourceVersion(m.ResourceVersion, l.Newest)
		if l.Newest == "" || err == nil && newer > 0 {
			l.Newest = m.ResourceVersion
		}
	}
	l.Version = page.Version
	return page.Next, nil
}
