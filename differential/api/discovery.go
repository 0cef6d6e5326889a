package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Aggregated is what other API servers serve behind this one, such as metrics.
type Aggregated struct {
	// Groups are what discovery shows of them, of each group the preferred version first.
	Groups []schema.GroupVersion
	// Get answers a read of a path below their groups; nil: they know nothing of it.
	Get func(c *Cluster, path string, query url.Values) *Answer
}

// Answer is what another API server says.
type Answer struct {
	Code int
	// Body is text, unless JSON says otherwise.
	Body string
	JSON bool
}

// aggregated answers a request for what another server serves.
func (c *Cluster) aggregated(h *http.Request) (answer *Answer, is bool) {
	if c.Aggregated == nil {
		return nil, false
	}
	for _, gv := range c.Aggregated.Groups {
		path, ok := strings.CutPrefix(h.URL.Path, "/apis/"+gv.String()+"/")
		if !ok || path == "" {
			continue
		}
		if a := c.Aggregated.Get(c, h.URL.Path, h.URL.Query()); a != nil {
			return a, true
		}
		return &missing, true
	}
	return nil, false
}

// missing is what any server says of a path that it has nothing at.
var missing = Answer{Code: http.StatusNotFound, Body: "404 page not found\n"}

// discovered answers a request for what is served.
func (c *Cluster) discovered(path string) (any, bool) {
	switch p := strings.Split(strings.Trim(path, "/"), "/"); {
	case path == "/api":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, true
	case path == "/apis":
		return c.groups(), true
	case len(p) == 2 && p[0] == "api":
		return c.listing(schema.GroupVersion{Version: p[1]})
	case len(p) == 3 && p[0] == "apis":
		return c.listing(schema.GroupVersion{Group: p[1], Version: p[2]})
	}
	return nil, false
}

func (c *Cluster) groups() *metav1.APIGroupList {
	var all []schema.GroupVersion
	for gvr := range c.server.resources {
		if gvr.Group != "" {
			all = append(all, gvr.GroupVersion())
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersion) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
	})
	all = slices.Compact(all)
	if c.Aggregated != nil {
		all = append(all, c.Aggregated.Groups...)
	}

	l := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, gv := range all {
		v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		if n := len(l.Groups); n > 0 && l.Groups[n-1].Name == gv.Group {
			l.Groups[n-1].Versions = append(l.Groups[n-1].Versions, v)
			continue
		}
		l.Groups = append(l.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return l
}

func (c *Cluster) listing(gv schema.GroupVersion) (any, bool) {
	l := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	if c.Aggregated != nil && slices.Contains(c.Aggregated.Groups, gv) {
		return l, true
	}
	for gvr, r := range c.server.resources {
		if gvr.GroupVersion() != gv {
			continue
		}
		of := metav1.APIResource{
			Name: gvr.Resource, SingularName: strings.ToLower(r.kind), Namespaced: r.namespaced, Kind: r.kind,
			Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		}
		l.APIResources = append(l.APIResources, of)
		for name := range r.of {
			sub := metav1.APIResource{Name: gvr.Resource + "/" + name, Namespaced: r.namespaced, Kind: r.kind, Verbs: metav1.Verbs{"get", "patch", "update"}}
			if name == "scale" {
				sub.Group, sub.Version, sub.Kind = scaleV1.Group, scaleV1.Version, "Scale"
			}
			l.APIResources = append(l.APIResources, sub)
		}
	}
	slices.SortFunc(l.APIResources, func(a, b metav1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
	return l, len(l.APIResources) > 0
}

// scaleV1 is the version of all scale subresources.
var scaleV1 = schema.GroupVersion{Group: "autoscaling", Version: "v1"}

// Version returns the version that a subresource's objects have, or with none the resource's.
func Version(gvr schema.GroupVersionResource, subresource string) schema.GroupVersion {
	if subresource == "scale" {
		return scaleV1
	}
	return gvr.GroupVersion()
}
