package surroundings

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Of those that say nothing of it here nothing need be told: where the API server is away nobody can ask it who may
// look, and nothing fails for the end of a watch. What is told of answers that are lost is in test/unsettled.
//
// An API server that answers 429 or 503, that ends watches, that can't be reached, or whose etcd is slow.
func apiServer() (all []surrounding) {
	for _, x := range []struct {
		name, told string
		cut        bool // it ends the watches that are open
		meet       func(f *front, r *http.Request) (*http.Response, error)
	}{
		{"refuses", "refused by a test", false, func(_ *front, r *http.Request) (*http.Response, error) {
			if time.Now().Second()%2 == 0 {
				return answer(r, http.StatusTooManyRequests, "TooManyRequests"), nil
			}
			return answer(r, http.StatusServiceUnavailable, "ServiceUnavailable"), nil
		}},
		{"is away", "", true, func(*front, *http.Request) (*http.Response, error) { return nil, errAway }},
		{"ends watches", "", true, endWatch},
		{"has a slow etcd", "", false, loseAnswer},
	} {
		all = append(all, surrounding{name: "API server " + x.name, told: x.told, toldLate: true, late: true,
			begin: func(_ *testing.T, w *world) func(*testing.T) {
				if x.cut {
					defer w.front.cut()
				}
				return w.front.begin(w, x.meet)
			}})
	}
	return all
}

// endWatch lets a watch live for half a second.
func endWatch(f *front, r *http.Request) (*http.Response, error) {
	if !isWatch(r) {
		return nil, nil
	}
	a, err := f.next(r)
	if err == nil {
		body := a.Body // what is above puts its own around it
		time.AfterFunc(500*time.Millisecond, func() { body.Close() })
	}
	return a, err
}

// loseAnswer has a write done, and answers that etcd was too slow to say so.
func loseAnswer(f *front, r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return nil, nil
	}
	a, err := f.next(r)
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, a.Body)
	a.Body.Close()
	return answer(r, http.StatusInternalServerError, ""), nil
}

var errAway = errors.New("connect: connection refused by a test")

// front stands between the manager and the API server.
type front struct {
	mu    sync.Mutex
	meet  func(*front, *http.Request) (*http.Response, error) // nil: it lets all pass
	w     *world
	over  http.RoundTripper
	watch map[io.Closer]bool // those that are open
}

// begin has all requests meet a surrounding.
func (f *front) begin(w *world, meet func(*front, *http.Request) (*http.Response, error)) (end func(*testing.T)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.meet, f.w = meet, w
	return func(*testing.T) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.meet = nil
	}
}

// cut ends the watches that are open.
func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for b := range f.watch {
		go b.Close()
	}
}

func (f *front) wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &passage{f, next} })
}

// passage is one client's way through the front.
type passage struct {
	*front
	over http.RoundTripper
}

// RoundTrip lets a request pass, or has it meet the surrounding.
func (p *passage) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	meet, w := p.meet, p.w
	p.mu.Unlock()
	if meet != nil && isEvent(r) {
		return patient{p.over}.RoundTrip(r) // one that is refused is dropped, as upstream's is, and scripts wait for some
	}
	if meet != nil && !spared(r) {
		a, err := meet(&front{over: p.over}, r)
		if err != nil || a != nil && (a.StatusCode >= 400 || isWatch(r)) {
			w.hits.Add(1)
		}
		if err != nil || a != nil {
			return a, err
		}
	}

	a, err := p.over.RoundTrip(r)
	if err == nil && isWatch(r) {
		a.Body = p.keep(a.Body)
	}
	return a, err
}

// next sends a request on.
func (f *front) next(r *http.Request) (*http.Response, error) { return f.over.RoundTrip(r) }

// keep remembers an open watch.
func (f *front) keep(b io.ReadCloser) io.ReadCloser {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watch == nil {
		f.watch = map[io.Closer]bool{}
	}
	f.watch[b] = true
	return &kept{b, f}
}

type kept struct {
	io.ReadCloser
	front *front
}

// Close closes the watch.
func (k *kept) Close() error {
	k.front.mu.Lock()
	delete(k.front.watch, k.ReadCloser)
	k.front.mu.Unlock()
	return k.ReadCloser.Close()
}

// spared reports whether a request passes in any case: scripts wait for their namespaces' service accounts.
func spared(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/serviceaccounts") && r.Method == http.MethodPost &&
		!strings.Contains(r.URL.Path, "/serviceaccount-work/")
}

func isEvent(r *http.Request) bool {
	return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/events")
}

func isWatch(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "watch=") }

// answer is a refusal of the API server's.
func answer(r *http.Request, code int, reason string) *http.Response {
	if r.Body != nil {
		r.Body.Close()
	}
	message := "refused by a test"
	if code == http.StatusInternalServerError {
		message = "etcdserver: request timed out"
	}
	status := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"code":%d}`,
		message, reason, code)
	h := http.Header{"Content-Type": {"application/json"}}
	if code == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	return &http.Response{StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: h,
		Body: io.NopCloser(strings.NewReader(status)), ContentLength: int64(len(status))}
}
