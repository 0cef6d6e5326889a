// Package versions has requests for a built-in resource go to an older version of it where the API server doesn't serve
// the one that they name. There are few such resources: their versions must have the same form ([schema.Older]).
//
// All of the host names the newest version. Which one is served shows when the resource is listed or watched, and holds
// until it is no longer. So it costs no request where the newest one is served.
package versions

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// Choose makes a wrapper of transports, which share what they learn. All that it wraps must lead to the same server.
func Choose() func(http.RoundTripper) http.RoundTripper {
	all := make([]*resource, 0, len(schema.WithOlder()))
	for _, r := range schema.WithOlder() {
		all = append(all, &resource{Resource: r, versions: append([]string{r.Version}, schema.Older(r)...)})
	}
	return func(next http.RoundTripper) http.RoundTripper { return &choosing{next, all} }
}

// resource is one of several versions, the newest first.
type resource struct {
	abi.Resource
	versions []string
	chosen   atomic.Int32 // the place of the one that is served
}

// path is that of the resource in a version.
func (r *resource) path(version string) string {
	return "/apis/" + r.Group + "/" + version + "/" + r.Name
}

// choosing is a transport.
type choosing struct {
	next http.RoundTripper
	all  []*resource
}

// WrappedRoundTripper is for client-go, which looks for what it knows of.
func (c *choosing) WrappedRoundTripper() http.RoundTripper { return c.next }

func (c *choosing) RoundTrip(q *http.Request) (*http.Response, error) {
	for _, r := range c.all {
		_, name, found := strings.Cut(q.URL.Path, r.path(r.Version))
		switch {
		case !found || name != "" && name[0] != '/':
		case name == "" && q.Method == http.MethodGet:
			return c.list(q, r)
		default: // who writes has read
			return c.send(q, r, r.versions[r.chosen.Load()])
		}
	}
	return c.next.RoundTrip(q)
}

// list sends a list or a watch to one version after another until one is served. If none is, the answer is the last
// one's, which says so.
func (c *choosing) list(q *http.Request, r *resource) (*http.Response, error) {
	chosen := int(r.chosen.Load())
	for i := range r.versions {
		place := (chosen + i) % len(r.versions)
		a, err := c.send(q, r, r.versions[place])
		switch {
		case err != nil:
			return nil, err
		case a.StatusCode != http.StatusNotFound:
			if i > 0 && r.chosen.CompareAndSwap(int32(chosen), int32(place)) {
				klog.InfoS("The API server serves another version of the resource", "resource", r.String(), "version",
					r.versions[place])
			}
			return a, nil
		case i == len(r.versions)-1:
			return a, nil
		}
		a.Body.Close()
	}
	return c.next.RoundTrip(q)
}

// send sends a request to a version.
func (c *choosing) send(q *http.Request, r *resource, version string) (*http.Response, error) {
	if version == r.Version {
		return c.next.RoundTrip(q)
	}
	to := q.Clone(q.Context())
	to.URL.Path = strings.Replace(q.URL.Path, r.path(r.Version), r.path(version), 1)
	to.URL.RawPath = strings.Replace(q.URL.RawPath, r.path(r.Version), r.path(version), 1)
	if q.Body == nil || q.Body == http.NoBody {
		return c.next.RoundTrip(to)
	}

	b, err := io.ReadAll(q.Body)
	q.Body.Close()
	if err != nil {
		return nil, err
	}
	if v, kind, raw, err := envelope.Unwrap(b); err == nil && v == r.Group+"/"+r.Version {
		b = envelope.Wrap(r.Group+"/"+version, kind, raw)
	}
	to.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	to.Body, _ = to.GetBody()
	to.ContentLength = int64(len(b))
	return c.next.RoundTrip(to)
}
