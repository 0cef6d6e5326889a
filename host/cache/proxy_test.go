package cache

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// proxy passes requests on to the API server; what it does to answers are the faults of real networks and servers.
type proxy struct {
	*httptest.Server
	mu      sync.Mutex
	streams []*stream
	queries []url.Values
	answer  func(http.ResponseWriter, *http.Request) bool // true if it has answered
}

func newProxy(t *testing.T, config *rest.Config) (*proxy, *rest.Config) {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}

	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}

	p := &proxy{}
	reverse := httputil.NewSingleHostReverseProxy(target)
	reverse.Transport, reverse.FlushInterval, reverse.ErrorLog = transport, -1, log.New(io.Discard, "", 0)
	reverse.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Query().Get("watch") == "true" && r.StatusCode == http.StatusOK {
			s := &stream{from: r.Body}
			s.PipeReader, s.to = io.Pipe()
			go s.copyFrames()
			p.mu.Lock()
			p.streams = append(p.streams, s)
			p.mu.Unlock()
			r.Body = s
		}
		return nil
	}

	p.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.queries = append(p.queries, r.URL.Query())
		answer := p.answer
		p.mu.Unlock()
		r.Header.Set("Accept-Encoding", "identity") // streams are looked into
		if answer == nil || !answer(rw, r) {
			reverse.ServeHTTP(rw, r)
		}
	}))

	t.Cleanup(func() {
		p.mu.Lock()
		for _, s := range p.streams {
			s.Close()
		}
		p.mu.Unlock()
		p.Close()
	})

	return p, &rest.Config{Host: p.URL}
}

// stream is a watch that frames can be put into.
type stream struct {
	*io.PipeReader
	to   *io.PipeWriter
	from io.ReadCloser
	mu   sync.Mutex
}

func (s *stream) copyFrames() {
	for {
		var size [4]byte
		_, err := io.ReadFull(s.from, size[:])
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if err == nil {
			_, err = io.ReadFull(s.from, frame)
		}
		s.mu.Lock()
		if err == nil {
			_, err = s.to.Write(append(size[:], frame...))
		}
		s.mu.Unlock()
		if err != nil {
			s.to.CloseWithError(err)
			return
		}
	}
}

func (s *stream) Close() error {
	s.from.Close()
	return s.PipeReader.Close()
}

// endWithError puts an error into the stream, and ends it.
func (s *stream) endWithError(t *testing.T, status *metav1.Status) {
	t.Helper()
	event := metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: encode(t, status)}}
	b, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	s.to.Close()
	s.from.Close()
}

func expired(t *testing.T, config *rest.Config, w configMapWriter) {
	p, through := newProxy(t, config)
	w.create("gone-stays", nil, nil)
	changes := w.create("gone-changes", nil, nil)
	w.create("gone-goes", nil, nil)
	c, events := startConfigMaps(t, through, "metadata.labels")
	waitForSync(t, c, configMaps)
	eventually(t, "three objects", func() bool { return len(events.eventsAbout("gone-")) == 3 })
	p.mu.Lock()
	old := p.streams[0]
	p.mu.Unlock()

	// The stream stalls; meanwhile the world goes on, and the server forgets the version.
	old.mu.Lock()
	changes.Labels = map[string]string{"a": "b"}
	w.update(changes)
	w.delete("gone-goes")
	last := w.create("gone-new", nil, nil)
	go old.from.Close()
	old.mu.Unlock()
	gone := apierrors.NewResourceExpired("too old resource version").ErrStatus
	old.endWithError(t, &gone)
	eventually(t, "the store has caught up", atVersion(c.Store(configMaps), last))
	eventually(t, "all is told", func() bool { return len(events.eventsAbout("gone-new")) == 1 })
	got := events.eventsAbout("gone-")[3:]
	slices.Sort(got)
	if want := []string{"add gone-new", "delete gone-goes", "update gone-changes"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// fallback is a server that refuses WatchList, and later everything, with bodies in JSON although protobuf was asked
// for.
func fallback(t *testing.T, config *rest.Config, w configMapWriter) {
	p, through := newProxy(t, config)
	var broken atomic.Bool
	answer := func(rw http.ResponseWriter, status metav1.Status) bool {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(int(status.Code))
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		json.NewEncoder(rw).Encode(status)
		return true
	}

	p.answer = func(rw http.ResponseWriter, r *http.Request) bool {
		switch {
		case broken.Load():
			return answer(rw, apierrors.NewInternalError(fmt.Errorf("the dog ate it")).ErrStatus)
		case r.URL.Query().Get("sendInitialEvents") != "":
			return answer(rw, apierrors.NewInvalid(schemaKind, "", nil).ErrStatus)
		}
		return false
	}

	broken.Store(true)
	w.create("list-a", nil, nil)
	c, events := startConfigMaps(t, through, "metadata.labels")
	eventually(t, "the JSON error is understood", func() bool {
		s := c.Status()
		return s[0].Err != nil && strings.Contains(s[0].Err.Error(), "the dog ate it")
	})
	broken.Store(false)
	waitForSync(t, c, configMaps)
	eventually(t, "the object", func() bool {
		return slices.Equal(events.eventsAbout("list-"), []string{"initial list-a"})
	})
	if err := c.Status()[0].Err; err != nil {
		t.Errorf("still %v", err)
	}
	last := w.create("list-b", nil, nil)
	eventually(t, "the watch", atVersion(c.Store(configMaps), last))
	p.mu.Lock()
	defer p.mu.Unlock()

	lists := 0
	for _, q := range p.queries {
		if q.Get("watch") == "" {
			lists++
			if q.Get("resourceVersion") != "" {
				t.Errorf("the first list may be stale: %v", q)
			}
		}
	}

	if lists == 0 {
		t.Error("there was no list")
	}
}
