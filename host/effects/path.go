package effects

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/printable"
)

// apiPath is the path of a read, its escapes resolved.
type apiPath struct {
	segments []string
	query    url.Values
	nothing  bool // a segment can be in no path: there is nothing there
}

// parsePath takes a path apart. What isn't escaped so that it can be read in one way only is an error; a segment that a
// server could resolve to another path is noted: it may be a name in an object.
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
		if err != nil || plain == "" || strings.Contains(segment, `\`) || strings.ContainsFunc(segment, unicode.IsControl) {
			return apiPath{}, fmt.Errorf("%q can't be part of the path of an API: %q", printable.Line(segment, textMost),
				printable.Line(s, textMost))
		}
		p.nothing = p.nothing || !isSegment(plain)
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
			return errors.New("name a resource: below the core group there are also paths to the proxies of nodes and pods")
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
