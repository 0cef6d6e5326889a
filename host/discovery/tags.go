package discovery

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// tags remember by what names the server knows what it has told last, so that it can be asked whether that has changed:
// an answer of a few bytes where a listing is tens of kilobytes to send, read and take apart, twice a minute.
type tags struct {
	mu    sync.Mutex
	pages map[string]page // by path
}

type page struct{ accept, tag string }

// wrapTransport returns a client's transport that notes the tags of what is listed whole.
func (t *tags) wrapTransport(next http.RoundTripper) http.RoundTripper {
	return tagged{t, next}
}

type tagged struct {
	*tags
	next http.RoundTripper
}

// RoundTrip sends the request.
func (t tagged) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := t.next.RoundTrip(r)
	if err == nil && a.StatusCode == http.StatusOK && (r.URL.Path == "/api" || r.URL.Path == "/apis") {
		p := page{r.Header.Get("Accept"), a.Header.Get("ETag")}
		t.mu.Lock()
		t.pages[r.URL.Path] = p
		t.mu.Unlock()
	}
	return a, err
}

// isUnchanged reports whether the server knows for sure of no change since it was listed.
func (t *tags) isUnchanged(ctx context.Context, client rest.Interface) bool {
	for _, path := range []string{"/api", "/apis"} {
		t.mu.Lock()
		p := t.pages[path]
		t.mu.Unlock()
		if p.tag == "" {
			return false // an older server's listing isn't in one piece
		}
		err := client.Get().AbsPath(path).SetHeader("Accept", p.accept).SetHeader("If-None-Match", p.tag).Do(ctx).Error()
		if s, ok := err.(errors.APIStatus); !ok || s.Status().Code != http.StatusNotModified {
			return false
		}
	}
	return true
}
