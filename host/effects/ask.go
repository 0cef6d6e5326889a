package effects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/printable"
)

// readMax bounds the answer to a read, in bytes.
const readMax = 16 << 20

// readRetries is how often a read is sent again when the server asks for that.
const readRetries = 2

// discoverOrRead performs a discovery or a read.
func (s *Session) discoverOrRead(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	if e.Kind == abi.EffectRead {
		b, err := s.readPath(ctx, e)
		return abi.Outcome{Object: abi.ObjectData{Data: b}}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.w.Timeout)
	defer cancel()
	if e.Discover.APIVersion == "" && e.Discover.Kind == "" {
		d, err := s.w.Discovery.All(ctx)
		return abi.Outcome{Discovery: d}, err
	}
	if e.UID != "" && s.w.Gone != nil && s.w.Gone(e.UID) {
		return abi.Outcome{}, apierrors.NewNotFound(schema.GroupResource{Resource: strings.Clone(e.Discover.Kind)}, e.UID)
	}
	r, err := s.w.Discovery.Kind(ctx, strings.Clone(e.Discover.APIVersion), strings.Clone(e.Discover.Kind))
	if err != nil {
		return abi.Outcome{}, err
	}
	return abi.Outcome{Discovery: &abi.Discovery{Resources: []abi.APIResource{r}}}, nil
}

// readPath gets a path in JSON. Whether it answers is the plugin's concern: nothing waits for a metrics API that is
// down.
func (s *Session) readPath(ctx context.Context, e *abi.Effect) ([]byte, error) {
	p, err := parsePath(e.Path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.w.Timeout)
	defer cancel()
	q := s.w.client.Get().AbsPath(p.segments...).SetHeader("Accept", runtime.ContentTypeJSON).MaxRetries(readRetries)
	for name, values := range p.query {
		for _, v := range values {
			q.Param(name, v)
		}
	}
	start := time.Now()
	b, err := bounded(q.Stream(ctx))
	if s.w.Metrics.Write != nil {
		s.w.Metrics.Write("get", printable.Line(e.Resource, textMost), "", statusCodeOf(err), time.Since(start))
	}
	return b, err
}

func bounded(r io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, readMax+1))
	if err != nil {
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	if len(b) > readMax {
		return nil, fmt.Errorf("the server's answer is larger than %d bytes", readMax)
	}
	return b, nil
}

// apiPath is the path of a read, its escapes resolved.
type apiPath struct {
	segments []string
	query    url.Values
}

// parsePath takes a path apart. What a server could resolve to another path than the one that was checked is an error.
func parsePath(s string) (apiPath, error) {
	s = strings.Clone(s)
	raw, query, _ := strings.Cut(s, "?")
	rest, ok := strings.CutPrefix(raw, "/")
	if !ok || strings.Contains(s, "#") {
		return apiPath{}, fmt.Errorf("%q is not the path of an API, such as /apis/metrics.k8s.io/v1beta1/pods",
			printable.Line(s, textMost))
	}
	var p apiPath
	for segment := range strings.SplitSeq(rest, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" || plain == "." || plain == ".." || strings.ContainsAny(plain, "/\\%?#") ||
			printable.Line(plain, textMost) != plain {
			return apiPath{}, fmt.Errorf("%q can't be part of the path of an API: %q", printable.Line(segment, textMost),
				printable.Line(s, textMost))
		}
		p.segments = append(p.segments, plain)
	}
	var err error
	if p.query, err = url.ParseQuery(query); err != nil {
		return apiPath{}, fmt.Errorf("the query of %q: %w", printable.Line(s, textMost), err)
	}
	if p.query.Has("watch") {
		return apiPath{}, errors.New("a read can't be a watch")
	}
	return p, nil
}

// checkWithin returns an error unless a resource's objects, or all below its group and version if its name is *, are
// what the path is of.
func (p apiPath) checkWithin(r abi.Resource) error {
	prefix := []string{"apis", r.Group, r.Version}
	if r.Group == "" {
		if r.Name == allResources {
			return errors.New("the core group is read by resource: below it are paths to nodes and pods themselves")
		}
		prefix = []string{"api", r.Version}
	}
	if len(p.segments) <= len(prefix) || !slices.Equal(p.segments[:len(prefix)], prefix) {
		return fmt.Errorf("its path is not below /%s/", strings.Join(prefix, "/"))
	}
	below := p.segments[len(prefix):]
	if below[0] == "watch" || below[0] == "proxy" {
		return fmt.Errorf("%q begins no path of a resource", below[0])
	}
	if r.Name == allResources {
		return nil
	}
	if len(below) > 2 && below[0] == "namespaces" {
		below = below[2:]
	}
	if below[0] != r.Name || len(below) > 2 {
		return fmt.Errorf("its path is not one of %s", r)
	}
	return nil
}

// namespace is the one that the path is in, empty for all.
func (p apiPath) namespace() string {
	if i := slices.Index(p.segments, "namespaces"); i >= 2 && i <= 3 && i+1 < len(p.segments) {
		return p.segments[i+1]
	}
	return ""
}

// mayRead reports whether the manifest and the operator's grant have a read. The right to all resources is none to
// paths: it names no group.
func (c *checker) mayRead(e *abi.Effect) error {
	r, err := parseResource(e.Resource)
	if err != nil {
		return err
	}
	p, err := parsePath(e.Path)
	if err != nil {
		return err
	}
	if err := p.checkWithin(r); err != nil {
		return err
	}
	verbs := c.w.rights[right{resource: r}]
	err = errNotAllowed
	for _, verb := range []string{"get", "list"} {
		if !slices.Contains(verbs, verb) {
			continue
		}
		q := grant.Request{Verb: verb, Resource: r, Namespace: p.namespace()}
		if c.w.Grant.Ask(q).Allowed { // labels aren't known of what a path gives
			return nil
		}
		err = c.w.missing(q)
	}
	return err
}
