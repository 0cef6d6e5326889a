package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	wholejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
)

// Config is a client's way to the cluster, under a name that [Cluster] tells writers apart by. No connection is made.
// Clients may be used concurrently, and may watch.
func (c *Cluster) Config(client string) *rest.Config {
	return &rest.Config{Host: "http://simulated.invalid", UserAgent: client, Transport: &face{c, client}}
}

// face is the cluster's REST face.
type face struct {
	c      *Cluster
	client string
}

// call is a request taken apart.
type call struct {
	*http.Request
	write
	partial bool // metadata alone is asked for
	body    []byte
	query   url.Values
}

// RoundTrip answers a request.
func (f *face) RoundTrip(r *http.Request) (*http.Response, error) {
	c := &call{Request: r, query: r.URL.Query()}
	if r.Body != nil {
		var err error
		if c.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}

	if err := r.Context().Err(); err != nil {
		return nil, err
	}

	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	answer, code, err := f.serveCall(c)
	var lost *lostError
	if errors.As(err, &lost) {
		return nil, lost
	}
	if err != nil {
		s := statusOf(err)
		answer, code = s, int(s.Code)
	}

	if w, ok := answer.(*stream); ok {
		return response(r, code, w.contentType(), w, -1), nil
	}
	b, contentType, err := c.encodeAnswer(answer)
	if err != nil {
		return nil, err
	}
	return response(r, code, contentType, io.NopCloser(bytes.NewReader(b)), len(b)), nil
}

// lostError ends a request without an answer.
type lostError struct{ why string }

func (e *lostError) Error() string { return e.why }

// list is a collection of objects.
type list struct {
	items   []*Object
	version string
}

func notServed(path string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound,
		Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource (" + path + ")"}}
}

// parseTarget reads what a path names.
func (f *face) parseTarget(c *call) error {
	p := strings.Split(strings.Trim(c.URL.Path, "/"), "/")
	r := abi.Resource{}
	switch {
	case len(p) >= 3 && p[0] == "api":
		r.Version, p = p[1], p[2:]
	case len(p) >= 4 && p[0] == "apis":
		r.Group, r.Version, p = p[1], p[2], p[3:]
	default:
		return notServed(c.URL.Path)
	}
	if len(p) > 2 && p[0] == "namespaces" && (p[2] != "status" && p[2] != "finalize" || r.Group != "") {
		c.namespace, p = p[1], p[2:]
	}

	r.Name = p[0]
	if len(p) > 1 {
		c.name = p[1]
	}
	if len(p) > 2 {
		c.subresource = p[2]
	}

	if c.kind = f.c.kinds[r]; c.kind == nil || len(p) > 3 {
		return notServed(c.URL.Path)
	}
	if c.subresource == "status" && !c.kind.status {
		return notServed(c.URL.Path)
	}
	return nil
}

func (f *face) serveCall(c *call) (answer any, code int, err error) {
	if c.Method == http.MethodGet {
		if answer := f.c.serveDiscovery(c.URL.Path); answer != nil {
			return answer, http.StatusOK, nil
		}
	}
	if c.Method == http.MethodPost && c.URL.Path == accessReviews {
		answer, err = c.reviewAccess()
		return answer, http.StatusCreated, err
	}
	if err := f.parseTarget(c); err != nil {
		return nil, 0, err
	}
	c.by, c.partial = f.client, strings.Contains(c.Header.Get("Accept"), "as=PartialObjectMetadata")
	c.dryRun = c.query.Get("dryRun") == metav1.DryRunAll
	if c.Method == http.MethodGet {
		answer, err = f.serveRead(c)
		return answer, http.StatusOK, err
	}

	switch c.Method {
	case http.MethodPost:
		c.verb = "create"
	case http.MethodPut:
		c.verb = "update"
	case http.MethodPatch:
		c.verb = "patch"
	case http.MethodDelete:
		c.verb = "delete"
	}

	if c.body != nil && c.verb != "patch" && c.verb != "delete" && c.subresource != "eviction" &&
		c.subresource != "scale" {
		if c.object, err = c.sentObject(); err != nil {
			return nil, 0, apierrors.NewBadRequest(err.Error())
		}
		if c.verb == "create" {
			c.write.name = c.object.GetName()
		}
	}

	if f.c.intercept != nil && !c.dryRun {
		if err := f.c.intercept(&c.write); err != nil {
			return nil, 0, err
		}
	}

	answer, code, err = f.serveChange(c)
	if err == nil && f.c.wrote != nil && !c.dryRun {
		o, _ := answer.(*Object)
		if err := f.c.wrote(&c.write, o); err != nil {
			return nil, 0, err
		}
	}
	return answer, code, err
}

