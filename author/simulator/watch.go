package simulator

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// stream is the body of the answer to a client that watches a resource: it has no end until the client closes it. What
// has changed is encoded when the client reads.
type stream struct {
	c         *Cluster
	call      *call
	selects   func(*Object) bool
	bookmarks bool
	ctx       context.Context // the request's

	// Guarded by the cluster's mutex.
	buffer  bytes.Buffer
	next    int // of the cluster's changes, the first that isn't in the buffer yet
	version int // that the client knows of
	closed  chan struct{}
	over    bool
}

// serveWatch begins a watch: from a version on, or with all objects that there are.
func (f *face) serveWatch(c *call) (*stream, error) {
	selects, err := c.selector()
	if err != nil {
		return nil, err
	}
	s := &stream{c: f.c, call: c, selects: selects, ctx: c.Context(), closed: make(chan struct{}),
		bookmarks: c.query.Get("allowWatchBookmarks") == "true", next: len(f.c.changes), version: f.c.version}

	streams := c.query.Get("sendInitialEvents") == "true"
	if version := c.query.Get("resourceVersion"); !streams && version != "" && version != "0" {
		if s.version, err = strconv.Atoi(version); err != nil {
			return nil, apierrors.NewBadRequest("resourceVersion: " + err.Error())
		}
		s.next, _ = slices.BinarySearchFunc(f.c.changes, s.version+1, func(x change, v int) int { return x.version - v })
		return s, nil
	}

	for _, o := range f.c.sortedObjects(c.kind.Resource) {
		if selects(o) {
			if err := s.add(apiwatch.Added, o); err != nil {
				return nil, err
			}
		}
	}
	if streams {
		return s, s.addBookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return s, nil
}

// Read waits until there is something to read.
func (s *stream) Read(b []byte) (int, error) {
	for {
		n, changed, err := s.read(b)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-changed:
		case <-s.closed:
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
}

// read reads what there is. Where there is nothing, changed is closed at the cluster's next change.
func (s *stream) read(b []byte) (n int, changed <-chan struct{}, err error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.over {
		return 0, nil, errors.New("read of a watch that was closed")
	}
	if s.buffer.Len() == 0 {
		if err := s.addChanges(); err != nil {
			return 0, nil, err
		}
	}
	if s.buffer.Len() > 0 {
		n, err = s.buffer.Read(b)
		return n, nil, err
	}
	if s.c.changed == nil {
		s.c.changed = make(chan struct{})
	}
	return 0, s.c.changed, nil
}

// Close ends the watch.
func (s *stream) Close() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.closed)
	}
	return nil
}

// addChanges adds what has changed since. A client that takes bookmarks learns the version of a change that doesn't
// concern it, too: it knows then that it has missed nothing.
func (s *stream) addChanges() error {
	for ; s.next < len(s.c.changes); s.next++ {
		x := &s.c.changes[s.next]
		if x.kind != s.call.kind {
			continue
		}
		before, now := x.old != nil && s.selects(x.old), x.new != nil && s.selects(x.new)
		var err error
		switch {
		case now && before:
			err = s.add(apiwatch.Modified, x.new)
		case now:
			err = s.add(apiwatch.Added, x.new)
		case before:
			gone := x.old.DeepCopy()
			gone.SetResourceVersion(strconv.Itoa(x.version))
			err = s.add(apiwatch.Deleted, gone)
		default:
			continue
		}
		if err != nil {
			return err
		}
		s.version = x.version
	}

	if s.bookmarks && s.version < s.c.version {
		return s.addBookmark(nil)
	}
	return nil
}

// addBookmark adds the version up to which the client knows of all changes.
func (s *stream) addBookmark(annotations map[string]string) error {
	s.version = s.c.version
	o := &Object{Object: map[string]any{}}
	o.SetAPIVersion(s.call.kind.apiVersion())
	o.SetKind(s.call.kind.kind)
	o.SetResourceVersion(strconv.Itoa(s.version))
	o.SetAnnotations(annotations)
	return s.add(apiwatch.Bookmark, o)
}

// add adds an event in the form that the client asks for.
func (s *stream) add(what apiwatch.EventType, o *Object) error {
	raw, contentType, err := s.call.encodeAnswer(o)
	if err != nil {
		return err
	}
	e := &metav1.WatchEvent{Type: string(what), Object: runtime.RawExtension{Raw: raw}}
	if contentType == runtime.ContentTypeJSON {
		return json.NewEncoder(&s.buffer).Encode(e)
	}
	frame, err := e.Marshal()
	if err != nil {
		return err
	}
	s.buffer.Write(binary.BigEndian.AppendUint32(nil, uint32(len(frame))))
	s.buffer.Write(frame)
	return nil
}

// contentType returns that of the stream.
func (s *stream) contentType() string {
	if s.call.wantsProtobuf() && !(s.call.kind.custom && !s.call.partial) {
		return runtime.ContentTypeProtobuf + ";stream=watch"
	}
	return runtime.ContentTypeJSON
}

// response is the answer to a request.
func response(r *http.Request, code int, contentType string, body io.ReadCloser, length int) *http.Response {
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code) + " " + http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {contentType}}, Body: body,
		ContentLength: int64(length),
	}
}
