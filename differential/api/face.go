package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// Request is one request of a client.
type Request struct {
	Verb        string // get, list, create, update, patch, delete, deletecollection
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string
	Name        string
	DryRun      bool
	// Sent is the object of a create or an update with its defaults, or what a patch makes of its object; Delete are the
	// options of a delete, Patch is a patch.
	Sent   runtime.Object
	Delete *metav1.DeleteOptions
	Patch  []byte
	// Changed says that something is otherwise for it, and Old what the last such object was before; nil: it is new.
	// Answer is what came of it, and Err why nothing did.
	Changed bool
	Old     runtime.Object
	Answer  runtime.Object
	Err     error

	patch  types.PatchType
	body   []byte
	query  map[string][]string
	accept string
}

// Writes reports whether the request is meant to change something.
func (r *Request) Writes() bool { return r.Verb != "get" && r.Verb != "list" && !r.DryRun }

func (r *Request) String() string {
	s := r.Verb + " " + r.Resource.Resource
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	return s + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

// Config returns a client's way to the cluster. No connection is made, and no request waits for its turn.
func (c *Cluster) Config(client string) *rest.Config {
	return Late(func() *Cluster { return c }).Config(client)
}

// Late is a way to whichever cluster it returns at the time of a request.
type Late func() *Cluster

// Config returns a client's way to that cluster.
func (l Late) Config(client string) *rest.Config {
	return &rest.Config{
		Host: "http://memory.invalid", UserAgent: client, QPS: -1, Transport: l,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf,
			AcceptContentTypes: runtime.ContentTypeProtobuf},
	}
}

type face struct{ c *Cluster }

// RoundTrip answers a request.
func (l Late) RoundTrip(h *http.Request) (*http.Response, error) {
	f := face{l()}
	delays := f.c.Latency
	if delays == nil {
		return f.answer(h)
	}
	what := write(h)
	if err := delays.Before(h, what); err != nil {
		return lost(h, err)
	}
	answer, err := f.answer(h)
	if err != nil {
		return nil, err
	}
	if err := delays.After(h, what); err != nil {
		return lost(h, err)
	}
	return answer, nil
}

// Latency is what the API server does to a request before it does what it is asked for, and afterwards, before it
// answers. Its error is the answer instead: that of an API server, or of a client that waits no longer. It is told what
// is asked for in words that are the same whoever sends it.
type Latency interface {
	Before(h *http.Request, what string) error
	After(h *http.Request, what string) error
}

// write names what is asked for: the method, the path and, of what is made, its name, unless that is made up.
func write(h *http.Request) string {
	what := h.Method + " " + h.URL.Path
	if h.Method != http.MethodPost || h.GetBody == nil {
		return what
	}
	body, err := h.GetBody()
	if err != nil {
		return what
	}
	defer func() { _ = body.Close() }()
	b, err := io.ReadAll(body)
	if err != nil {
		return what
	}
	o, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), b)
	if err != nil {
		return what
	}
	if m, err := meta.Accessor(o); err == nil && !generated(m) {
		what += "/" + m.GetName()
	}
	return what
}

// lost is the answer to a request that none of what it asks for is the answer to.
func lost(h *http.Request, err error) (*http.Response, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil, err
	}
	s := status.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	return respond(h, &Request{accept: h.Header.Get("Accept")}, &s, int(s.Code))
}

func (f face) answer(h *http.Request) (*http.Response, error) {
	if answer, ok := f.c.aggregated(h); ok {
		return text(h, answer), nil
	}
	r := &Request{Verb: verbs[h.Method], query: h.URL.Query(), accept: h.Header.Get("Accept")}
	if h.Body != nil {
		b, err := io.ReadAll(h.Body)
		if err != nil {
			return nil, err
		}
		_ = h.Body.Close()
		r.body = b
	}

	f.c.server.lock.Lock()
	defer f.c.server.lock.Unlock()
	f.c.server.cluster = f.c
	if d, ok := f.c.discovered(h.URL.Path); ok {
		b, err := json.Marshal(d)
		return text(h, &Answer{Code: http.StatusOK, Body: string(b), JSON: true}), err
	}
	before := f.c.memory.version
	answer, code, err := f.serve(h, r)
	r.Changed = f.c.memory.version != before
	if err != nil {
		s := responsewriters.ErrorToAPIStatus(err)
		s.Kind, s.APIVersion = "Status", "v1"
		answer, code = s, int(s.Code)
	}
	r.Err = err
	if r.Resource.Resource != "events" {
		f.c.Requests = append(f.c.Requests, r)
	}
	if _, ok := err.(nowhere); ok {
		return text(h, &missing), nil
	}
	return respond(h, r, answer, code)
}