func (f *face) serveChange(c *call) (answer any, code int, err error) {
	code = http.StatusOK
	switch {
	case c.subresource == "scale":
		answer, err = f.serveScale(c)
	case c.subresource == "eviction":
		var e policyv1.Eviction
		if err = c.message(&e); err == nil {
			if e.DeleteOptions == nil {
				e.DeleteOptions = &metav1.DeleteOptions{}
			}
			_, _, err = f.c.removeObject(&c.write, e.DeleteOptions)
		}
		answer, code = success(nil), http.StatusCreated

	case c.verb == "create" && c.subresource == "":
		answer, err = f.c.createObject(&c.write)
		code = http.StatusCreated
	case c.verb == "update" && (c.subresource == "" || c.subresource == "status" || c.subresource == "finalize" ||
		c.subresource == "approval"):
		answer, err = f.c.updateObject(&c.write)
	case c.verb == "patch":
		t, _, _ := mime.ParseMediaType(c.Header.Get("Content-Type"))
		answer, err = f.c.patchObject(&c.write, types.PatchType(t), c.body, c.manager())
	case c.verb == "delete":
		options := &metav1.DeleteOptions{}
		if len(c.body) > 0 {
			if err := c.message(options); err != nil {
				return nil, 0, apierrors.NewBadRequest(err.Error())
			}
		}
		if c.write.name == "" {
			answer, err = f.removeAll(c, options)
			break
		}
		o, gone, e := f.c.removeObject(&c.write, options)
		if answer, err = any(o), e; err == nil && gone && c.kind.Resource != pods {
			answer = success(o)
		}
	default:
		err = notServed(c.URL.Path)
	}
	return answer, code, err
}

func (c *call) manager() string {
	if m := c.query.Get("fieldManager"); m != "" {
		return m
	}
	return c.by
}

func (f *face) serveRead(c *call) (any, error) {
	if watches, _ := strconv.ParseBool(c.query.Get("watch")); watches {
		return f.serveWatch(c)
	}
	if c.write.name == "" {
		return f.serveList(c)
	}
	o, err := f.c.findTarget(&c.write)
	if err != nil || c.subresource != "scale" {
		return o, err
	}
	return scaleOf(c.kind, o)
}

// selector returns which objects a list or a watch is of, within the resource.
func (c *call) selector() (func(*Object) bool, error) {
	selector, err := labels.Parse(c.query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	only, byName := strings.CutPrefix(c.query.Get("fieldSelector"), "metadata.name=")
	return func(o *Object) bool {
		return (c.namespace == "" || o.GetNamespace() == c.namespace) && (!byName || o.GetName() == only) &&
			selector.Matches(labels.Set(o.GetLabels()))
	}, nil
}

func (f *face) serveList(c *call) (*list, error) {
	selects, err := c.selector()
	if err != nil {
		return nil, err
	}
	l := &list{version: strconv.Itoa(f.c.version)}
	for _, o := range f.c.sortedObjects(c.kind.Resource) {
		if selects(o) {
			l.items = append(l.items, o)
		}
	}
	return l, nil
}

func (f *face) removeAll(c *call, options *metav1.DeleteOptions) (*list, error) {
	l, err := f.serveList(c)
	if err != nil {
		return nil, err
	}
	for i, o := range l.items {
		w := c.write
		w.namespace, w.name = o.GetNamespace(), o.GetName()
		if l.items[i], _, err = f.c.removeObject(&w, options); err != nil {
			return nil, err
		}
	}
	l.version = strconv.Itoa(f.c.version)
	return l, nil
}

// serveScale reads and writes the number of replicas.
func (f *face) serveScale(c *call) (any, error) {
	old, err := f.c.findTarget(&c.write)
	if err != nil {
		return nil, err
	}
	var s autoscalingv1.Scale
	if err := c.message(&s); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := precondition(c.kind, old, string(s.UID), s.ResourceVersion); err != nil {
		return nil, err
	}
	o := old.DeepCopy()
	if err := unstructured.SetNestedField(o.Object, int64(s.Spec.Replicas), "spec", "replicas"); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	whole := c.write
	whole.subresource = ""
	if o, err = f.c.replace(&whole, old, o); err != nil {
		return nil, err
	}
	return scaleOf(c.kind, o)
}

func scaleOf(k *kind, o *Object) (*autoscalingv1.Scale, error) {
	replicas, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !found || err != nil {
		return nil, notServed(k.Resource.String() + "/scale")
	}
	s := &autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}}
	s.Name, s.Namespace, s.UID, s.ResourceVersion, s.CreationTimestamp = o.GetName(), o.GetNamespace(), o.GetUID(),
		o.GetResourceVersion(), o.GetCreationTimestamp()
	s.Spec.Replicas = int32(replicas)
	running, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
	s.Status.Replicas = int32(running)
	if m, ok, _ := unstructured.NestedMap(o.Object, "spec", "selector"); ok {
		var l metav1.LabelSelector
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &l); err == nil {
			if selector, err := metav1.LabelSelectorAsSelector(&l); err == nil {
				s.Status.Selector = selector.String()
			}
		}
	}
	return s, nil
}

