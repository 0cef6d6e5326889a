package swap

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// ledger notes who writes what: each version of replicaset gets a client configuration of its own, so its requests can
// be told from those of any other version.
type ledger struct {
	mu       sync.Mutex
	changed  chan struct{}  // closed at each answered write
	sets     []string       // the ReplicaSets that versions write for
	versions int            // of replicaset, so far
	wrote    int            // the newest of them that was answered a write
	newest   map[string]int // by set: the newest version that has written for it
	late     []string       // writes for a set by a version after a newer one had written for it
	made     int            // pods
	gone     int
	answers  map[string]int // writes of the other controllers, by controller and resource
}

func newLedger() *ledger {
	return &ledger{changed: make(chan struct{}), newest: map[string]int{}, answers: map[string]int{}}
}

// wrapConfig is for windlass.Options: it is called for each controller of each version that is loaded.
func (l *ledger) wrapConfig(r *rest.Config) {
	_, name, _ := strings.Cut(r.UserAgent, "/")
	version := 0
	if name == "replicaset-controller" {
		l.mu.Lock()
		l.versions++
		version = l.versions
		l.mu.Unlock()
	}
	r.Wrap(func(next http.RoundTripper) http.RoundTripper { return writes{l, name, version, next} })
}

// writes is a version's way to the API server.
type writes struct {
	l       *ledger
	name    string // of the service account
	version int
	next    http.RoundTripper
}

func (w writes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") ||
		strings.Contains(r.URL.Path, "/serviceaccounts") {
		return w.next.RoundTrip(r)
	}
	text := []byte(r.URL.Path)
	if r.GetBody != nil && r.Method == http.MethodPost {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		sent, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		text = append(text, sent...)
	}
	w.l.sending(w, r.Method, text)
	a, err := w.next.RoundTrip(r)
	if err == nil && a.StatusCode < 300 {
		w.l.answered(w, r.Method, r.URL.Path)
	}
	return a, err
}

// sending takes note of a write that is about to be sent. What it is for is in its address, or in its body: a pod's
// generated name begins with its set's.
func (l *ledger) sending(w writes, method string, text []byte) {
	if w.version == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, set := range l.sets {
		if !bytes.Contains(text, []byte(set)) {
			continue
		}
		if w.version < l.newest[set] {
			l.late = append(l.late, fmt.Sprintf("%s for %s by version %d after one by version %d",
				method, set, w.version, l.newest[set]))
		}
		l.newest[set] = max(l.newest[set], w.version)
	}
}

func (l *ledger) answered(w writes, method, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case w.version == 0:
		resource := strings.Split(path, "/")
		for i, part := range resource {
			if part == "namespaces" && i+2 < len(resource) {
				l.answers[w.name+" "+resource[i+2]]++
			}
		}
	case strings.HasSuffix(path, "/pods") && method == http.MethodPost:
		l.made++
	case strings.Contains(path, "/pods/") && method == http.MethodDelete:
		l.gone++
	}
	l.wrote = max(l.wrote, w.version)
	close(l.changed)
	l.changed = make(chan struct{})
}

// waitUntil waits until what was written is as it should be.
func (l *ledger) waitUntil(ctx context.Context, what string, done func() (bool, error)) error {
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		l.mu.Lock()
		changed := l.changed
		ok, err := done()
		seen := fmt.Sprintf("%d versions, the newest that wrote is %d, %d pods made, %d deleted",
			l.versions, l.wrote, l.made, l.gone)
		l.mu.Unlock()
		if ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return fmt.Errorf("%s: not within a minute: %s", what, seen)
		}
	}
}

// writeCount returns how often a controller's service account has written a resource.
func (l *ledger) writeCount(who string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers[who]
}