func (f face) serve(h *http.Request, r *Request) (runtime.Object, int, error) {
	res, storage, err := f.target(h, r)
	if err != nil {
		return nil, 0, err
	}

	if err := r.decode(h); err != nil {
		return nil, 0, err
	}
	before := f.c.memory.mark()
	o, code, err := f.c.do(res, storage, r)
	if all := f.c.memory.changes[before.changes:]; err == nil && len(all) > 0 {
		r.Old = all[len(all)-1].old
	}

	if err == nil && r.Writes() && f.c.Fault != nil && f.c.memory.changedSince(before) {
		// Only what would have changed something may fail: what wouldn't, the host doesn't send.
		r.Answer = o
		if err = f.c.Fault(r); err != nil {
			f.c.memory.undo(before)
			r.Answer = nil
		}
	}
	if err != nil {
		return nil, 0, err
	}

	if _, ok := o.(*metav1.Status); !ok {
		r.Answer = o
		if o, err = r.external(res, o); err != nil {
			return nil, 0, err
		}
	}
	return o, code, nil
}

// nowhere is that a path leads nowhere.
type nowhere struct{ *apierrors.StatusError }

func notServed(path string) error {
	return nowhere{apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "",
		"the server could not find the requested resource ("+path+")", 0, true)}
}

// target reads what a path names.
func (f face) target(h *http.Request, r *Request) (*resource, any, error) {
	p := strings.Split(strings.Trim(h.URL.Path, "/"), "/")
	switch {
	case len(p) >= 3 && p[0] == "api":
		r.Resource.Version, p = p[1], p[2:]
	case len(p) >= 4 && p[0] == "apis":
		r.Resource.Group, r.Resource.Version, p = p[1], p[2], p[3:]
	default:
		return nil, nil, notServed(h.URL.Path)
	}
	if len(p) > 2 && p[0] == "namespaces" && !(r.Resource.Group == "" && (p[2] == "status" || p[2] == "finalize")) {
		r.Namespace, p = p[1], p[2:]
	}

	r.Resource.Resource = p[0]
	if len(p) > 1 {
		r.Name = p[1]
	}
	if len(p) > 2 {
		r.Subresource = p[2]
	}

	res := f.c.server.resources[r.Resource]
	if res == nil || len(p) > 3 {
		return nil, nil, notServed(h.URL.Path)
	}
	if r.Subresource == "" {
		return res, res.storage, nil
	}

	sub, ok := res.of[r.Subresource]
	if !ok {
		return nil, nil, notServed(h.URL.Path)
	}
	return res, sub, nil
}

var verbs = map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update",
	http.MethodPatch: "patch", http.MethodDelete: "delete"}

// decode reads verb and body.
func (r *Request) decode(h *http.Request) error {
	r.Verb = verbs[h.Method]
	r.DryRun = len(r.query["dryRun"]) > 0
	switch {
	case r.Verb == "get" && r.Name == "":
		r.Verb = "list"
	case r.Verb == "create" || r.Verb == "update":
		o, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), r.body)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		r.Sent = o
		m, err := meta.Accessor(o)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if r.Name == "" {
			r.Name = m.GetName()
		}

	case r.Verb == "patch":
		t, _, _ := strings.Cut(h.Header.Get("Content-Type"), ";")
		r.patch, r.Patch = types.PatchType(t), r.body
	case r.Verb == "delete":
		r.Delete = &metav1.DeleteOptions{}
		if len(r.body) > 0 {
			if err := runtime.DecodeInto(optionsDecoder, r.body, r.Delete); err != nil {
				return apierrors.NewBadRequest(fmt.Sprintf("delete options: %v", err))
			}
		}
		r.DryRun = len(r.Delete.DryRun) > 0
		if r.Name == "" {
			r.Verb = "deletecollection"
		}
	}
	return nil
}