// magic begins Kubernetes' protobuf.
var magic = []byte{'k', '8', 's', 0}

// sentObject returns the object in a request's body.
func (c *call) sentObject() (*Object, error) {
	if bytes.HasPrefix(c.body, magic) {
		var u runtime.Unknown
		if err := u.Unmarshal(c.body[len(magic):]); err != nil {
			return nil, err
		}
		return c.kind.decodeObject(u.Raw)
	}
	return parseJSON(c.body)
}

// message reads a body that isn't of the resource's kind.
func (c *call) message(into message) error {
	if bytes.HasPrefix(c.body, magic) {
		var u runtime.Unknown
		if err := u.Unmarshal(c.body[len(magic):]); err != nil {
			return err
		}
		return into.Unmarshal(u.Raw)
	}
	return wholejson.Unmarshal(c.body, into)
}

func (c *call) wantsProtobuf() bool {
	return strings.Contains(c.Header.Get("Accept"), runtime.ContentTypeProtobuf)
}

// encodeAnswer returns an answer in the form that the client asks for.
func (c *call) encodeAnswer(answer any) (b []byte, contentType string, err error) {
	asProtobuf := c.wantsProtobuf()
	switch a := answer.(type) {
	case *Object:
		if c.partial {
			m, err := partial(a)
			if err != nil {
				return nil, "", err
			}
			return encodeAs(m, "meta.k8s.io/v1", "PartialObjectMetadata", asProtobuf)
		}
		if c.kind.custom {
			b, err = json.Marshal(a.Object)
			return b, runtime.ContentTypeJSON, err
		}
		t, err := c.kind.typedObject(a)
		if err != nil {
			return nil, "", err
		}
		return encodeAs(t, c.kind.apiVersion(), c.kind.kind, asProtobuf)

	case *list:
		return c.encodeList(a, asProtobuf)
	case *metav1.Status:
		return encodeAs(a, "v1", "Status", asProtobuf)
	case *metav1.APIVersions:
		return encodeAs(a, "v1", "APIVersions", asProtobuf)
	case *metav1.APIGroupList:
		return encodeAs(a, "v1", "APIGroupList", asProtobuf)
	case *metav1.APIResourceList:
		return encodeAs(a, "v1", "APIResourceList", asProtobuf)
	case text:
		return []byte(a), "text/plain", nil
	case *authorizationv1.SubjectAccessReview:
		return encodeAs(a, "authorization.k8s.io/v1", "SubjectAccessReview", asProtobuf)
	case *autoscalingv1.Scale:
		return encodeAs(a, "autoscaling/v1", "Scale", asProtobuf && !c.kind.custom)
	}
	return nil, "", errors.New("the simulated cluster has no answer to this request")
}

func partial(o *Object) (*metav1.PartialObjectMetadata, error) {
	m := &metav1.PartialObjectMetadata{}
	return m, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"metadata": o.Object["metadata"]}, m)
}

func encodeAs(t message, apiVersion, kind string, asProtobuf bool) ([]byte, string, error) {
	if !asProtobuf {
		b, err := json.Marshal(t)
		if err != nil {
			return nil, "", err
		}
		o, err := parseJSON(b)
		if err != nil {
			return nil, "", err
		}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		b, err = json.Marshal(o.Object)
		return b, runtime.ContentTypeJSON, err
	}
	raw, err := t.Marshal()
	return envelope(apiVersion, kind, raw), runtime.ContentTypeProtobuf, err
}

func envelope(apiVersion, kind string, raw []byte) []byte {
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	b, err := u.Marshal()
	if err != nil {
		panic(err) // it has nothing that can't be written
	}
	return append(slices.Clone(magic), b...)
}

// encodeList writes a list by hand: its items have no Go type in common.
func (c *call) encodeList(l *list, asProtobuf bool) ([]byte, string, error) {
	meta := metav1.ListMeta{ResourceVersion: l.version}
	apiVersion, kind := c.kind.apiVersion(), c.kind.kind+"List"
	if c.partial {
		apiVersion, kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}

	if c.kind.custom && !c.partial || !asProtobuf {
		items := []any{}
		for _, o := range l.items {
			items = append(items, o.Object)
		}
		b, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind,
			"metadata": map[string]any{"resourceVersion": l.version}, "items": items})
		return b, runtime.ContentTypeJSON, err
	}

	raw, err := meta.Marshal()
	if err != nil {
		return nil, "", err
	}

	out := wire.AppendBytes(nil, 1, raw)
	for _, o := range l.items {
		var t message
		if c.partial {
			t, err = partial(o)
		} else {
			t, err = c.kind.typedObject(o)
		}
		if err == nil {
			raw, err = t.Marshal()
		}
		if err != nil {
			return nil, "", err
		}
		out = wire.AppendBytes(out, 2, raw)
	}
	return envelope(apiVersion, kind, out), runtime.ContentTypeProtobuf, nil
}