// suffix is how long the end of a generated name is (names.SimpleNameGenerator).
const suffix = 5

// Generated reports whether the server, or the host for it, makes up the name of an object that is to be made.
func (r *Request) Generated() bool {
	m, ok := r.Sent.(metav1.Object)
	return ok && r.Verb == "create" && generated(m)
}

// generated reports whether a name is to be made up, or the client has made it up itself, as the host does.
func generated(m metav1.Object) bool {
	name, base := m.GetName(), m.GetGenerateName()
	return base != "" && (name == "" || len(name) == len(base)+suffix && strings.HasPrefix(name, base))
}

// generate returns a name as a server makes it, except that it follows from how many there have been: a world has the
// same names each time.
func (c *Cluster) generate(base string) string {
	const most = 63
	n := c.memory.made[base]
	c.memory.made[base]++
	b := make([]byte, suffix)
	for h, i := crc32.ChecksumIEEE([]byte(fmt.Sprint(base, n))), 0; i < suffix; i++ {
		b[i] = byte(h & 31)
		h >>= suffix
	}

	return base[:min(len(base), most-suffix)] + rand.SafeEncodeString(string(b))
}

var optionsDecoder = func() runtime.Decoder {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, coreV1)
	for _, gv := range []schema.GroupVersion{{Group: "meta.k8s.io", Version: "v1"}, appsV1, batchV1, certsV1, discoveryV1,
		scalingV2} {
		metav1.AddToGroupVersion(s, gv)
	}
	return decoderOf(s)
}()

// external returns an answer in the form that the client asks for.
func (r *Request) external(res *resource, o runtime.Object) (runtime.Object, error) {
	v, err := legacyscheme.Scheme.ConvertToVersion(o, Version(res.gvr, r.Subresource))
	if err != nil || !strings.Contains(r.accept, "as=PartialObjectMetadata") {
		return v, err
	}
	return partial(v)
}

// partial returns the metadata of an object or of a list's.
func partial(o runtime.Object) (runtime.Object, error) {
	if !meta.IsListType(o) {
		m, err := meta.Accessor(o)
		if err != nil {
			return nil, err
		}
		p := meta.AsPartialObjectMetadata(m)
		p.SetGroupVersionKind(schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"})
		return p, nil
	}
	l := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1",
		Kind: "PartialObjectMetadataList"}}
	lm, err := meta.ListAccessor(o)
	if err != nil {
		return nil, err
	}
	l.ResourceVersion = lm.GetResourceVersion()
	return l, meta.EachListItem(o, func(o runtime.Object) error {
		m, err := meta.Accessor(o)
		if err == nil {
			l.Items = append(l.Items, *meta.AsPartialObjectMetadata(m))
		}
		return err
	})
}

// respond encodes an answer.
func respond(h *http.Request, r *Request, o runtime.Object, code int) (*http.Response, error) {
	var b bytes.Buffer
	contentType := runtime.ContentTypeJSON
	if strings.Contains(r.accept, runtime.ContentTypeProtobuf) {
		contentType = runtime.ContentTypeProtobuf
		if err := protobuf.Encode(o, &b); err != nil {
			return nil, err
		}
	} else if err := json.NewEncoder(&b).Encode(o); err != nil {
		return nil, err
	}
	return response(h, code, contentType, &b), nil
}

// text is the answer of another server, or of one that knows nothing of a path.
func text(h *http.Request, a *Answer) *http.Response {
	contentType := "text/plain; charset=utf-8"
	if a.JSON {
		contentType = runtime.ContentTypeJSON
	}
	return response(h, a.Code, contentType, bytes.NewBufferString(a.Body))
}

func response(h *http.Request, code int, contentType string, b *bytes.Buffer) *http.Response {
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code) + " " + http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Request: h,
		Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(b), ContentLength: int64(b.Len()),
	}
}

var errVerb = errors.New("the cluster in memory doesn't do this to such a resource")
